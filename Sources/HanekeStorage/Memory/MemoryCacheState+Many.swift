// The state's operations on many entries.

extension MemoryCacheState {
    /// An entry as it stood when a copy of all was made.
    struct Snapshot: Sendable {
        let key: Key
        let value: Value
        let hash: Int
        let id: UInt64
        let touched: UInt64
    }

    /// A copy of all entries in no order: O(count).
    func snapshot() -> [Snapshot] {
        var entries: [Snapshot] = []
        entries.reserveCapacity(table.count)
        for slot in table.slots {
            guard let key = slot.key, let value = slot.value else { continue }
            entries.append(Snapshot(key: key, value: value, hash: slot.hash, id: slot.id, touched: slot.touched))
        }
        return entries
    }

    /// The contents that can still be discarded.
    var discardableContents: [any DiscardableContent] {
        table.slots.compactMap { $0.isDiscardable ? $0.value as? any DiscardableContent : nil }
    }

    mutating func dropExpired(now: Duration, departures: inout Leaving) {
        let none = Table.none
        while case let slot = table.firstExpired(at: now), slot != none {
            dismiss(slot, .expired, departures: &departures)
        }
    }

    mutating func relieve(_ level: MemoryPressureLevel, now: Duration, departures: inout Leaving) {
        if level == .normal { return }
        let isCostly = table.totalCost > 0
        let keptCost = level == .critical ? 0 : table.totalCost / 2
        let keptCount = level == .critical ? 0 : table.count / 2
        dropExpired(now: now, departures: &departures)
        if level == .warning, isCostly {
            while table.totalCost > keptCost, case let slot = victim(for: .cost, keeping: keptCost), slot != Table.none
            {
                evict(slot, .pressure(level), departures: &departures)
            }
        } else {
            while table.count > keptCount, case let slot = victim(for: .entries, keeping: UInt128(keptCount)),
                slot != Table.none
            {
                evict(slot, .pressure(level), departures: &departures)
            }
        }
        // Nothing is left in the empty table but its own memory, which is wanted too.
        if table.count == 0 {
            _ = table.handOver()
            ghosts = GhostQueue()
        }
    }
}
