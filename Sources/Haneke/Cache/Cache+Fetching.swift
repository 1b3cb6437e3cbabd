public import Dispatch

/// Where to look and whom to tell, of one fetch.
struct FetchRequest<Value: Sendable>: Sendable {
    let formatName: String
    let policy: FetchPolicy
    let callbackQueue: DispatchQueue?
    var failure: (@Sendable (any Error) -> Void)?
    var success: (@Sendable (Value) -> Void)?

    /// The closures, in the order in which they count as attached.
    var observers: [FetchCore<Value>.Observer] {
        var observers: [FetchCore<Value>.Observer] = []
        if let success { observers.append(.success(success)) }
        if let failure { observers.append(.failure(failure)) }
        return observers
    }
}

extension Cache {
    /// Fetches the value of a key from memory or disk.
    ///
    /// A value in memory is there when this returns. Else the fetch is pending, and fails with
    /// ``HanekeError/Code/objectNotFound`` if the disk has no value either, ``HanekeError/Code/undecodableData`` if its bytes don't
    /// stand for one, or ``HanekeError/Code/diskReadFailed``.
    ///
    /// - Parameters:
    ///   - key: 1 to 65,536 bytes of UTF-8; else the failure is ``HanekeError/Code/invalidKey``.
    ///   - formatName: Default: the original format. ``HanekeError/Code/formatNotFound`` if the cache has none of that name.
    ///   - policy: Where to look. Default: memory, then disk.
    ///   - callbackQueue: Where closures run that wait for the value. Default: the cache's own.
    @discardableResult
    public func fetch(
        key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil
    ) -> Fetch<T> {
        fetch(
            key: key, loader: nil,
            FetchRequest(formatName: formatName, policy: policy, callbackQueue: callbackQueue))
    }

    /// Fetches the value of a key; where it is missing, what an expression gives.
    ///
    /// The expression is evaluated once, off the caller's thread, and only if no tier has the value. It is transformed and stored.
    /// An error it throws is the failure.
    @discardableResult
    public func fetch(
        key: String, value makeValue: @autoclosure @escaping @Sendable () throws -> T,
        formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil
    ) -> Fetch<T> {
        fetch(
            key: key, loader: Loader(source: .fetcher) { try makeValue() },
            FetchRequest(formatName: formatName, policy: policy, callbackQueue: callbackQueue))
    }

    /// Fetches the value of a key; where it is missing, what an `async` closure gives.
    ///
    /// ```swift
    /// let user = try await users.fetch(key: "ada", from: { try await directory.user("ada") }).value
    /// ```
    ///
    /// The closure runs in a task of the cache, once for all who fetch the key meanwhile; the task is cancelled when none of
    /// them wants the value any more. An error it throws is the failure.
    @discardableResult
    public func fetch(
        key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil, from load: @escaping @Sendable () async throws -> T
    ) -> Fetch<T> {
        fetch(
            key: key, loader: Loader(source: .fetcher, load: load),
            FetchRequest(formatName: formatName, policy: policy, callbackQueue: callbackQueue))
    }

    /// Fetches a value; where it is missing, with a fetcher.
    ///
    /// Several fetches of one key and format at once share one run of a fetcher. Its value is transformed and stored under
    /// the fetcher's key; its error is the failure, unchanged.
    @discardableResult
    public func fetch(
        fetcher: Fetcher<T>, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst, callbackQueue: DispatchQueue? = nil
    ) -> Fetch<T> {
        fetch(
            key: fetcher.key, loader: Loader(fetcher),
            FetchRequest(formatName: formatName, policy: policy, callbackQueue: callbackQueue))
    }

    /// Fetches a value; where it is missing, with an `async` fetcher.
    ///
    /// See ``fetch(fetcher:formatName:policy:callbackQueue:)``.
    @discardableResult
    public func fetch(
        fetcher: some AsyncFetcher<T>, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst, callbackQueue: DispatchQueue? = nil
    ) -> Fetch<T> {
        fetch(
            key: fetcher.key, loader: Loader(fetcher),
            FetchRequest(formatName: formatName, policy: policy, callbackQueue: callbackQueue))
    }

    /// Fetches a value out of a file; its key is the path.
    ///
    /// Failures: see ``DiskFetcher``.
    @discardableResult
    public func fetch(
        path: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, policy: FetchPolicy = .cacheFirst,
        callbackQueue: DispatchQueue? = nil
    ) -> Fetch<T> {
        fetch(
            fetcher: DiskFetcher<T>(path: path), formatName: formatName, policy: policy, callbackQueue: callbackQueue)
    }

    // MARK: What all of them come to

    func fetch(key: String, loader: Loader<T>?, _ request: FetchRequest<T>) -> Fetch<T> {
        if request.policy.kind != .reload, let value = registry.valueInMemory(key, formatName: request.formatName) {
            request.success?(value)
            return Fetch(value, source: .memory)
        }
        let callbackQueue = request.callbackQueue ?? callbackQueue
        let core: FetchCore<T>
        do throws(HanekeError) {
            let storage = try storage(request.formatName)
            let key = try CacheKey(checking: key)
            core = storage.fetch(
                key, FlightRequest(loader: loader, policy: request.policy, registry: registry),
                observers: request.observers, callbackQueue: callbackQueue)
        } catch {
            core = FetchCore(settled: .failure(error), observers: request.observers, callbackQueue: callbackQueue)
        }
        return Fetch(core)
    }
}
