public import Dispatch

/// A value being stored, for closures and for `await`.
public struct Setting<Value: Sendable>: Sendable {
    let fetch: Fetch<Value>
    let link: PendingLink
    let writes: WriteQueue?

    /// The value as it was stored, once it is in memory and the queue of writes has room for more.
    ///
    /// A loop that stores faster than the disk takes is held back here, so that what waits for the disk stays bounded; see
    /// ``Cache/pendingWritesCapacity``.
    ///
    /// - Throws: What the transform throws, ``HanekeError/Code/formatNotFound``, ``HanekeError/Code/invalidKey``, or
    ///   ``HanekeError/Code/diskWriteFailed`` if the value has no form as bytes, or ``HanekeError/Code/valueTooLarge`` if its bytes
    ///   alone exceed what the format may take on disk; of these two, it is in memory then.
    public var value: Value {
        get async throws {
            let value = try await fetch.value
            try link.checkStorable()
            await writes?.waitForRoom()
            return value
        }
    }

    /// Has `body` run with the value as it was stored; at once, if it is.
    ///
    /// See ``Fetch/onSuccess(_:)``.
    @discardableResult
    public func onSuccess(_ body: @escaping @Sendable (Value) -> Void) -> Self {
        fetch.onSuccess(body)
        return self
    }

    /// Has `body` run with the error if nothing was stored; at once, if that is known.
    ///
    /// See ``Fetch/onFailure(_:)``.
    @discardableResult
    public func onFailure(_ body: @escaping @Sendable (any Error) -> Void) -> Self {
        fetch.onFailure(body)
        return self
    }
}

extension Cache {
    /// Stores a value under a key, in place of the one there.
    ///
    /// In a format without a transform the value can be fetched, and `success` has run, when this returns. With a transform that
    /// happens later, off the caller's thread; who fetches the key meanwhile waits for it.
    ///
    /// ```swift
    /// cache.set(value: v, key: "k")                       // returns at once
    /// try await cache.set(value: v, key: "k").value       // and waits while the disk is behind
    /// ```
    ///
    /// - Parameters:
    ///   - key: 1 to 65,536 bytes of UTF-8; else the failure is ``HanekeError/Code/invalidKey``.
    ///   - formatName: Default: the original format. ``HanekeError/Code/formatNotFound`` if the cache has none of that name.
    ///   - lifetime: How long the value lasts from now. Default: as the format says. Zero or less is over at once.
    ///   - sliding: Whether each fetch starts the lifetime anew. Default: as the format says.
    ///   - callbackQueue: Where closures run that wait for a transform. Default: the cache's own.
    @discardableResult
    public func set(
        value: T, key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, lifetime: Duration? = nil,
        sliding: Bool? = nil, callbackQueue: DispatchQueue? = nil
    ) -> Setting<T> {
        set(
            value, key: key, (lifetime, sliding),
            FetchRequest(formatName: formatName, policy: .cacheFirst, callbackQueue: callbackQueue))
    }

    /// Stores a value under a key; see ``set(value:key:formatName:lifetime:sliding:callbackQueue:)``.
    ///
    /// - Parameters:
    ///   - fail: Takes the error if nothing was stored.
    ///   - succeed: Takes the value as it was stored.
    @discardableResult
    public func set(
        value: T, key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName, lifetime: Duration? = nil,
        sliding: Bool? = nil, callbackQueue: DispatchQueue? = nil, failure fail: (@Sendable (any Error) -> Void)? = nil,
        success succeed: @escaping @Sendable (T) -> Void
    ) -> Setting<T> {
        set(
            value, key: key, (lifetime, sliding),
            FetchRequest(
                formatName: formatName, policy: .cacheFirst, callbackQueue: callbackQueue, failure: fail,
                success: succeed))
    }

    private func set(
        _ value: T, key: String, _ told: (lifetime: Duration?, sliding: Bool?), _ request: FetchRequest<T>
    ) -> Setting<T> {
        let callbackQueue = request.callbackQueue ?? callbackQueue
        let link = PendingLink()
        let fetch: Fetch<T>
        do throws(HanekeError) {
            let storage = try storage(request.formatName)
            let key = try CacheKey(checking: key)
            let format = storage.format
            let lifetime = format.lifetime(told.lifetime, sliding: told.sliding)
            if format.isIdentity {
                link.connect(storage.store([(key, value)], lifetime: lifetime).first ?? nil)
                request.success?(value)
                fetch = Fetch(value, source: .fetcher)
            } else {
                fetch = Fetch(
                    storage.set(
                        value, key: key, lifetime: lifetime, link: link, observers: request.observers,
                        callbackQueue: callbackQueue))
            }
        } catch {
            fetch = Fetch(
                FetchCore(settled: .failure(error), observers: request.observers, callbackQueue: callbackQueue))
        }
        return Setting(fetch: fetch, link: link, writes: disk?.writes)
    }

    /// Bytes of values on their way to the disk from which on ``Setting/value`` waits.
    ///
    /// Default 64 MiB.
    ///
    /// One number for all caches of a directory in this process. `set` alone never waits: it may go beyond.
    public var pendingWritesCapacity: Int {
        get { disk?.writes.capacityBytes ?? WriteQueue.capacityBytesDefault }
        set { disk?.writes.capacityBytes = newValue }
    }

    /// Waits until everything that was set and removed before is on disk.
    ///
    /// Then a killed process loses none of it; a crash of the system may.
    public func flush() async {
        await disk?.writes.flush()
    }
}
