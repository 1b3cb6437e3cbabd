public import Dispatch
public import Foundation

extension Cache {
    /// Fetches the value at a URL where no tier has it.
    ///
    /// Failures: see ``NetworkFetcher``.
    ///
    /// For headers, limits or another method use ``fetch(fetcher:formatName:policy:callbackQueue:)`` with a ``NetworkFetcher``.
    ///
    /// - Parameters:
    ///   - URL: An `http:`, `https:` or `file:` URL.
    ///   - key: What the value is stored under. Default: the URL's text, without a user and password.
    ///   - formatName: Default: the original format.
    ///   - policy: Where to look. Default: memory, then disk, then the server.
    ///   - callbackQueue: Where closures run that wait for the value. Default: the cache's own.
    @discardableResult
    public func fetch(
        URL: Foundation.URL, key: String? = nil, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst, callbackQueue: DispatchQueue? = nil
    ) -> Fetch<T> {
        fetch(
            fetcher: NetworkFetcher<T>(URL: URL, key: key, client: client), formatName: formatName, policy: policy,
            callbackQueue: callbackQueue)
    }

    /// Fetches the value at a URL; see ``fetch(URL:key:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        URL: Foundation.URL, key: String? = nil, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst, callbackQueue: DispatchQueue? = nil,
        failure fail: (@Sendable (any Error) -> Void)? = nil, success succeed: @escaping @Sendable (T) -> Void
    ) -> Fetch<T> {
        fetch(
            fetcher: NetworkFetcher<T>(URL: URL, key: key, client: client), formatName: formatName, policy: policy,
            callbackQueue: callbackQueue, failure: fail, success: succeed)
    }
}
