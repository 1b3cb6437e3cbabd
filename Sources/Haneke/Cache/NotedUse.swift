internal import HanekeStorage

/// A use of a value in memory that the disk has yet to hear of.
protocol NotedUse: Sendable {
    /// The key used.
    var key: CacheKey { get }
    /// The value, if it is still the key's and nothing else is pending for it: to be written when its record has gone.
    func valueToWriteAgain() -> (any PendingValue)?
    /// Puts the use back on the list: the value itself has not been written yet.
    func postpone()
}

/// What notes uses: the memory tier of a format.
protocol UseSource: AnyObject, Sendable {
    /// The uses noted since the last time, in no particular order.
    func takeUses() -> [WriteQueue.Step]
}

/// A source that may be gone.
struct WeakUseSource: Sendable {
    weak let source: (any UseSource)?
}
