internal import HanekeStorage
internal import Synchronization

/// The memory tier of a format, and the uses of its values that the disk has yet to hear of.
final class MemoryTier: MemoryCacheDelegate {
    typealias Key = CacheKey
    typealias Value = MemoryRecord

    /// So many uses are noted before the disk is told although there is nothing to write.
    private static let notedUsesMax = 1_024

    let values: MemoryCache<CacheKey, MemoryRecord>
    /// Whether there is a bucket that takes values: asked on every hit, so without a lock.
    let reachesDisk = Atomic(false)
    private let counters: CacheCounters
    private let clock: any MemoryCacheClock
    private let writes: WriteQueue?
    private let notedUses = Mutex<[MemoryRecord]>([])
    /// What left under a lock of the format, to be released after it: a value's `deinit` may use the cache.
    private let departed = Mutex<[MemoryRecord]>([])

    init(
        values: MemoryCache<CacheKey, MemoryRecord>, counters: CacheCounters, clock: any MemoryCacheClock,
        writes: WriteQueue?
    ) {
        self.values = values
        self.counters = counters
        self.clock = clock
        self.writes = writes
        values.reportsRemovals = true
        values.delegate = self
    }

    /// The value of a key, which counts as used now, also on disk.
    func use(_ key: CacheKey) -> MemoryRecord? {
        guard let record = values.value(forKey: key) else { return nil }
        if let expiry = record.expiry, !expiry.use(now: clock.now) { return nil }
        counters.memoryHits.increment()
        guard let writes, reachesDisk.load(ordering: .relaxed), !record.staysOffDisk.load(ordering: .relaxed) else {
            return record
        }
        record.lastUse.store(writes.nextTick(), ordering: .relaxed)
        if !record.isNoted.load(ordering: .relaxed) {
            note(record)
            // A record on disk that slides, too, must not end meanwhile.
            if record.expiry?.slide != nil { writes.bringUses() }
        }
        return record
    }

    /// Whether the key has a value that lasts.
    ///
    /// No use of it.
    func contains(_ key: CacheKey) -> Bool {
        guard let record = values.peek(key) else { return false }
        return record.expiry.map { $0.remaining(now: clock.now) > .zero } ?? true
    }

    /// Puts a use on the list, if it is not there.
    func note(_ record: MemoryRecord) {
        guard !record.isNoted.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let count = notedUses.withLock { uses in
            uses.append(record)
            return uses.count
        }
        if count == Self.notedUsesMax { writes?.bringUses() }
    }

    /// The uses noted since the last time.
    func takeUses() -> [MemoryRecord] {
        notedUses.withLock { uses in
            defer { uses = [] }
            return uses
        }
    }

    // MARK: Leaving

    func cache(
        _ cache: MemoryCache<CacheKey, MemoryRecord>, willEvict value: MemoryRecord, forKey key: CacheKey,
        reason: MemoryCacheRemovalReason
    ) {
        departed.withLock { $0.append(value) }
    }

    /// Lets go of what has left.
    ///
    /// To be called without a lock.
    func releaseDeparted() {
        let released = departed.withLock { departed in
            defer { departed = [] }
            return departed
        }
        withExtendedLifetime(released) {}
    }
}
