// The entries of a memory cache: a hash table threaded by recency. Knows no limits, no time, no locks.
//
// Slots lie in one array and point at each other by index. A slot is in one bucket chain, found by the hash taken
// when its key came in: a key object that changes its hash afterwards can be missed, but never breaks the table.
// It is also in one of two queues, see EntryTable+Queues.swift.
//
// What a read or a write runs through is inlinable, here and in the files around, so that the caller's module
// compiles it for its own types; through the generic code it would be many times slower.

/// Entries by key and by recency; every operation is O(1), the heap of deadlines apart.
@usableFromInline
struct EntryTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The index that points nowhere.
    @inlinable
    static var none: Int { -1 }

    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline var key: Key?
        @usableFromInline var value: Value?
        @usableFromInline var hash = 0
        @usableFromInline var cost = 0
        /// Which insertion made the entry: tells it from a later one under the same key.
        @usableFromInline var id: UInt64 = 0
        /// When the entry came to the hot end of its queue, counted in uses of this table.
        @usableFromInline var touched: UInt64 = 0
        @usableFromInline var isDiscardable = false
        @usableFromInline var isMain = false
        /// The hits since the entry came into its queue, at most `usesMost`; S3-FIFO only.
        @usableFromInline var frequency: UInt8 = 0
        /// Where the entry's deadline is in the heap, or `none`: it never expires.
        @usableFromInline var heapIndex = -1
        @usableFromInline var nextInBucket = -1
        @usableFromInline var colder = -1
        @usableFromInline var hotter = -1

        @inlinable
        init() {}
    }

    @usableFromInline var slots: [Slot] = []
    /// Deadlines in heap order, earliest first; kept by EntryTable+Deadlines.swift.
    @usableFromInline var deadlines: [Deadline] = []
    @usableFromInline var buckets = [Int](repeating: -1, count: 16)
    @usableFromInline var firstFree = -1
    /// Where entries begin; the only queue of the least recently used order.
    @usableFromInline var small = EntryQueue()
    /// Where entries go that have been used in the small queue, or that have come back.
    @usableFromInline var main = EntryQueue()
    @usableFromInline var uses: UInt64 = 0

    @usableFromInline var count = 0
    /// The true sum: costs near `Int.max` neither trap nor saturate here.
    @usableFromInline var totalCost: UInt128 = 0

    @inlinable
    init() {}

    // MARK: Finding

    /// The slot of the key, or `none`.
    @inlinable
    func find(_ key: Key, hash: Int) -> Int {
        var slot = buckets[bucket(of: hash)]
        while slot != Self.none {
            if slots[slot].hash == hash, slots[slot].key == key { return slot }
            slot = slots[slot].nextInBucket
        }
        return Self.none
    }

    // MARK: Changing

    /// Adds an entry at the hot end of its queue; the key must be absent.
    @inlinable
    mutating func insert(
        _ key: Key, hash: Int, value: Value, cost: Int, isDiscardable: Bool, toMain isMain: Bool, frequency: UInt8
    ) -> Int {
        if count == buckets.count { grow() }
        uses += 1
        let home = bucket(of: hash)
        var filled = Slot()
        filled.key = key
        filled.value = value
        filled.hash = hash
        filled.cost = cost
        filled.id = uses
        filled.touched = uses
        filled.isDiscardable = isDiscardable
        filled.isMain = isMain
        filled.frequency = frequency
        filled.nextInBucket = buckets[home]
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
    @inlinable
    mutating func touch(_ slot: Int) {
        uses += 1
        slots[slot].touched = uses
        if slots[slot].hotter == Self.none { return }
        unlink(slot)
        link(slot)
    }

    /// Notes a use without moving anything.
    @inlinable
    mutating func noteUse(_ slot: Int) {
        if slots[slot].frequency < Self.usesMost { slots[slot].frequency += 1 }
    }

    /// Takes an entry out of the table and hands it over, so that the caller decides where it is released.
    @inlinable
    mutating func take(_ slot: Int) -> Slot {
        if slots[slot].heapIndex != Self.none { dropDeadline(of: slot) }
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

    /// Hands over all entries, and their memory with them.
    ///
    /// The count of uses goes on: an id must not come again, for a caller may still hold one.
    mutating func handOver() -> EntryTable {
        var emptied = EntryTable()
        emptied.uses = uses
        swap(&self, &emptied)
        return emptied
    }

    // MARK: Buckets

    /// The number of buckets is a power of two.
    @inlinable
    func bucket(of hash: Int) -> Int { hash & (buckets.count - 1) }

    @inlinable
    mutating func leaveBucket(_ slot: Int) {
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
    @inlinable
    mutating func grow() {
        buckets = [Int](repeating: Self.none, count: buckets.count * 2)
        for slot in slots.indices where slots[slot].key != nil {
            let home = bucket(of: slots[slot].hash)
            slots[slot].nextInBucket = buckets[home]
            buckets[home] = slot
        }
    }
}
