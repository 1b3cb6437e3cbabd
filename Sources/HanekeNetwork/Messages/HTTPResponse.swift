public import Foundation

/// Where an answer comes from.
public enum ResponseSource: Sendable, Hashable {
    /// From the server.
    case network
    /// From the cache, within its lifetime.
    case cacheFresh
    /// From the cache, beyond its lifetime.
    case cacheStale
    /// From the cache, after the server has said that it still holds (304).
    case validated
}

/// A complete answer.
///
/// Every status is delivered as a value, 404 and 500 as well.
public struct HTTPResponse: Sendable {
    /// The address that answered: the last one of a chain of redirects.
    public let url: URL
    /// The status code.
    public let status: Int
    /// The protocol with its version: "HTTP/1.1", "HTTP/2".
    public let version: String
    /// The field lines as received.
    public let headers: HTTPHeaders
    /// The body, unpacked if it came as gzip or deflate.
    ///
    /// Empty if there is none.
    public let body: Data
    /// The field lines after a chunked body.
    public let trailers: HTTPHeaders
    /// What the last exchange took.
    public let metrics: TransferMetrics

    /// Where it comes from.
    public internal(set) var source = ResponseSource.network
    /// How old a stored answer is, in seconds; 0 for one from the server.
    public internal(set) var age: Double = 0
    /// False for the first of two deliveries of `CachePolicy.cacheThenNetwork`.
    public internal(set) var isFinal = true

    /// True if the server was not asked.
    public var isCachedResponse: Bool { source == .cacheFresh || source == .cacheStale }
    /// True if the server said that the stored answer still holds.
    public var notModified: Bool { source == .validated }

    /// A response, as a test or a cache makes it.
    public init(
        url: URL, status: Int, version: String = "HTTP/1.1", headers: HTTPHeaders = HTTPHeaders(),
        body: Data = Data(), trailers: HTTPHeaders = HTTPHeaders(), metrics: TransferMetrics = TransferMetrics()
    ) {
        self.url = url
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.trailers = trailers
        self.metrics = metrics
    }

    /// True for 200 to 299.
    public var isSuccess: Bool { (200...299).contains(status) }
}
