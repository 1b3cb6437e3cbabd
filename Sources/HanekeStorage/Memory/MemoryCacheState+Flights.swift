// The values in the making. A flight that is no longer in the table has been overtaken by a newer value or removal.

extension MemoryCacheState {
    /// The flight of the key, and whether it was begun just now, so that the caller has to make the value.
    mutating func joinFlight(_ name: FlightKey<Key>) -> (flight: Flight<Key, Value>, isNew: Bool) {
        if let flight = flights[name] { return (flight, false) }
        let flight = Flight<Key, Value>(name)
        flights[name] = flight
        return (flight, true)
    }

    /// Takes the flight out of the table, if it is still there; returns whether it was.
    @usableFromInline
    mutating func endFlight(_ flight: Flight<Key, Value>) -> Bool {
        guard flights[flight.name] === flight else { return false }
        flights[flight.name] = nil
        return true
    }

    /// Forgets the flight of a key that was set or removed: what it brings is out of date.
    @usableFromInline
    mutating func overtakeFlight(_ key: Key, hash: Int) {
        flights[FlightKey(key: key, hash: hash)] = nil
    }
}
