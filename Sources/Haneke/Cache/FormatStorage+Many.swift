internal import Dispatch
internal import Synchronization

extension FormatStorage {
    /// Transforms values at the same time and stores them at once; who fetches one of the keys meanwhile waits for it.
    ///
    /// The results are in the order of the values.
    func setAll(_ values: [(key: CacheKey, value: Value)], lifetime: Lifetime) async -> [Result<Value, any Error>] {
        let format = format
        let fetches = values.map { _ in FetchCore<Value>(callbackQueue: DispatchQueue.global()) }
        // From now on the order of the calls counts, as with a single set.
        let flights = locked { state in
            zip(values, fetches).map { value, fetch in
                state.flights.supersede(value.key)
                let id = state.flights.start(
                    FlightTable.Slot(key: value.key, policy: .cacheFirst), stage: .setting)
                _ = state.flights.add(.init(fetch: fetch, loader: nil, allowsStale: false), to: id)
                return id
            }
        }
        let results = await Self.apply(format, to: values.map(\.value))
        await waitForRoom()
        let (ended, pending) = locked { state -> ([FlightTable<Value>.Flight?], [(any PendingValue)?]) in
            var stored: [(key: CacheKey, value: Value)] = []
            for ((value, id), result) in zip(zip(values, flights), results) {
                guard case .success(let made) = result, state.flights.isCurrent(id) else { continue }
                state.flights.supersede(value.key, before: id)
                stored.append((value.key, made))
            }
            let pending = store(stored, lifetime: lifetime, state)
            return (flights.map { state.flights.end($0) }, pending)
        }
        for (flight, result) in zip(ended, results) {
            for (_, waiter) in flight?.waiters ?? [] {
                switch result {
                case .success(let value): waiter.fetch.settle(.success(.init(value: value, source: .fetcher)))
                case .failure(let error): waiter.fetch.settle(.failure(error))
                }
            }
        }
        return Self.checked(results, values.map(\.key), pending.compactMap { $0 as? PendingEntry<Value> })
    }

    private static func apply(_ format: Format<Value>, to values: [Value]) async -> [Result<Value, any Error>] {
        guard !format.isIdentity else { return values.map { .success($0) } }
        return await withTaskGroup(of: (Int, Result<Value, any Error>).self) { group in
            for (index, value) in values.enumerated() {
                group.addTask(executorPreference: BackgroundExecutor.shared) {
                    (index, Result { try format.apply(value) })
                }
            }
            var results: [Int: Result<Value, any Error>] = [:]
            for await (index, result) in group { results[index] = result }
            return values.indices.map { results[$0] ?? .failure(CancellationError()) }
        }
    }

    /// The results, with failures in place of the values that cannot reach the disk.
    private static func checked(
        _ results: [Result<Value, any Error>], _ keys: [CacheKey], _ pending: [PendingEntry<Value>]
    ) -> [Result<Value, any Error>] {
        let pending = Dictionary(pending.map { ($0.entry.key, $0) }) { _, last in last }
        return zip(keys, results).map { key, result in
            result.flatMap { value in
                Result {
                    try pending[key]?.checkStorable()
                    return value
                }
            }
        }
    }
}
