// The queues of the table: in which order entries may leave. Each lists entries from the coldest to the hottest.
//
// Entries that cost nothing have a list of their own, so that the coldest entry whose eviction lowers the cost is found
// at once, however many free ones are colder. Every list is in the order of `touched`.

/// What a limit counts.
@usableFromInline
enum LimitedUnit: Sendable {
    case entries, cost
}

/// One list: the slots at its ends.
@usableFromInline
struct Ends: Sendable {
    @usableFromInline var coldest = -1
    @usableFromInline var hottest = -1

    @inlinable
    init() {}
}

/// Two lists that are one queue, and what they hold.
@usableFromInline
struct EntryQueue: Sendable {
    @usableFromInline var costed = Ends()
    @usableFromInline var costless = Ends()
    @usableFromInline var count = 0
    @usableFromInline var cost: UInt128 = 0

    @inlinable
    init() {}

    @inlinable
    func weight(in unit: LimitedUnit) -> UInt128 { unit == .cost ? cost : UInt128(count) }
}

extension EntryTable {
    /// Most uses that are remembered.
    @inlinable
    static var usesMost: UInt8 { 3 }
    /// Uses in the small queue that earn a place in the main one.
    @inlinable
    static var usesForMain: UInt8 { 2 }

    // MARK: The coldest

    /// The least recently used slot of all, or `none`; when the cost must fall, of those that cost something.
    @inlinable
    func coldest(for unit: LimitedUnit) -> Int {
        older(coldest(of: small, for: unit), coldest(of: main, for: unit))
    }

    @inlinable
    func coldest(of queue: EntryQueue, for unit: LimitedUnit) -> Int {
        unit == .cost ? queue.costed.coldest : older(queue.costed.coldest, queue.costless.coldest)
    }

    @inlinable
    func older(_ one: Int, _ other: Int) -> Int {
        if one == Self.none { return other }
        if other == Self.none { return one }
        return slots[one].touched < slots[other].touched ? one : other
    }

    // MARK: S3-FIFO

    /// The slot that leaves next by S3-FIFO in a cache of that capacity, or `none`.
    ///
    /// Moves those on its way that are in use.
    /// O(1), amortised: each step takes a use from an entry that a hit has given it.
    @inlinable
    mutating func nextVictim(for unit: LimitedUnit, capacity: UInt128) -> Int {
        let smallTarget = capacity / 10
        while true {
            let smallest = coldest(of: small, for: unit)
            let oldest = coldest(of: main, for: unit)
            let weight = small.weight(in: unit)
            let isSmallFull =
                weight > smallTarget || weight == smallTarget && main.weight(in: unit) <= capacity - smallTarget
            if smallest != Self.none, oldest == Self.none || isSmallFull {
                guard slots[smallest].frequency >= Self.usesForMain else { return smallest }
                move(smallest, toMain: true, frequency: 0)
            } else {
                guard oldest != Self.none, slots[oldest].frequency > 0 else { return oldest }
                move(oldest, toMain: true, frequency: slots[oldest].frequency - 1)
            }
        }
    }

    /// Puts an entry at the hot end of a queue.
    @inlinable
    mutating func move(_ slot: Int, toMain isMain: Bool, frequency: UInt8) {
        unlink(slot)
        slots[slot].isMain = isMain
        slots[slot].frequency = frequency
        uses += 1
        slots[slot].touched = uses
        link(slot)
    }

    // MARK: Links

    @inlinable
    mutating func link(_ slot: Int) {
        let cost = slots[slot].cost
        switch (slots[slot].isMain, cost > 0) {
        case (false, false): Self.link(slot, to: &small.costless, of: &slots)
        case (false, true): Self.link(slot, to: &small.costed, of: &slots)
        case (true, false): Self.link(slot, to: &main.costless, of: &slots)
        case (true, true): Self.link(slot, to: &main.costed, of: &slots)
        }
        if slots[slot].isMain {
            main.count += 1
            main.cost += UInt128(cost)
        } else {
            small.count += 1
            small.cost += UInt128(cost)
        }
    }

    @inlinable
    mutating func unlink(_ slot: Int) {
        let cost = slots[slot].cost
        switch (slots[slot].isMain, cost > 0) {
        case (false, false): Self.unlink(slot, from: &small.costless, of: &slots)
        case (false, true): Self.unlink(slot, from: &small.costed, of: &slots)
        case (true, false): Self.unlink(slot, from: &main.costless, of: &slots)
        case (true, true): Self.unlink(slot, from: &main.costed, of: &slots)
        }
        if slots[slot].isMain {
            main.count -= 1
            main.cost -= UInt128(cost)
        } else {
            small.count -= 1
            small.cost -= UInt128(cost)
        }
    }

    @inlinable
    static func link(_ slot: Int, to ends: inout Ends, of slots: inout [Slot]) {
        slots[slot].colder = ends.hottest
        slots[slot].hotter = none
        if ends.hottest == none {
            ends.coldest = slot
        } else {
            slots[ends.hottest].hotter = slot
        }
        ends.hottest = slot
    }

    @inlinable
    static func unlink(_ slot: Int, from ends: inout Ends, of slots: inout [Slot]) {
        let colder = slots[slot].colder
        let hotter = slots[slot].hotter
        if colder == none { ends.coldest = hotter } else { slots[colder].hotter = hotter }
        if hotter == none { ends.hottest = colder } else { slots[hotter].colder = colder }
    }
}
