internal import HanekeStorage
internal import Synchronization

/// Entries that left a memory tier under a lock, kept until it is released: a value's `deinit` may use the cache.
final class DepartedEntries<Element: Sendable>: MemoryCacheDelegate {
    typealias Key = CacheKey
    typealias Value = MemoryEntry<Element>

    private let entries = Mutex<[MemoryEntry<Element>]>([])

    func cache(
        _ cache: MemoryCache<CacheKey, MemoryEntry<Element>>, willEvict value: MemoryEntry<Element>,
        forKey key: CacheKey, reason: MemoryCacheRemovalReason
    ) {
        entries.withLock { $0.append(value) }
    }

    /// Lets them go. To be called without a lock.
    func release() {
        let released = entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
        withExtendedLifetime(released) {}
    }
}
