// The sockets and threads of `LoopbackServer`. The threads hold this object, so the server itself can be released.
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

final class LoopbackServerCore: Sendable {
    private struct Waiter {
        let id: Int
        let condition: @Sendable (LoopbackServer.Counts) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var counts = LoopbackServer.Counts()
        var requests: [LoopbackRequest] = []
        var sockets: Set<Int32> = []
        var waiters: [Waiter] = []
        var nextWaiter = 0
        var isStopped = false
    }

    let port: UInt16
    private let listener: Int32
    private let handler: @Sendable (LoopbackRequest) throws -> LoopbackReply
    private let state = Mutex(State())

    init(handler: @escaping @Sendable (LoopbackRequest) throws -> LoopbackReply) throws {
        self.handler = handler
        (listener, port) = try Self.listen()
    }

    private static func listen() throws -> (socket: Int32, port: UInt16) {
        let listener = makeSocket()
        guard listener >= 0 else { throw LoopbackError.system("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0
                    && systemListen(listener, 1024) == 0
                    && getsockname(listener, generic, &length) == 0
            } ? UInt16(bigEndian: address.pointee.sin_port) : nil
        }
        guard let port else {
            defer { close(listener) }
            throw LoopbackError.system("listening on 127.0.0.1")
        }
        return (listener, port)
    }

    var counts: LoopbackServer.Counts { state.withLock { $0.counts } }
    var requests: [LoopbackRequest] { state.withLock { $0.requests } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func start() {
        Self.onThread("loopback.accept") { [self] in acceptConnections() }
    }

    func stop() {
        let waiters = state.withLock { state in
            state.isStopped = true
            // Under the lock, so that no connection thread closes a descriptor (and the system reuses it) in between.
            for socket in state.sockets { _ = shutdown(socket, Int32(SHUT_RDWR)) }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(throwing: LoopbackError("the server was stopped")) }
    }

    // MARK: Counting

    func note(_ change: (inout LoopbackServer.Counts) -> Void) {
        let ready = state.withLock { state in
            change(&state.counts)
            let counts = state.counts
            let ready = state.waiters.filter { $0.condition(counts) }
            if !ready.isEmpty { state.waiters.removeAll { $0.condition(counts) } }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func wait(upTo limit: Duration, until condition: @escaping @Sendable (LoopbackServer.Counts) -> Bool) async throws {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let safetyNet = Task {
            try await Task.sleep(for: limit)
            let late = state.withLock { state in
                let index = state.waiters.firstIndex { $0.id == id }
                return index.map { state.waiters.remove(at: $0) }
            }
            late?.continuation.resume(throwing: LoopbackError("not within \(limit); \(counts)"))
        }
        defer { safetyNet.cancel() }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let isMet = state.withLock { state in
                if condition(state.counts) { return true }
                state.waiters.append(Waiter(id: id, condition: condition, continuation: continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    // MARK: Connections

    private func acceptConnections() {
        while !isStopped {
            // A short poll, so that `stop` needs no second descriptor to wake this thread.
            var entry = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 20) > 0 else { continue }
            let socket = accept(listener, nil, nil)
            guard socket >= 0 else { continue }
            var on: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            #if canImport(Darwin)
                setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
            #endif
            let isLate = state.withLock { state in
                if !state.isStopped { state.sockets.insert(socket) }
                return state.isStopped
            }
            guard !isLate else {
                close(socket)
                break
            }
            note {
                $0.connections += 1; $0.openConnections += 1
            }
            let connection = LoopbackConnection(socket: socket, number: counts.connections, core: self)
            Self.onThread("loopback.connection") { [self] in serve(connection) }
        }
        close(listener)
    }

    private func serve(_ connection: LoopbackConnection) {
        do {
            while let request = try connection.readRequest() {
                state.withLock { $0.requests.append(request) }
                note { $0.requests += 1 }
                let reply = try handler(request)
                reply.gate?.waitOnThread { isStopped || connection.clientHasLeft }
                try reply.write(connection)
                guard reply.keepsConnection, !isStopped else { break }
            }
        } catch {
            // The client left or sent no HTTP: either way this connection is over, and the counts say so.
        }
        state.withLock { state in
            _ = state.sockets.remove(connection.socket)
            connection.close()
        }
        note { $0.openConnections -= 1 }
    }

    private static func onThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.stackSize = 512 * 1024
        thread.start()
    }
}

// `listen` and the socket type need the system's own names, which differ a little from C library to C library.

private func systemListen(_ socket: Int32, _ backlog: Int32) -> Int32 { listen(socket, backlog) }

private func makeSocket() -> Int32 {
    #if canImport(Glibc)
        socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
        socket(AF_INET, SOCK_STREAM, 0)
    #endif
}
