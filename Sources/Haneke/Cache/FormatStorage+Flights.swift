// Fetches in flight: joining one, carrying it through the disk and the fetcher, ending it.

internal import Dispatch
internal import HanekeNetwork
internal import HanekeStorage
internal import Synchronization

extension FormatStorage {
    /// Fetches a key that the caller did not find in memory: joins the flight that looks for it, or starts one.
    func fetch(
        _ key: CacheKey, _ request: FlightRequest<Value>, observers: [FetchCore<Value>.Observer] = [],
        callbackQueue: DispatchQueue
    ) -> FetchCore<Value> {
        let policy = request.policy
        // Observers are there before the work starts: so they run on their queue, however fast the work is.
        let fetch = FetchCore(observers: observers, callbackQueue: callbackQueue)
        let waiter = FlightTable<Value>.Waiter(
            fetch: fetch, loader: policy.kind == .cacheOnly ? nil : request.loader, allowsStale: policy.allowsStale,
            wantsMemory: request.wantsMemory)
        let waiterID = locked { state -> Int? in
            // Again under the lock: a flight may have ended since the caller looked.
            if policy.kind != .reload {
                if isInMemory(key) { return nil }
                dropIfOver(key)
            }
            if let id = state.flights.flightToJoin(key: key, policy: policy.kind) {
                return state.flights.add(waiter, to: id)
            }
            let id = state.flights.start(
                FlightTable.Slot(key: key, policy: policy.kind),
                stage: policy.kind == .reload ? .loading : .lookingUp)
            let waiterID = state.flights.add(waiter, to: id)
            state.flights.setTask(
                Task(
                    executorPreference: BackgroundExecutor.shared, priority: request.wantsMemory ? nil : .background
                ) { await self.carry(id, request.registry) }, of: id)
            return waiterID
        }
        guard let waiterID else {
            // In memory after all; unless it has left again meanwhile, which starts the question anew.
            guard let value = valueInMemory(key) else {
                return self.fetch(key, request, observers: observers, callbackQueue: callbackQueue)
            }
            return FetchCore(
                settled: .success(.init(value: value, source: .memory)), observers: observers,
                callbackQueue: callbackQueue)
        }
        fetch.setWithdrawal { [weak self] in self?.withdraw(waiterID) }
        return fetch
    }

    /// Transforms a value and stores it; who fetches the key meanwhile waits for it.
    func set(
        _ value: Value, key: CacheKey, lifetime: Lifetime, link: PendingLink,
        observers: [FetchCore<Value>.Observer], callbackQueue: DispatchQueue
    ) -> FetchCore<Value> {
        let fetch = FetchCore(observers: observers, callbackQueue: callbackQueue)
        let waiter = FlightTable<Value>.Waiter(fetch: fetch, loader: nil, allowsStale: false)
        locked { state in
            state.flights.supersede(key)
            let id = state.flights.start(FlightTable.Slot(key: key, policy: .cacheFirst), stage: .setting)
            _ = state.flights.add(waiter, to: id)
            let format = state.format
            // No withdrawal and no cancelling: what was set is stored, whoever waits for it.
            state.flights.setTask(
                Task(executorPreference: BackgroundExecutor.shared) {
                    do {
                        let value = try format.apply(value)
                        await self.waitForRoom()
                        self.deliver(id, value, source: .fetcher, lifetime: lifetime, link: link)
                    } catch {
                        self.fail(id, error)
                    }
                }, of: id)
        }
        return fetch
    }

    /// How many fetches wait for the key, in flights of that policy or of any.
    func waiterCount(_ key: CacheKey, policy: FetchPolicy.Kind? = nil) -> Int {
        locked { $0.flights.waiterCount(key: key, policy: policy) }
    }

    // MARK: In flight

    /// Carries a flight from beginning to end.
    private func carry(_ id: Int, _ registry: FormatRegistry<Value>) async {
        guard let flight = locked({ $0.flights[id] }) else { return }
        let key = flight.slot.key
        var trouble: HanekeError?
        if flight.stage == .lookingUp {
            switch lookUp(key) {
            case .value(let value, let cost, let lifetime):
                return deliverFromDisk(id, value, cost: cost, lifetime: lifetime)
            case .absent: break
            case .unreadable(let error): trouble = error
            case .undecodable(let error):
                trouble = error
                counters.undecodable.increment()
                locked { if $0.flights.isCurrent(id) { removeFromDisk(key, $0) } }
            }
        }
        do {
            let made = try await make(id, flight.slot, registry, trouble: trouble)
            guard let made else { return }
            await waitForRoom()
            deliver(id, made.value, source: made.source)
        } catch {
            fail(id, error)
        }
    }

    /// The value that no tier has, as this format keeps it: out of the parent's, or out of what the fetcher brings.
    ///
    /// Nil if the flight is over.
    private func make(
        _ id: Int, _ slot: FlightTable<Value>.Slot, _ registry: FormatRegistry<Value>, trouble: HanekeError?
    ) async throws -> FetchCore<Value>.Success? {
        let format = format
        var trouble = trouble
        if let parent = try registry.parent(of: format) {
            let question = ParentQuestion(parent: parent, slot: slot, registry: registry) { self.report($0, to: id) }
            do {
                // First those who have no fetcher: one who has may join meanwhile.
                if slot.policy != .reload, let found = try await question.value(with: nil) {
                    return .init(value: try format.apply(found.value), source: .parentFormat)
                }
            } catch let error as HanekeError where error.code != .formatNotFound {
                trouble = trouble ?? error
            }
            guard let loader = beginLoading(id, key: slot.key, trouble: trouble, counts: false),
                let made = try await question.value(with: loader)
            else { return nil }
            return .init(value: try format.apply(made.value), source: made.source)
        }
        guard let loader = beginLoading(id, key: slot.key, trouble: trouble) else { return nil }
        let original = try await ProgressReport.$current.withValue(ProgressReport { self.report($0, to: id) }) {
            try await loader.load()
        }
        try Task.checkCancellation()
        return .init(value: try format.apply(original), source: loader.source)
    }

    /// Tells those who wait how far the fetcher has come.
    private func report(_ progress: TransferProgress, to id: Int) {
        let waiters = locked { $0.flights[id]?.waiters ?? [] }
        for (_, waiter) in waiters { waiter.fetch.report(progress) }
    }

    /// Goes on to the fetcher of the first who has one; nil if the flight is over: nobody has one, or another flight took over.
    private func beginLoading(
        _ id: Int, key: CacheKey, trouble: HanekeError?, counts: Bool = true
    ) -> Loader<Value>? {
        let (loader, ended) = locked { state -> (Loader<Value>?, FlightTable<Value>.Flight?) in
            guard let flight = state.flights[id] else { return (nil, nil) }
            guard let loader = flight.loader else { return (nil, state.flights.end(id)) }
            // A reload of the key is on its way: one fetcher is enough.
            if flight.slot.policy == .cacheFirst, state.flights.isCurrent(id),
                let reload = state.flights.reload(of: key)
            {
                state.flights.moveWaiters(of: id, to: reload)
                return (nil, nil)
            }
            state.flights.setStage(.loading, of: id)
            return (loader, nil)
        }
        if let ended {
            let error = trouble ?? notFound(key)
            countMisses(of: ended)
            for (_, waiter) in ended.waiters { waiter.fetch.settle(.failure(error)) }
        } else if loader != nil, counts {
            counters.loads.increment()
        }
        return loader
    }

    /// Counts those who wait for the flight as fetches that no tier could serve, if that is why they wait.
    private func countMisses(of flight: FlightTable<Value>.Flight) {
        guard flight.stage != .setting, flight.slot.policy != .reload else { return }
        counters.misses.add(flight.waiters.count, ordering: .relaxed)
    }

    private func notFound(_ key: CacheKey) -> HanekeError {
        HanekeError(
            .objectNotFound,
            "nothing is stored under \"\(key.text)\" in the format \"\(name)\", and there is no fetcher")
    }

    // MARK: The end

    /// What the disk had goes into memory and to those who wait.
    private func deliverFromDisk(_ id: Int, _ value: Value, cost: Int, lifetime: Lifetime) {
        let flight = locked { state -> FlightTable<Value>.Flight? in
            if let flight = state.flights[id], state.flights.isCurrent(id), flight.wantsMemory {
                insert(value, key: flight.slot.key, cost: cost, lifetime: lifetime)
            }
            return state.flights.end(id)
        }
        for (_, waiter) in flight?.waiters ?? [] {
            counters.diskHits.increment()
            waiter.fetch.settle(.success(.init(value: value, source: .disk)))
        }
    }

    /// What a fetcher or a set brought is stored, unless something later changed the key, and goes to those who wait.
    private func deliver(
        _ id: Int, _ value: Value, source: FetchSource, lifetime: Lifetime? = nil, link: PendingLink? = nil
    ) {
        let (flight, pending) = locked { state -> (FlightTable<Value>.Flight?, (any PendingValue)?) in
            guard let flight = state.flights[id] else { return (nil, nil) }
            var pending: (any PendingValue)?
            if state.flights.isCurrent(id) {
                state.flights.supersede(flight.slot.key, before: id)
                pending =
                    store(
                        [(flight.slot.key, value)], lifetime: lifetime, inMemory: flight.wantsMemory, state
                    ).first ?? nil
                link?.connect(pending)
            }
            return (state.flights.end(id), pending)
        }
        guard let flight else { return }
        countMisses(of: flight)
        for (_, waiter) in flight.waiters {
            waiter.fetch.settle(.success(.init(value: value, source: source)))
        }
        // Encoded here, on many threads, instead of on the queue's one. That there is no form as bytes is for
        // `Setting.value` to tell, and for the queue to count.
        try? pending?.checkStorable()
    }

    private func fail(_ id: Int, _ error: any Error) {
        guard let flight = locked({ $0.flights.end(id) }) else { return }
        let isSilent = isCancellationError(error)
        if !isSilent { countMisses(of: flight) }
        let wantsStale = !isSilent && flight.waiters.contains { $0.waiter.allowsStale }
        let stale = wantsStale ? lookUpStale(flight.slot.key) : nil
        for (_, waiter) in flight.waiters {
            if isSilent {
                waiter.fetch.cancel()
            } else if waiter.allowsStale, let stale {
                waiter.fetch.settle(.success(.init(value: stale, source: .disk, isStale: true)))
            } else {
                waiter.fetch.settle(.failure(error))
            }
        }
    }

    /// One who waited waits no more; the last one takes the flight along.
    private func withdraw(_ waiterID: Int) {
        let (waiter, task) = locked { $0.flights.remove(waiter: waiterID) }
        withExtendedLifetime(waiter) { task?.cancel() }
    }
}
