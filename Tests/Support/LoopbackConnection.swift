public import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The server's end of one connection, for scripts.
///
/// All calls block; they throw once the client has left.
public final class LoopbackConnection: Sendable {
    let socket: Int32
    private let number: Int
    private let core: LoopbackServerCore
    private let unread = Mutex(Data())

    init(socket: Int32, number: Int, core: LoopbackServerCore) {
        self.socket = socket
        self.number = number
        self.core = core
    }

    /// Sends all bytes.
    public func send(_ bytes: Data) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = sendSome(rest)
            if sent < 0 && errno == EINTR { continue }
            guard sent > 0 else { throw LoopbackError.system("send") }
            core.note { $0.bytesSent += sent }
            rest = rest.dropFirst(sent)
        }
    }

    /// Sends all of the text.
    public func send(_ text: String) throws { try send(Data(text.utf8)) }

    /// Sends `piece` again and again, at most `limit` bytes in all, until the client has left no room for `patience`;
    /// then counts a blocked send.
    ///
    /// Returns true when it was blocked.
    @discardableResult
    public func sendUntilBlocked(
        _ piece: Data, limit: Int, patience: Duration = .milliseconds(300)
    ) throws -> Bool {
        var sent = 0
        while sent < limit {
            var entry = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&entry, 1, Int32(patience / .milliseconds(1)))
            if ready == 0 {
                core.note { $0.blockedSends += 1 }
                return true
            }
            let some = sendSome(piece, flags: Int32(MSG_DONTWAIT))
            if some < 0 && (errno == EAGAIN || errno == EINTR) { continue }
            guard some > 0 else { throw LoopbackError.system("send") }
            core.note { $0.bytesSent += some }
            sent += some
        }
        return false
    }

    /// Returns when the client has closed its end or the server stops.
    ///
    /// What the client still sends is dropped.
    public func waitForClientToLeave() {
        while !clientHasLeft && !core.isStopped {
            var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, 20)
            var byte: UInt8 = 0
            if entry.revents & Int16(POLLIN) != 0, recv(socket, &byte, 1, Int32(MSG_DONTWAIT)) == 0 { return }
        }
    }

    /// Makes the close at the end of the script a TCP reset instead of an orderly end.
    public func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    var clientHasLeft: Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    }

    func close() {
        #if canImport(Darwin)
            _ = Darwin.close(socket)
        #elseif canImport(Musl)
            _ = Musl.close(socket)
        #else
            _ = Glibc.close(socket)
        #endif
    }

    // MARK: Reading

    /// The next request, or nil when the client has closed between two requests.
    func readRequest() throws -> LoopbackRequest? {
        let blankLine = Data("\r\n\r\n".utf8)
        var bytes = unread.withLock { unread in
            defer { unread = Data() }
            return unread
        }
        while bytes.range(of: blankLine) == nil {
            guard let more = try receive() else { return nil }
            bytes.append(more)
            // A TLS greeting, for one: its sender would wait for an answer for ever.
            guard bytes.first.map({ (0x41...0x5A).contains($0) }) ?? true else {
                throw LoopbackError("no HTTP request")
            }
        }
        guard let end = bytes.range(of: blankLine) else { return nil }
        let head = String(decoding: bytes[..<end.upperBound], as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ")
        guard parts.count == 3 else { throw LoopbackError("not a request line: \(lines[0])") }
        let headers = lines.dropFirst().prefix { !$0.isEmpty }.map { line in
            let name = line.prefix { $0 != ":" }
            let value = line.dropFirst(name.count + 1)
            return (name: String(name), value: value.trimmingCharacters(in: .whitespaces))
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        var rest = Data(bytes[end.upperBound...])
        while rest.count < length {
            guard let more = try receive() else { throw LoopbackError("the client left within a body") }
            rest.append(more)
        }
        let surplus = Data(rest.dropFirst(length))
        unread.withLock { $0 = surplus }
        return LoopbackRequest(
            method: String(parts[0]), target: String(parts[1]), headers: headers, body: Data(rest.prefix(length)),
            head: head, connection: number)
    }

    private func receive() throws -> Data? {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw LoopbackError.system("recv") }
            return count == 0 ? nil : Data(buffer.prefix(count))
        }
    }

    private func sendSome(_ bytes: Data, flags: Int32 = 0) -> Int {
        bytes.withUnsafeBytes { buffer in
            #if canImport(Darwin)
                Darwin.send(socket, buffer.baseAddress, buffer.count, flags)
            #elseif canImport(Musl)
                Musl.send(socket, buffer.baseAddress, buffer.count, flags | Int32(MSG_NOSIGNAL))
            #else
                Glibc.send(socket, buffer.baseAddress, buffer.count, flags | Int32(MSG_NOSIGNAL))
            #endif
        }
    }
}
