/// What a request wants of the cache.
public enum CachePolicy: Sendable, Hashable {
    /// Nothing is read; the answer is stored if it may be.
    case networkOnly
    /// A stored response that may be used, else the network (RFC 9111).
    case cacheElseNetwork
    /// The stored response first, even a stale one, then the network's answer.
    case cacheThenNetwork
    /// The stored response, however old, or an error; never the network.
    case cacheOnly
    /// A response stale by at most so many seconds is used and refreshed in the background.
    case staleWhileRevalidate(seconds: Double)
    /// As `cacheElseNetwork`, but a response stale by at most so many seconds stands in for a network or server error.
    case staleIfError(seconds: Double = 86_400)
}
