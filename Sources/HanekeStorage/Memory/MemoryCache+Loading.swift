// Values made when they are missing: once, however many ask.

internal import Synchronization

extension MemoryCache {
    /// The value of the key; if there is none, the one that the closure makes, which is stored.
    ///
    /// However many ask for one key at a time, one closure runs, in the task or thread of whoever asked first; the
    /// others wait for it. What it throws reaches all of them, and nothing is stored. A waiting task that is cancelled
    /// stops waiting with `CancellationError`. If the task that runs the closure is cancelled and the closure throws,
    /// one of those who wait runs its own closure instead. The closure must not ask for its own key.
    ///
    /// A value set or removed for the key in the meantime is newer than the closure's, which is then returned but not
    /// stored. Neither is one that costs more than ``totalCostLimit``.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - cost: What a value that is made counts against ``totalCostLimit``. Default 0.
    ///   - lifetime: How long a value that is made lasts, from when it is stored. Default nil: no end.
    ///   - make: Makes the value, without a lock held.
    /// - Throws: What the closure that ran throws, or `CancellationError`.
    public nonisolated(nonsending) func value(
        forKey key: Key, cost: Int = 0, lifetime: Duration? = nil, orInsert make: () async throws -> Value
    ) async throws -> Value {
        if let value = value(forKey: key) { return value }
        while true {
            switch board(key) {
            case .found(let value):
                return value
            case .waiting(let flight):
                if let value = try await flight.outcome().get() { return value }
            case .making(let flight):
                do {
                    let value = try await make()
                    land(flight, key: key, value: value, cost: cost, lifetime: lifetime)
                    return value
                } catch {
                    crash(flight, error: error)
                    throw error
                }
            }
        }
    }

    /// The value of the key; if there is none, the one that the closure makes, which is stored.
    ///
    /// The form for code that is not asynchronous; one closure runs for callers of both forms together. It blocks the
    /// thread while another caller's closure runs: don't wait this way inside a task, whose thread an asynchronous
    /// closure may need. In all else it is like ``value(forKey:cost:lifetime:orInsert:)``. It has a name of its own,
    /// for the compiler would prefer it in asynchronous code as well when the closure is synchronous.
    ///
    /// - Throws: What the closure that ran throws.
    @available(*, noasync, message: "use value(forKey:cost:lifetime:orInsert:), which suspends")
    public func blockingValue(
        forKey key: Key, cost: Int = 0, lifetime: Duration? = nil, orInsert make: () throws -> Value
    ) throws -> Value {
        if let value = value(forKey: key) { return value }
        while true {
            switch board(key) {
            case .found(let value):
                return value
            case .waiting(let flight):
                if let value = try flight.blockingOutcome().get() { return value }
            case .making(let flight):
                do {
                    let value = try make()
                    land(flight, key: key, value: value, cost: cost, lifetime: lifetime)
                    return value
                } catch {
                    crash(flight, error: error)
                    throw error
                }
            }
        }
    }

    private enum Boarding {
        case found(Value)
        case waiting(Flight<Key, Value>)
        case making(Flight<Key, Value>)
    }

    /// Joins the flight of the key, or begins one.
    private func board(_ key: Key) -> Boarding {
        let name = FlightKey(key: key, hash: key.hashValue)
        let (flight, isMine) = state.withLock { $0.joinFlight(name) }
        guard isMine else { return .waiting(flight) }
        // Since the caller looked for the value, another flight may have brought it.
        guard let value = peek(key) else { return .making(flight) }
        _ = state.withLock { $0.endFlight(flight) }
        flight.finish(.made(value))
        return .found(value)
    }

    /// The closure made the value.
    private func land(_ flight: Flight<Key, Value>, key: Key, value: Value, cost: Int, lifetime: Duration?) {
        // Stored before the waiters hear of it: whoever asks from now on finds it.
        store(value, forKey: key, cost: cost, lifetime: lifetime, from: flight)
        flight.finish(.made(value))
    }

    /// The closure threw.
    private func crash(_ flight: Flight<Key, Value>, error: any Error) {
        _ = state.withLock { $0.endFlight(flight) }
        flight.finish(Task.isCancelled ? .abandoned : .failed(error))
    }
}
