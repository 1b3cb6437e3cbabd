// The entries of a memory cache: a hash table threaded by recency. Knows no limits, no time, no locks.
//
// Slots lie in one array and point at each other by index. A slot is in one bucket chain, found by the hash taken
// when its key came in: a key object that changes its hash afterwards can be missed, but never breaks the table.
// It is also in one of two recency lists. Entries that cost nothing have a list of their own, so that the coldest
// entry whose eviction lowers the cost is found at once, however many free ones are colder.

/// Entries by key and by recency; every operation is O(1), the heap of deadlines apart.
struct EntryTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The index that points nowhere.
    static var none: Int { -1 }

    struct Slot: Sendable {
        var key: Key?
        var value: Value?
        var hash = 0
        var cost = 0
        /// Which insertion made the entry: tells it from a later one under the same key.
        var id: UInt64 = 0
        /// When the entry was last used, counted in uses of this table.
        var touched: UInt64 = 0
        var isDiscardable = false
        /// Where the entry's deadline is in the heap, or `none`: it never expires.
        var heapIndex = -1
        var nextInBucket = -1
        var colder = -1
        var hotter = -1
    }

    /// One recency list: the slots at its ends.
    private struct Ends: Sendable {
        var coldest = -1
        var hottest = -1
    }

    var slots: [Slot] = []
    /// Deadlines in heap order, earliest first; kept by EntryTable+Deadlines.swift.
    var deadlines: [Deadline] = []
    private var buckets = [Int](repeating: -1, count: 16)
    private var firstFree = -1
    private var costed = Ends()
    private var costless = Ends()
    private var uses: UInt64 = 0

    private(set) var count = 0
    /// The true sum: costs near `Int.max` neither trap nor saturate here.
    private(set) var totalCost: UInt128 = 0

    // MARK: Finding

    /// The slot of the key, or `none`.
    func find(_ key: Key, hash: Int) -> Int {
        var slot = buckets[bucket(of: hash)]
        while slot != Self.none {
            if slots[slot].hash == hash, slots[slot].key == key { return slot }
            slot = slots[slot].nextInBucket
        }
        return Self.none
    }

    /// The least recently used slot, or `none`.
    var coldest: Int {
        if costed.coldest == Self.none { return costless.coldest }
        if costless.coldest == Self.none { return costed.coldest }
        let costedIsColder = slots[costed.coldest].touched < slots[costless.coldest].touched
        return costedIsColder ? costed.coldest : costless.coldest
    }

    /// The least recently used slot whose cost is not zero, or `none`.
    var coldestCosted: Int { costed.coldest }

    // MARK: Changing

    /// Adds an entry as the most recently used; the key must be absent.
    mutating func insert(_ key: Key, hash: Int, value: Value, cost: Int, isDiscardable: Bool) -> Int {
        if count == buckets.count { grow() }
        uses += 1
        let home = bucket(of: hash)
        let filled = Slot(
            key: key, value: value, hash: hash, cost: cost, id: uses, touched: uses, isDiscardable: isDiscardable,
            nextInBucket: buckets[home])
        var slot = firstFree
        if slot == Self.none {
            slot = slots.count
            slots.append(filled)
        } else {
            firstFree = slots[slot].nextInBucket
            slots[slot] = filled
        }
        buckets[home] = slot
        link(slot)
        count += 1
        totalCost += UInt128(cost)
        return slot
    }

    /// Makes the entry the most recently used.
    mutating func touch(_ slot: Int) {
        uses += 1
        slots[slot].touched = uses
        if slots[slot].hotter == Self.none { return }
        unlink(slot)
        link(slot)
    }

    /// Takes an entry out of the table and hands it over, so that the caller decides where it is released.
    mutating func take(_ slot: Int) -> Slot {
        dropDeadline(of: slot)
        unlink(slot)
        leaveBucket(slot)
        var emptied = Slot()
        emptied.nextInBucket = firstFree
        swap(&slots[slot], &emptied)
        firstFree = slot
        count -= 1
        totalCost -= UInt128(emptied.cost)
        return emptied
    }

    // MARK: Recency

    private mutating func link(_ slot: Int) {
        let isCosted = slots[slot].cost > 0
        let hottest = isCosted ? costed.hottest : costless.hottest
        slots[slot].colder = hottest
        slots[slot].hotter = Self.none
        if hottest != Self.none { slots[hottest].hotter = slot }
        if isCosted {
            costed.hottest = slot
            if hottest == Self.none { costed.coldest = slot }
        } else {
            costless.hottest = slot
            if hottest == Self.none { costless.coldest = slot }
        }
    }

    private mutating func unlink(_ slot: Int) {
        let isCosted = slots[slot].cost > 0
        let colder = slots[slot].colder
        let hotter = slots[slot].hotter
        if colder != Self.none {
            slots[colder].hotter = hotter
        } else if isCosted {
            costed.coldest = hotter
        } else {
            costless.coldest = hotter
        }
        if hotter != Self.none {
            slots[hotter].colder = colder
        } else if isCosted {
            costed.hottest = colder
        } else {
            costless.hottest = colder
        }
    }

    // MARK: Buckets

    /// The number of buckets is a power of two.
    private func bucket(of hash: Int) -> Int { hash & (buckets.count - 1) }

    private mutating func leaveBucket(_ slot: Int) {
        let home = bucket(of: slots[slot].hash)
        let next = slots[slot].nextInBucket
        if buckets[home] == slot {
            buckets[home] = next
            return
        }
        var before = buckets[home]
        while slots[before].nextInBucket != slot { before = slots[before].nextInBucket }
        slots[before].nextInBucket = next
    }

    /// Doubles the buckets and chains every slot anew; called only when no slot is free.
    private mutating func grow() {
        buckets = [Int](repeating: Self.none, count: buckets.count * 2)
        for slot in slots.indices where slots[slot].key != nil {
            let home = bucket(of: slots[slot].hash)
            slots[slot].nextInBucket = buckets[home]
            buckets[home] = slot
        }
    }
}
