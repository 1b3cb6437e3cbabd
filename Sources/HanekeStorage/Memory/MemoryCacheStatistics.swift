/// What a ``MemoryCache`` has done since it was created.
///
/// While no call is running, `inserts` is the number of entries plus `evictions` plus `removals`, and `hits` plus
/// `misses` is the number of reads. `peek` and `contains` are not counted.
public struct MemoryCacheStatistics: Sendable, Equatable {
    /// Reads that found a value.
    public internal(set) var hits = 0
    /// Reads that found none, or one that had expired or discarded its contents.
    public internal(set) var misses = 0
    /// Values set for a key that had none.
    public internal(set) var inserts = 0
    /// Values set in place of another.
    public internal(set) var replacements = 0
    /// Values that were not kept, because they alone cost more than the cache may hold.
    public internal(set) var refused = 0
    /// Entries evicted to keep the count limit.
    public internal(set) var evictedByCountLimit = 0
    /// Entries evicted to keep the cost limit.
    public internal(set) var evictedByCostLimit = 0
    /// Entries evicted because memory was short.
    public internal(set) var evictedByPressure = 0
    /// Entries dropped because their lifetime was over.
    public internal(set) var expired = 0
    /// Entries dropped because their contents were discarded.
    public internal(set) var discarded = 0
    /// Entries that the caller removed, one by one or all at once.
    public internal(set) var removals = 0

    /// Entries that left by the cache's own decision, whatever the reason.
    public var evictions: Int {
        evictedByCountLimit + evictedByCostLimit + evictedByPressure + expired + discarded
    }

    /// Creates statistics of nothing done yet.
    public init() {}

    @usableFromInline
    mutating func countHit() { hits += 1 }

    @usableFromInline
    mutating func countMiss() { misses += 1 }

    @usableFromInline
    mutating func countInsert() { inserts += 1 }

    @usableFromInline
    mutating func countRefusal() { refused += 1 }

    @usableFromInline
    mutating func count(_ reason: MemoryCacheRemovalReason) {
        switch reason {
        case .countLimit: evictedByCountLimit += 1
        case .costLimit: evictedByCostLimit += 1
        case .pressure: evictedByPressure += 1
        case .expired: expired += 1
        case .discarded: discarded += 1
        case .removed, .removedAll: removals += 1
        case .replaced: replacements += 1
        }
    }
}
