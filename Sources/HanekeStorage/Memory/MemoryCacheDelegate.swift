/// Hears of entries that leave a ``MemoryCache``.
public protocol MemoryCacheDelegate<Key, Value>: AnyObject, Sendable {
    /// The type of the cache's keys.
    associatedtype Key: Hashable & Sendable
    /// The type of the cache's values.
    associatedtype Value: Sendable

    /// Called once for each entry that leaves the cache, in the order in which they left.
    ///
    /// Called on the thread whose call made the entry leave, before that call returns, and without any lock: the
    /// delegate may use the cache. The entry is already absent; a value set for the same key stays. What the caller
    /// asked for (``MemoryCacheRemovalReason/removed``, `replaced`, `removedAll`) is reported only when
    /// ``MemoryCache/reportsRemovals`` is true. Content that is discardable is asked to discard after this call.
    func cache(
        _ cache: MemoryCache<Key, Value>, willEvict value: Value, forKey key: Key, reason: MemoryCacheRemovalReason)
}
