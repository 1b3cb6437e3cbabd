import Foundation

/// Sends requests: follows redirects, unpacks gzip and deflate, keeps the limits and collects the body.
///
/// ```swift
/// let response = try await NetworkClient().send(NetworkRequest("https://example.com/a.json"))
/// guard response.isSuccess else { … }
/// ```
///
/// A value without state of its own; copies share the transport and its connections.
public struct NetworkClient: Sendable {
    private let transport: any Transport

    /// A client of the platform's shared transport.
    ///
    /// That is `CurlTransport.shared` on Linux, `URLSessionTransport.shared` on Apple.
    public init() { self.init(transport: Self.platformTransport) }

    /// A client of the given transport.
    public init(transport: any Transport) { self.transport = transport }

    /// Returns the complete answer, whatever its status.
    ///
    /// Throws `NetworkError`, or `CancellationError` within milliseconds when the task is cancelled. At most 10 redirects
    /// are followed; credentials and cookies don't follow to another origin, and https never leads to http.
    ///
    /// - Parameter progress: Called in order on the task that reads the body, at most 20 times a second, and with the
    ///   last byte. Keep it short: the body waits meanwhile.
    public func send(
        _ request: NetworkRequest, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> HTTPResponse {
        var hop = try RequestHop(request)
        while true {
            let exchange = try await transport.execute(
                TransportRequest(
                    target: hop.target, method: hop.method, headers: hop.headers, body: hop.body,
                    timeouts: request.timeouts))
            guard request.followsRedirects, let next = try hop.following(exchange.head) else {
                var collector = try BodyCollector(exchange, hop, maxBodyBytes: request.maxBodyBytes, progress)
                return try await collector.response()
            }
            await Self.discard(exchange.body)
            hop = next
        }
    }

    /// Reads a small rest, so that its connection can be used again; a large one is not worth it.
    private static func discard(_ body: any TransportBody) async {
        var left = 64 * 1024
        while left > 0, case .bytes(let bytes)? = try? await body.next() { left -= bytes.count }
        body.cancel()
    }

    static var platformTransport: any Transport {
        #if canImport(CCurl)
            CurlTransport.shared
        #else
            URLSessionTransport.shared
        #endif
    }
}
