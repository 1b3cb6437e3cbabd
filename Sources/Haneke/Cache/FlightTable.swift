/// The fetches in flight of a format: who waits for what, and which of them may still store what they bring.
///
/// A flight that is *current* stands in its slot: others join it, and it may store. A set or remove of the key takes
/// it out of its slot; it goes on, but for those alone who wait for it. Later flights have larger numbers.
struct FlightTable<Value: Sendable>: Sendable {
    typealias FlightID = Int
    typealias WaiterID = Int

    struct Slot: Hashable, Sendable {
        let key: CacheKey
        let policy: FetchPolicy.Kind
    }

    enum Stage: Sendable, Hashable {
        /// Looks for the value on disk.
        case lookingUp
        /// Runs a fetcher.
        case loading
        /// Transforms a value that was given to `set`.
        case setting
    }

    struct Waiter: Sendable {
        let fetch: FetchCore<Value>
        let loader: Loader<Value>?
        let allowsStale: Bool
        /// Whether the value is to be in memory when it has come; a prefetch wants it on disk alone.
        var wantsMemory = true
    }

    struct Flight: Sendable {
        let slot: Slot
        var stage: Stage
        /// In the order in which they came.
        var waiters: [(id: WaiterID, waiter: Waiter)] = []
        var task: Task<Void, Never>?

        /// Whether any of those who wait wants the value in memory.
        var wantsMemory: Bool { waiters.contains(where: \.waiter.wantsMemory) }
        /// The fetcher of the first who has one.
        var loader: Loader<Value>? { waiters.lazy.compactMap(\.waiter.loader).first }
    }

    private var nextID = 0
    private var flights: [FlightID: Flight] = [:]
    private var current: [Slot: FlightID] = [:]
    private var flightOfWaiter: [WaiterID: FlightID] = [:]

    // MARK: Looking

    subscript(id: FlightID) -> Flight? { flights[id] }

    /// Whether the flight may store what it brings.
    func isCurrent(_ id: FlightID) -> Bool {
        flights[id].map { current[$0.slot] == id } ?? false
    }

    /// The flight that a new fetch joins; nil if it has to start one.
    func flightToJoin(key: CacheKey, policy: FetchPolicy.Kind) -> FlightID? {
        if let own = current[Slot(key: key, policy: policy)] { return own }
        guard let first = current[Slot(key: key, policy: .cacheFirst)], let stage = flights[first]?.stage else {
            return nil
        }
        switch policy {
        case .cacheFirst: return first
        case .reload: return stage == .loading ? first : nil
        case .cacheOnly: return stage == .setting ? first : nil
        }
    }

    /// The current reload of the key.
    func reload(of key: CacheKey) -> FlightID? {
        current[Slot(key: key, policy: .reload)]
    }

    /// How many wait for the key; nil as policy is any.
    func waiterCount(key: CacheKey, policy: FetchPolicy.Kind?) -> Int {
        flights.values.filter { $0.slot.key == key && (policy == nil || $0.slot.policy == policy) }
            .reduce(0) { $0 + $1.waiters.count }
    }

    // MARK: Changing

    /// Starts a flight, which is current from now on.
    mutating func start(_ slot: Slot, stage: Stage) -> FlightID {
        nextID += 1
        flights[nextID] = Flight(slot: slot, stage: stage)
        current[slot] = nextID
        return nextID
    }

    /// Gives the flight the task that carries it.
    mutating func setTask(_ task: Task<Void, Never>, of id: FlightID) {
        flights[id]?.task = task
    }

    mutating func setStage(_ stage: Stage, of id: FlightID) {
        flights[id]?.stage = stage
    }

    /// Has the waiter wait for the flight.
    mutating func add(_ waiter: Waiter, to id: FlightID) -> WaiterID {
        nextID += 1
        flights[id]?.waiters.append((nextID, waiter))
        flightOfWaiter[nextID] = id
        return nextID
    }

    /// Takes a waiter out; if it was the flight's last one, the flight ends and its task is given, to be cancelled.
    mutating func remove(waiter id: WaiterID) -> (waiter: Waiter?, task: Task<Void, Never>?) {
        guard let flight = flightOfWaiter.removeValue(forKey: id),
            let index = flights[flight]?.waiters.firstIndex(where: { $0.id == id })
        else { return (nil, nil) }
        let waiter = flights[flight]?.waiters.remove(at: index).waiter
        guard flights[flight]?.waiters.isEmpty == true else { return (waiter, nil) }
        return (waiter, end(flight)?.task)
    }

    /// Has those who wait for one flight wait for another.
    mutating func moveWaiters(of id: FlightID, to other: FlightID) {
        guard let moved = end(id)?.waiters else { return }
        flights[other]?.waiters.append(contentsOf: moved)
        for (waiter, _) in moved { flightOfWaiter[waiter] = other }
    }

    /// Ends a flight; nil if it has ended before.
    @discardableResult
    mutating func end(_ id: FlightID) -> Flight? {
        guard let flight = flights.removeValue(forKey: id) else { return nil }
        if current[flight.slot] == id { current[flight.slot] = nil }
        for (waiter, _) in flight.waiters { flightOfWaiter[waiter] = nil }
        return flight
    }

    /// From now on no flight of the key that started before `limit` stores what it brings.
    mutating func supersede(_ key: CacheKey, before limit: FlightID = .max) {
        for policy in FetchPolicy.Kind.allCases {
            let slot = Slot(key: key, policy: policy)
            if let id = current[slot], id < limit { current[slot] = nil }
        }
    }

    /// From now on no flight stores what it brings.
    mutating func supersedeAll() {
        current = [:]
    }
}
