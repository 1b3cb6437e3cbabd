// Removing many entries at once, by the caller's wish or for want of memory.

internal import Synchronization

extension MemoryCache {
    /// Removes all entries; limits, name, delegate and statistics stay.
    ///
    /// O(removed), most of it without the lock.
    public func removeAll() {
        var (leaving, delegate, reportsRemovals) = state.withLock { state in
            state.statistics.removals += state.table.count
            state.flights = [:]
            state.ghosts = GhostQueue()
            return (state.table.handOver(), state.delegate, state.reportsRemovals)
        }
        while case let coldest = leaving.coldest(for: .entries), coldest != State.Table.none {
            var departures = Departures<Key, Value>()
            let taken = leaving.take(coldest)
            guard let key = taken.key, let value = taken.value else { continue }
            departures.delegate = delegate
            departures.append(
                Departure(
                    key: key, value: value, reason: .removedAll, isDiscardable: taken.isDiscardable,
                    isReported: reportsRemovals))
            departures.settle(from: self)
        }
    }

    /// Removes the entries for which the predicate answers true; they leave as ``MemoryCacheRemovalReason/removed``.
    ///
    /// The predicate runs without the lock, coldest entry first, over the entries there at the call. One that is set
    /// meanwhile stays. O(count log count), and holds all values until it returns.
    ///
    /// - Throws: What the predicate throws; nothing is removed then.
    public func removeAll(where isUnwanted: (Key, Value) throws -> Bool) rethrows {
        let entries = state.withLock { $0.snapshot() }.sorted { $0.touched < $1.touched }
        let unwanted = try entries.filter { try isUnwanted($0.key, $0.value) }
        var departures = Departures<Key, Value>()
        state.withLock { state in
            for entry in unwanted {
                state.remove(entry.key, hash: entry.hash, id: entry.id, reason: .removed, departures: &departures)
            }
        }
        departures.settle(from: self)
    }

    /// Drops the entries whose lifetime is over.
    ///
    /// O(expired × log lifetimes). Reading and making room drop them anyway; this frees the memory of those that nobody asks for.
    public func removeExpired() {
        let now = time()
        var departures = Departures<Key, Value>()
        state.withLock { $0.dropExpired(now: now, departures: &departures) }
        departures.settle(from: self)
    }

    /// Gives memory back, as much as the level asks for.
    ///
    /// O(evicted). `normal` does nothing. `warning` keeps at most half of the total cost, or half of the entries if none costs
    /// anything; the expired leave first, then the coldest by the policy. `critical` keeps nothing.
    public func handlePressure(_ level: MemoryPressureLevel) {
        let now = time()
        var departures = Departures<Key, Value>()
        state.withLock { $0.relieve(level, now: now, departures: &departures) }
        departures.settle(from: self)
    }
}
