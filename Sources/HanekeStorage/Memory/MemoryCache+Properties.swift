// What a memory cache can be asked and told about itself.

internal import Synchronization

extension MemoryCache {
    /// Free text for the reader of a log, without effect; empty by default.
    public var name: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// Largest number of entries; 0 (default) is no limit, and less counts as 0.
    ///
    /// Lowering it evicts the coldest at once: O(evicted).
    public var countLimit: Int {
        get { state.withLock { $0.countLimit } }
        set { change { $0.countLimit = max(0, newValue) } }
    }

    /// Largest sum of the entries' costs; 0 (default) is no limit, and less counts as 0.
    ///
    /// Lowering it evicts at once, the coldest of those that cost something: O(evicted).
    public var totalCostLimit: Int {
        get { state.withLock { $0.totalCostLimit } }
        set { change { $0.totalCostLimit = max(0, newValue) } }
    }

    /// The number of entries, with those whose lifetime is over but that nobody has come upon yet.
    public var count: Int { state.withLock { $0.table.count } }

    /// The sum of the entries' costs, `Int.max` if it is larger.
    public var totalCost: Int { state.withLock { Int(clamping: $0.table.totalCost) } }

    /// Whether reading drops a value that has discarded its contents and gives nil.
    ///
    /// Default: true. When false, such a value is returned as it is. See ``DiscardableContent``.
    public var evictsObjectsWithDiscardedContent: Bool {
        get { state.withLock { $0.evictsObjectsWithDiscardedContent } }
        set { state.withLock { $0.evictsObjectsWithDiscardedContent = newValue } }
    }

    /// Whether the delegate also hears of what the caller removes or replaces; false by default.
    public var reportsRemovals: Bool {
        get { state.withLock { $0.reportsRemovals } }
        set { state.withLock { $0.reportsRemovals = newValue } }
    }

    /// Who hears of entries that leave: held weakly, nil by default.
    public var delegate: (any MemoryCacheDelegate<Key, Value>)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    /// What the cache has done so far.
    public var statistics: MemoryCacheStatistics { state.withLock { $0.statistics } }

    /// Changes a limit and evicts what it no longer allows.
    private func change(_ limit: (inout State) -> Void) {
        let now = time()
        var departures = Departures<Key, Value>()
        state.withLock { state in
            limit(&state)
            state.makeRoom(entries: 0, cost: 0, now: now, departures: &departures)
        }
        departures.settle(from: self)
    }
}
