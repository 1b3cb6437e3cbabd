// Everything that a memory cache's lock protects, and the rules by which entries come and go.

/// The state of a cache: entries, limits, counters.
///
/// No method calls the user's code except for comparing keys; what leaves is appended to `departures`.
@usableFromInline
struct MemoryCacheState<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias Table = EntryTable<Key, Value>
    @usableFromInline typealias Leaving = Departures<Key, Value>

    /// A value that was found, and what is needed to drop it should it turn out to be discarded.
    @usableFromInline
    struct Found: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let id: UInt64
        @usableFromInline let mayBeDiscarded: Bool

        @inlinable
        init(value: Value, id: UInt64, mayBeDiscarded: Bool) {
            self.value = value
            self.id = id
            self.mayBeDiscarded = mayBeDiscarded
        }
    }

    @usableFromInline var table = Table()
    @usableFromInline var name: String
    @usableFromInline var countLimit: Int
    @usableFromInline var totalCostLimit: Int
    @usableFromInline var evictsObjectsWithDiscardedContent = true
    @usableFromInline var reportsRemovals = false
    @usableFromInline weak var delegate: (any MemoryCacheDelegate<Key, Value>)?
    @usableFromInline var statistics = MemoryCacheStatistics()
    @usableFromInline var flights: [FlightKey<Key>: Flight<Key, Value>] = [:]

    @usableFromInline let policy: MemoryCacheEvictionPolicy
    @usableFromInline var ghosts = GhostQueue()

    @inlinable
    init(name: String, countLimit: Int, totalCostLimit: Int, policy: MemoryCacheEvictionPolicy) {
        self.policy = policy
        self.name = name
        self.countLimit = max(0, countLimit)
        self.totalCostLimit = max(0, totalCostLimit)
    }

    // MARK: Reading

    @inlinable
    mutating func get(_ key: Key, hash: Int, now: Duration, departures: inout Leaving) -> Found? {
        let slot = findAlive(key, hash: hash, now: now, departures: &departures)
        guard slot != Table.none, let found = found(at: slot) else {
            statistics.countMiss()
            return nil
        }
        statistics.countHit()
        if isLeastRecentlyUsed { table.touch(slot) } else { table.noteUse(slot) }
        return found
    }

    /// Looks without using: nothing is counted, touched or dropped.
    @inlinable
    func peek(_ key: Key, hash: Int, now: Duration) -> Found? {
        let slot = table.find(key, hash: hash)
        guard slot != Table.none, !table.isExpired(slot, at: now) else { return nil }
        return found(at: slot)
    }

    @inlinable
    func found(at slot: Int) -> Found? {
        guard let value = table.slots[slot].value else { return nil }
        return Found(
            value: value, id: table.slots[slot].id,
            mayBeDiscarded: evictsObjectsWithDiscardedContent && table.slots[slot].isDiscardable)
    }

    /// The slot of the key, or `none`; an expired entry is dropped on the way, for it counts as absent.
    @inlinable
    mutating func findAlive(_ key: Key, hash: Int, now: Duration, departures: inout Leaving) -> Int {
        let slot = table.find(key, hash: hash)
        guard slot != Table.none, table.isExpired(slot, at: now) else { return slot }
        dismiss(slot, .expired, departures: &departures)
        return Table.none
    }

    // MARK: Writing

    /// A value on its way in.
    @usableFromInline
    struct Incoming {
        @usableFromInline let key: Key
        @usableFromInline let hash: Int
        @usableFromInline let value: Value
        @usableFromInline let cost: Int
        @usableFromInline let deadline: Duration?
        @usableFromInline let isDiscardable: Bool
        /// The flight that brings the value; nil if the caller sets it.
        @usableFromInline let flight: Flight<Key, Value>?

        @inlinable
        init(
            key: Key, hash: Int, value: Value, cost: Int, deadline: Duration?, isDiscardable: Bool,
            flight: Flight<Key, Value>?
        ) {
            self.key = key
            self.hash = hash
            self.value = value
            self.cost = cost
            self.deadline = deadline
            self.isDiscardable = isDiscardable
            self.flight = flight
        }
    }

    /// Stores a value, or returns false if it alone exceeds the cost limit or its flight has been overtaken.
    ///
    /// Room is made before the entry comes in: it can't be its own victim, and no limit is exceeded for a moment.
    @inlinable
    mutating func set(_ incoming: Incoming, now: Duration, departures: inout Leaving) -> Bool {
        if let flight = incoming.flight {
            guard endFlight(flight) else { return false }
        } else {
            if !flights.isEmpty { overtakeFlight(incoming.key, hash: incoming.hash) }
        }
        let old = findAlive(incoming.key, hash: incoming.hash, now: now, departures: &departures)
        let isReplacement = old != Table.none
        if totalCostLimit > 0, incoming.cost > totalCostLimit {
            statistics.countRefusal()
            if isReplacement { dismiss(old, .removed, departures: &departures) }
            return false
        }
        var isMain = false
        var frequency: UInt8 = 0
        if isReplacement {
            // A set is a use: the entry keeps its queue, and what it has earned there.
            isMain = table.slots[old].isMain
            frequency = min(table.slots[old].frequency + 1, Table.usesMost)
            dismiss(old, .replaced, departures: &departures)
        } else {
            statistics.countInsert()
            if !isLeastRecentlyUsed { isMain = ghosts.remove(incoming.hash) }
        }
        makeRoom(entries: 1, cost: incoming.cost, now: now, departures: &departures)
        let slot = table.insert(
            incoming.key, hash: incoming.hash, value: incoming.value, cost: incoming.cost,
            isDiscardable: incoming.isDiscardable, toMain: isMain, frequency: frequency)
        if let deadline = incoming.deadline { table.setDeadline(deadline, of: slot) }
        return true
    }

    @inlinable
    mutating func remove(_ key: Key, hash: Int, now: Duration, departures: inout Leaving) -> Value? {
        if !flights.isEmpty { overtakeFlight(key, hash: hash) }
        let slot = findAlive(key, hash: hash, now: now, departures: &departures)
        guard slot != Table.none else { return nil }
        let value = table.slots[slot].value
        dismiss(slot, .removed, departures: &departures)
        return value
    }

    /// Removes the entry only if it is still the one that the insertion `id` made; returns whether it was.
    @discardableResult
    @inlinable
    mutating func remove(
        _ key: Key, hash: Int, id: UInt64, reason: MemoryCacheRemovalReason, departures: inout Leaving
    ) -> Bool {
        let slot = table.find(key, hash: hash)
        guard slot != Table.none, table.slots[slot].id == id else { return false }
        dismiss(slot, reason, departures: &departures)
        return true
    }

    // MARK: Limits

    /// Evicts until so many more entries of so much more cost fit: the expired, then the coldest that cost something
    /// while the cost is too high, then the coldest while there are too many.
    @inlinable
    mutating func makeRoom(entries: Int, cost: Int, now: Duration, departures: inout Leaving) {
        let none = Table.none
        while !(fits(cost: cost) && fits(entries: entries)) {
            let slot = table.firstExpired(at: now)
            guard slot != none else { break }
            dismiss(slot, .expired, departures: &departures)
        }
        while !fits(cost: cost), case let slot = victim(for: .cost, keeping: UInt128(totalCostLimit)), slot != none {
            evict(slot, .costLimit, departures: &departures)
        }
        while !fits(entries: entries), case let slot = victim(for: .entries, keeping: UInt128(countLimit)), slot != none
        {
            evict(slot, .countLimit, departures: &departures)
        }
    }

    /// Whether entries leave in the exact order of their last use: by the policy, or because there are to be few.
    @inlinable
    var isLeastRecentlyUsed: Bool { policy == .lru || (countLimit > 0 && countLimit < Self.entriesForQueues) }

    /// Fewest entries for which S3-FIFO's small queue is worth having.
    @inlinable
    static var entriesForQueues: Int { 64 }

    /// The slot that leaves next to keep a limit of that capacity, or `none`.
    @inlinable
    mutating func victim(for unit: LimitedUnit, keeping capacity: UInt128) -> Int {
        isLeastRecentlyUsed ? table.coldest(for: unit) : table.nextVictim(for: unit, capacity: capacity)
    }

    /// Dismisses a victim, which is remembered if it leaves from the small queue.
    @inlinable
    mutating func evict(_ slot: Int, _ reason: MemoryCacheRemovalReason, departures: inout Leaving) {
        if !isLeastRecentlyUsed, !table.slots[slot].isMain { remember(slot) }
        dismiss(slot, reason, departures: &departures)
    }

    /// Ghosts weigh what the entries of the main queue may weigh, in the unit of the limit.
    @inlinable
    mutating func remember(_ slot: Int) {
        let limit = UInt128(totalCostLimit > 0 ? totalCostLimit : countLimit)
        let weight = totalCostLimit > 0 ? max(1, table.slots[slot].cost) : 1
        ghosts.push(table.slots[slot].hash, weight: weight, capacity: limit - limit / 10)
    }

    @inlinable
    func fits(cost: Int) -> Bool {
        totalCostLimit == 0 || table.totalCost + UInt128(cost) <= UInt128(totalCostLimit)
    }

    @inlinable
    func fits(entries: Int) -> Bool {
        // Subtracted, for a count limit may be Int.max.
        countLimit == 0 || table.count <= countLimit - entries
    }

    /// Takes an entry out, counts it and hands it to the departures.
    @inlinable
    mutating func dismiss(_ slot: Int, _ reason: MemoryCacheRemovalReason, departures: inout Leaving) {
        let taken = table.take(slot)
        guard let key = taken.key, let value = taken.value else { return }
        statistics.count(reason)
        let isReported = !reason.isAskedFor || reportsRemovals
        if isReported { departures.delegate = delegate }
        departures.append(
            Departure(
                key: key, value: value, reason: reason, isDiscardable: taken.isDiscardable, isReported: isReported))
    }
}
