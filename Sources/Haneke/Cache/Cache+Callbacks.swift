// The fetches of Cache+Fetching.swift with their closures as parameters. The closures are attached before the work
// starts: unless the value is in memory, they run on the callback queue.

public import Dispatch

extension Cache {
    /// Fetches the value of a key from memory or disk; see ``fetch(key:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil, failure fail: (@Sendable (any Error) -> Void)? = nil,
        success succeed: @escaping @Sendable (T) -> Void
    ) -> Fetch<T> {
        fetch(
            key: key, loader: nil,
            FetchRequest(
                formatName: formatName, policy: policy, callbackQueue: callbackQueue, failure: fail, success: succeed))
    }

    /// Fetches the value of a key, or what an expression gives; see ``fetch(key:value:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        key: String, value makeValue: @autoclosure @escaping @Sendable () throws -> T,
        formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil, failure fail: (@Sendable (any Error) -> Void)? = nil,
        success succeed: @escaping @Sendable (T) -> Void
    ) -> Fetch<T> {
        fetch(
            key: key, loader: Loader(source: .fetcher) { try makeValue() },
            FetchRequest(
                formatName: formatName, policy: policy, callbackQueue: callbackQueue, failure: fail, success: succeed))
    }

    /// Fetches a value with a fetcher where it is missing; see ``fetch(fetcher:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        fetcher: Fetcher<T>, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst, callbackQueue: DispatchQueue? = nil,
        failure fail: (@Sendable (any Error) -> Void)? = nil, success succeed: @escaping @Sendable (T) -> Void
    ) -> Fetch<T> {
        fetch(
            key: fetcher.key, loader: Loader(fetcher),
            FetchRequest(
                formatName: formatName, policy: policy, callbackQueue: callbackQueue, failure: fail, success: succeed))
    }

    /// Fetches a value with an `async` fetcher where it is missing; see ``fetch(fetcher:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        fetcher: some AsyncFetcher<T>, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst, callbackQueue: DispatchQueue? = nil,
        failure fail: (@Sendable (any Error) -> Void)? = nil, success succeed: @escaping @Sendable (T) -> Void
    ) -> Fetch<T> {
        fetch(
            key: fetcher.key, loader: Loader(fetcher),
            FetchRequest(
                formatName: formatName, policy: policy, callbackQueue: callbackQueue, failure: fail, success: succeed))
    }

    /// Fetches a value out of a file; see ``fetch(path:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        path: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil, failure fail: (@Sendable (any Error) -> Void)? = nil,
        success succeed: @escaping @Sendable (T) -> Void
    ) -> Fetch<T> {
        fetch(
            fetcher: DiskFetcher<T>(path: path), formatName: formatName, policy: policy, callbackQueue: callbackQueue,
            failure: fail, success: succeed)
    }
}
