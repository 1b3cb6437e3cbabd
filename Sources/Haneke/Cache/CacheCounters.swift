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
}

extension Atomic where Value == Int {
    /// Adds one.
    ///
    /// Relaxed: a count orders nothing.
    func increment() { add(1, ordering: .relaxed) }

    /// The count now.
    var current: Int { load(ordering: .relaxed) }
}
