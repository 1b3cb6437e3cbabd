// Name lookups on threads of their own. libcurl can't give up a lookup: removing a transfer in that phase would make
// the loop's thread, and with it every other transfer, wait for the name server.
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Finds the addresses of host names.
///
/// A name is looked up once however many ask, and remembered for a minute.
///
/// Threads exist only while there is something to look up. A name server that never answers holds one thread for each
/// name asked of it, so only `threadsMax` different stuck names can delay others.
final class HostResolver: Sendable {
    /// Blocks until the addresses are known; numeric, in the order in which they should be tried.
    typealias Lookup = @Sendable (_ host: String) throws -> [String]
    typealias Completion = @Sendable (Result<[String], any Error>) -> Void

    struct LookupFailure: Error, CustomStringConvertible {
        let description: String
    }

    private struct State {
        var known: [String: (addresses: [String], until: ContinuousClock.Instant)] = [:]
        /// Hosts being looked up or in line, with those who ask.
        var askers: [String: [Completion]] = [:]
        var line: [String] = []
        var threads = 0
    }

    private static let knownMax = 512

    private let state = Mutex(State())
    private let lookup: Lookup
    private let threadsMax: Int
    private let lifetime: Duration

    init(lookup: @escaping Lookup = systemLookup, threadsMax: Int = 16, lifetime: Duration = .seconds(60)) {
        self.lookup = lookup
        self.threadsMax = threadsMax
        self.lifetime = lifetime
    }

    /// Calls `completion` once: at once if the answer is known, else on a lookup thread.
    func addresses(of host: String, completion: @escaping Completion) {
        let now = ContinuousClock.now
        let (answer, startsThread) = state.withLock { state -> ([String]?, Bool) in
            if let entry = state.known[host], entry.until > now { return (entry.addresses, false) }
            if state.askers[host] != nil {
                state.askers[host]?.append(completion)
                return (nil, false)
            }
            state.askers[host] = [completion]
            state.line.append(host)
            guard state.threads < threadsMax else { return (nil, false) }
            state.threads += 1
            return (nil, true)
        }
        if let answer { return completion(.success(answer)) }
        if startsThread {
            let thread = Thread { [self] in work() }
            thread.name = "haneke.lookup"
            thread.start()
        }
    }

    /// Makes the next question about a host a real one, as after a failed connection.
    func forget(_ host: String) {
        state.withLock { _ = $0.known.removeValue(forKey: host) }
    }

    private func work() {
        while let host = nextInLine() {
            let result = Result { try lookup(host) }
            let askers = state.withLock { state in
                if case .success(let addresses) = result { remember(addresses, host, &state) }
                return state.askers.removeValue(forKey: host) ?? []
            }
            for asker in askers { asker(result) }
        }
    }

    private func nextInLine() -> String? {
        state.withLock { state in
            if state.line.isEmpty {
                state.threads -= 1
                return nil
            }
            return state.line.removeFirst()
        }
    }

    private func remember(_ addresses: [String], _ host: String, _ state: inout State) {
        let now = ContinuousClock.now
        if state.known.count >= Self.knownMax {
            state.known = state.known.filter { $0.value.until > now }
            if state.known.count >= Self.knownMax { state.known = [:] }
        }
        state.known[host] = (addresses, now.advanced(by: lifetime))
    }

    /// `getaddrinfo`: both families, in the system's order (RFC 6724).
    static let systemLookup: Lookup = { host in
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else { throw LookupFailure(description: String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let current = entry {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let status = getnameinfo(
                current.pointee.ai_addr, current.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                NI_NUMERICHOST)
            if status == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            entry = current.pointee.ai_next
        }
        guard !addresses.isEmpty else { throw LookupFailure(description: "the host has no address") }
        return addresses
    }
}
