// What a memory cache must do, written as plainly as possible: one array, coldest entry first.

import HanekeStorage

struct MemoryCacheModel {
    struct Entry {
        let key: Int
        let value: Int
        let cost: Int
        let id: Int
        let deadline: Duration?
    }

    struct Leaving: Equatable {
        let key: Int
        let value: Int
        let reason: MemoryCacheRemovalReason
    }

    var entries: [Entry] = []
    var countLimit = 0
    var totalCostLimit = 0
    var now = Duration.zero
    var statistics = Numbers()
    private var sets = 0
    private(set) var left: [Leaving] = []

    struct Numbers: Equatable {
        var hits = 0
        var misses = 0
        var inserts = 0
        var replacements = 0
        var refused = 0
        var removals = 0
    }

    var totalCost: UInt128 { entries.reduce(0) { $0 + UInt128($1.cost) } }

    func peek(_ key: Int) -> Int? {
        entries.first { $0.key == key && isAlive($0) }?.value
    }

    mutating func get(_ key: Int) -> Int? {
        dropIfExpired(key)
        guard let index = entries.firstIndex(where: { $0.key == key }) else {
            statistics.misses += 1
            return nil
        }
        statistics.hits += 1
        entries.append(entries.remove(at: index))
        return entries.last?.value
    }

    mutating func set(_ value: Int, key: Int, cost: Int, lifetime: Duration?) -> Bool {
        dropIfExpired(key)
        let old = entries.firstIndex { $0.key == key }
        if totalCostLimit > 0, cost > totalCostLimit {
            statistics.refused += 1
            if let old { leave(old, .removed) }
            return false
        }
        if let old { leave(old, .replaced) } else { statistics.inserts += 1 }
        evict(entries: 1, cost: cost)
        sets += 1
        entries.append(Entry(key: key, value: value, cost: cost, id: sets, deadline: lifetime.map { now + $0 }))
        return true
    }

    mutating func remove(_ key: Int) -> Int? {
        dropIfExpired(key)
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        defer { leave(index, .removed) }
        return entries[index].value
    }

    mutating func removeAll() {
        while !entries.isEmpty { leave(0, .removedAll) }
    }

    mutating func removeAll(where isUnwanted: (Int, Int) -> Bool) {
        while let index = entries.firstIndex(where: { isUnwanted($0.key, $0.value) }) { leave(index, .removed) }
    }

    mutating func removeExpired() {
        while let index = firstExpired { leave(index, .expired) }
    }

    mutating func evict(entries extra: Int = 0, cost: Int = 0) {
        func costs() -> Bool { totalCostLimit > 0 && totalCost + UInt128(cost) > UInt128(totalCostLimit) }
        func counts() -> Bool { countLimit > 0 && entries.count + extra > countLimit }
        while costs() || counts(), let index = firstExpired { leave(index, .expired) }
        while costs(), let index = entries.firstIndex(where: { $0.cost > 0 }) { leave(index, .costLimit) }
        while counts(), !entries.isEmpty { leave(0, .countLimit) }
    }

    mutating func pressure(_ level: MemoryPressureLevel) {
        guard level != .normal else { return }
        let cost = totalCost
        let count = entries.count
        removeExpired()
        if level == .critical {
            while !entries.isEmpty { leave(0, .pressure(level)) }
        } else if cost > 0 {
            while totalCost > cost / 2, let index = entries.firstIndex(where: { $0.cost > 0 }) {
                leave(index, .pressure(level))
            }
        } else {
            while entries.count > count / 2 { leave(0, .pressure(level)) }
        }
    }

    private func isAlive(_ entry: Entry) -> Bool { entry.deadline.map { $0 > now } ?? true }

    private var firstExpired: Int? {
        entries.indices.filter { !isAlive(entries[$0]) }.min {
            let (left, right) = (entries[$0], entries[$1])
            let (first, second) = (left.deadline ?? .zero, right.deadline ?? .zero)
            return first != second ? first < second : left.id < right.id
        }
    }

    private mutating func dropIfExpired(_ key: Int) {
        if let index = entries.firstIndex(where: { $0.key == key && !isAlive($0) }) { leave(index, .expired) }
    }

    private mutating func leave(_ index: Int, _ reason: MemoryCacheRemovalReason) {
        let entry = entries.remove(at: index)
        left.append(Leaving(key: entry.key, value: entry.value, reason: reason))
        switch reason {
        case .replaced: statistics.replacements += 1
        case .removed, .removedAll: statistics.removals += 1
        default: break
        }
    }
}
