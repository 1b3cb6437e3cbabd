public import Foundation
import Synchronization

/// A small HTTP/1.1 server on 127.0.0.1 that answers as a closure says: correctly, late, wrongly or not at all.
///
/// ```swift
/// let server = try LoopbackServer { request in
///     request.path == "/ok" ? .response(body: "hello") : .response(status: 404)
/// }
/// let url = server.url("/ok")
/// try await server.wait { $0.requests == 1 }
/// ```
///
/// The closure runs on the connection's own thread, several connections at once; it may block. The port is free and
/// chosen by the system. The server stops in `stop()` or with its last reference.
public final class LoopbackServer: Sendable {
    /// What has happened so far.
    public struct Counts: Sendable {
        /// Request heads read.
        public var requests = 0
        /// Connections accepted.
        public var connections = 0
        /// Connections not closed yet, by either side.
        public var openConnections = 0
        /// Bytes that the system took for sending.
        public var bytesSent = 0
        /// How often a `sendUntilBlocked` met a client that had stopped reading.
        public var blockedSends = 0
    }

    private let core: LoopbackServerCore

    /// Starts listening; throws `LoopbackError` when the system gives no socket.
    public init(_ handler: @escaping @Sendable (LoopbackRequest) throws -> LoopbackReply) throws {
        core = try LoopbackServerCore(handler: handler)
        core.start()
    }

    deinit { core.stop() }

    /// The port on 127.0.0.1.
    public var port: UInt16 { core.port }

    /// `http://127.0.0.1:<port><path>`; the path starts with "/" and is taken as it is.
    public func urlString(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// `urlString` as a URL.
    ///
    /// A path that no URL can hold gives a file URL, which nobody fetches.
    public func url(_ path: String = "/") -> URL {
        URL(string: urlString(path)) ?? URL(filePath: "/")
    }

    /// The number of request heads read.
    public var requestCount: Int { counts.requests }

    /// All requests, in the order in which their heads were read.
    public var requests: [LoopbackRequest] { core.requests }

    /// What has happened so far.
    public var counts: Counts { core.counts }

    /// Returns as soon as `condition` holds; throws `LoopbackError` after `limit`, which is a safety net only.
    public func wait(
        upTo limit: Duration = .seconds(30), until condition: @escaping @Sendable (Counts) -> Bool
    ) async throws {
        try await core.wait(upTo: limit, until: condition)
    }

    /// Closes every connection and the port.
    ///
    /// Later calls do nothing.
    public func stop() { core.stop() }
}

/// One request as the server read it.
public struct LoopbackRequest: Sendable {
    /// The method as sent.
    public let method: String
    /// The request target as sent: path and query.
    public let target: String
    /// The field lines in order.
    public let headers: [(name: String, value: String)]
    /// The body, if a Content-Length announced one.
    public let body: Data
    /// The head as received, to the blank line.
    public let head: String
    /// The number of the connection it came on, from 1.
    public let connection: Int

    /// The target up to "?".
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The first value of a field, compared without regard to case.
    public subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// What the server does with a request.
public struct LoopbackReply: Sendable {
    let gate: Gate?
    let keepsConnection: Bool
    let write: @Sendable (LoopbackConnection) throws -> Void

    /// A complete answer with its Content-Length; the connection stays open.
    public static func response(
        status: Int = 200, headers: [(String, String)] = [], body: Data = Data()
    ) -> LoopbackReply {
        let hasBody = status >= 200 && status != 204 && status != 304
        let length = hasBody ? [("Content-Length", "\(body.count)")] : []
        return LoopbackReply(gate: nil, keepsConnection: true) {
            try $0.send(head(status: status, headers: headers + length))
            if hasBody { try $0.send(body) }
        }
    }

    /// A complete answer with a text.
    public static func response(
        status: Int = 200, headers: [(String, String)] = [], body: String
    ) -> LoopbackReply {
        response(status: status, headers: headers, body: Data(body.utf8))
    }

    /// The pieces as chunks.
    ///
    /// Without `terminated` the last chunk is left out and the connection closed.
    public static func chunked(
        status: Int = 200, headers: [(String, String)] = [], _ pieces: [Data], terminated: Bool = true
    ) -> LoopbackReply {
        LoopbackReply(gate: nil, keepsConnection: terminated) {
            try $0.send(head(status: status, headers: headers + [("Transfer-Encoding", "chunked")]))
            for piece in pieces {
                try $0.send("\(String(piece.count, radix: 16))\r\n")
                try $0.send(piece)
                try $0.send("\r\n")
            }
            if terminated { try $0.send("0\r\n\r\n") }
        }
    }

    /// These bytes and nothing else, then the connection is closed.
    public static func raw(_ bytes: Data) -> LoopbackReply {
        LoopbackReply(gate: nil, keepsConnection: false) { try $0.send(bytes) }
    }

    /// This text and nothing else, then the connection is closed.
    public static func raw(_ text: String) -> LoopbackReply { raw(Data(text.utf8)) }

    /// Sends what is given (nothing by default), then neither more nor a close, until the client leaves or the server
    /// stops.
    public static func stall(after bytes: String = "") -> LoopbackReply {
        LoopbackReply(gate: nil, keepsConnection: false) {
            try $0.send(bytes)
            $0.waitForClientToLeave()
        }
    }

    /// Whatever the closure writes; then the connection is closed.
    public static func script(_ body: @escaping @Sendable (LoopbackConnection) throws -> Void) -> LoopbackReply {
        LoopbackReply(gate: nil, keepsConnection: false, write: body)
    }

    /// The same reply, not begun before the gate is open.
    public func held(by gate: Gate) -> LoopbackReply {
        LoopbackReply(gate: gate, keepsConnection: keepsConnection, write: write)
    }

    /// A status line and field lines, to the blank line.
    public static func head(status: Int, headers: [(String, String)]) -> String {
        "HTTP/1.1 \(status) Scripted\r\n" + headers.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
    }
}

/// What went wrong in the server or while waiting for it.
public struct LoopbackError: Error, CustomStringConvertible {
    /// The step that failed and why.
    public let description: String

    init(_ description: String) { self.description = description }

    static func system(_ call: String) -> LoopbackError { LoopbackError("\(call): errno \(errno)") }
}
