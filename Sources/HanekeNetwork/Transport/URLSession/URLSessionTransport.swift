import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport of Apple's platforms: one `URLSession` without cache, cookies and redirects.
///
/// It differs from `CurlTransport` where `URLSession` does: bodies come unpacked, field lines come in no order and
/// joined by name, trailers are lost, and the time to connect counts towards the first byte. On Linux it serves comparison.
public final class URLSessionTransport: Transport {
    /// The transport that clients share unless they are given another.
    public static let shared = URLSessionTransport()

    private let delegate = URLSessionExchanges()
    private let session: URLSession

    /// A transport with a session of its own, which ends with the last reference and the last exchange.
    public init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = 32
        // Our own clock keeps the limits; the session's must not get in before it.
        configuration.timeoutIntervalForRequest = 24 * 60 * 60
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Sends the request and returns with the head.
    ///
    /// Throws `NetworkError` or `CancellationError`.
    public func execute(_ request: TransportRequest) async throws -> TransportExchange {
        try Task.checkCancellation()
        let task = session.dataTask(with: try Self.urlRequest(request))
        let exchange = URLSessionExchange(task: task, request: request)
        delegate.add(exchange)
        let body = URLSessionBody(exchange: exchange, transport: self)
        task.resume()
        let heads = try await body.heads()
        return TransportExchange(head: heads.final, bodyIsDecoded: true, body: body)
    }

    /// A session on Linux can't be made to read a file while it sends: the body is in memory here.
    private static func collected(_ body: RequestBody) throws -> Data {
        let reader = try body.reader()
        var result = Data()
        var piece = Data(count: 64 * 1024)
        while case let count = try piece.withUnsafeMutableBytes({ try reader.read(into: $0) }), count > 0 {
            result.append(piece.prefix(count))
        }
        return result
    }

    private static func urlRequest(_ request: TransportRequest) throws -> URLRequest {
        guard let url = URL(string: request.url) else {
            throw NetworkError.badURL("Foundation can't read it", url: request.url)
        }
        var result = URLRequest(url: url)
        result.httpMethod = request.method
        result.httpBody = try request.body.map { body in try body.data ?? Self.collected(body) }
        result.httpShouldHandleCookies = false
        for field in request.headers { result.addValue(field.value, forHTTPHeaderField: field.name) }
        return result
    }
}

/// The reader's end of one exchange.
///
/// Released before the end, it cancels.
private final class URLSessionBody: TransportBody {
    private let exchange: URLSessionExchange
    /// Keeps the session open while the body is read.
    private let transport: URLSessionTransport

    init(exchange: URLSessionExchange, transport: URLSessionTransport) {
        self.exchange = exchange
        self.transport = transport
    }

    deinit { cancel() }

    func heads() async throws -> TransferMailbox.Heads {
        try await withTaskCancellationHandler {
            try await exchange.mailbox.heads()
        } onCancel: {
            cancel()
        }
    }

    func next() async throws -> TransportBodyPart {
        let (part, wasPaused) = try await withTaskCancellationHandler {
            try await exchange.mailbox.next()
        } onCancel: {
            cancel()
        }
        if wasPaused { exchange.goOn() }
        return part
    }

    func cancel() {
        if exchange.mailbox.cancel() { exchange.task.cancel() }
    }
}
