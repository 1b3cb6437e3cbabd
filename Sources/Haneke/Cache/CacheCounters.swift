internal import Synchronization

/// What a cache counts; each counter for itself, so that counting costs one addition.
final class CacheCounters: Sendable {
    let memoryHits = Atomic(0)
    let diskHits = Atomic(0)
    let misses = Atomic(0)
    let loads = Atomic(0)
    let writes = Atomic(0)
    let failedWrites = Atomic(0)
    let undecodable = Atomic(0)

    /// The counts now.
    var current: CacheStatistics {
        CacheStatistics(
            memoryHits: memoryHits.current, diskHits: diskHits.current, misses: misses.current, loads: loads.current,
            writes: writes.current, failedWrites: failedWrites.current, undecodable: undecodable.current)
    }
}

extension Atomic where Value == Int {
    /// Adds one.
    ///
    /// Relaxed: a count orders nothing.
    func increment() { add(1, ordering: .relaxed) }

    /// The count now.
    var current: Int { load(ordering: .relaxed) }
}
