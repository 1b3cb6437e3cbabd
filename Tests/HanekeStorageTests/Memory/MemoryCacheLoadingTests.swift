import Foundation
@testable import HanekeStorage
import Synchronization
import Testing

@Suite("MemoryCache: making missing values", .timeLimit(.minutes(1)))
struct MemoryCacheLoadingTests {
    @Test("M-071: a value that is there is returned and nothing is made")
    func present() async throws {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        #expect(try await cache.value(forKey: "a") { throw Mishap() } == 1)
        #expect(cache.statistics.hits == 1)
    }

    @Test("M-071: a missing value is made and stored with its cost and lifetime")
    func made() async throws {
        let clock = ManualClock()
        let cache = MemoryCache<String, Int>(clock: clock)
        let made = try await cache.value(forKey: "a", cost: 7, lifetime: .seconds(1)) {
            clock.advance(by: .seconds(5))
            return 1
        }
        #expect(made == 1)
        #expect(cache.totalCost == 7)
        #expect(cache["a"] == 1)
        clock.advance(by: .seconds(1))
        #expect(cache["a"] == nil)
        #expect(try blocking { try cache.blockingValue(forKey: "b", cost: 2) { 3 } } == 3)
        #expect(cache["b"] == 3)
        #expect(cache.state.withLock { $0.flights.isEmpty })
    }

    @Test("M-071: many tasks ask, one closure runs, all get its value")
    func once() async throws {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        let runs = Tally()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...50 {
                group.addTask {
                    try await cache.value(forKey: "a") {
                        runs.add(1)
                        await gate.wait()
                        return number
                    }
                }
            }
            await until { cache.waiters(of: "a") == 49 }
            gate.open()
            var values: Set<Int> = []
            for try await value in group { values.insert(value) }
            #expect(values.count == 1)
            #expect(cache["a"] == values.first)
        }
        #expect(runs.value == 1)
    }

    @Test("M-071: tasks and threads that ask together share one closure")
    func mixed() async throws {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        let runs = Tally()
        async let first = cache.value(forKey: "a") {
            runs.add(1)
            await gate.wait()
            return 42
        }
        await until { cache.waiters(of: "a") == 0 }
        let results = Mutex<[Int]>([])
        for _ in 0..<3 {
            Thread.detachNewThread {
                let value = try? cache.blockingValue(forKey: "a") {
                    runs.add(1)
                    return 0
                }
                results.withLock { $0.append(value ?? -1) }
            }
        }
        async let second = cache.value(forKey: "a") { 1 }
        await until { cache.waiters(of: "a") == 4 }
        gate.open()
        #expect(try await first == 42)
        #expect(try await second == 42)
        await until { results.withLock { $0.count } == 3 }
        #expect(results.withLock { $0 } == [42, 42, 42])
        #expect(runs.value == 1)
    }

    @Test("M-071: an error reaches all who wait, nothing is stored, and the next one tries again")
    func failing() async throws {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        let runs = Tally()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        _ = try await cache.value(forKey: "a") {
                            runs.add(1)
                            await gate.wait()
                            throw Mishap()
                        }
                        return false
                    } catch { return error is Mishap }
                }
            }
            await until { cache.waiters(of: "a") == 19 }
            gate.open()
            for await failed in group { #expect(failed) }
        }
        #expect(runs.value == 1)
        #expect(cache.count == 0)
        #expect(try await cache.value(forKey: "a") { 5 } == 5)
        #expect(throws: Mishap.self) { try blocking { try cache.blockingValue(forKey: "b") { throw Mishap() } } }
        #expect(cache.state.withLock { $0.flights.isEmpty })
    }

    @Test("M-071: different keys don't wait for each other")
    func independent() async throws {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        async let slow = cache.value(forKey: "slow") {
            await gate.wait()
            return 1
        }
        await until { cache.waiters(of: "slow") == 0 }
        #expect(try await cache.value(forKey: "quick") { 2 } == 2)
        gate.open()
        #expect(try await slow == 1)
    }

    @Test("M-071: a waiting task that is cancelled stops waiting; the others get the value")
    func cancelledWaiter() async throws {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        async let maker = cache.value(forKey: "a") {
            await gate.wait()
            return 1
        }
        await until { cache.waiters(of: "a") == 0 }
        let waiter = Task { try await cache.value(forKey: "a") { 2 } }
        await until { cache.waiters(of: "a") == 1 }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await cache.value(forKey: "a") { 3 }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        gate.open()
        #expect(try await maker == 1)
    }

    @Test("M-071: when the maker is cancelled, one of those who wait makes the value")
    func cancelledMaker() async throws {
        let cache = MemoryCache<String, Int>()
        let gate = Gate()
        let maker = Task {
            try await cache.value(forKey: "a") {
                await gate.wait()
                try Task.checkCancellation()
                return 1
            }
        }
        await until { cache.waiters(of: "a") == 0 }
        let runs = Tally()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await cache.value(forKey: "a") {
                        runs.add(1)
                        return 2
                    }
                }
            }
            await until { cache.waiters(of: "a") == 5 }
            maker.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await maker.value }
            for try await value in group { #expect(value == 2) }
        }
        #expect(runs.value == 1)
    }

    @Test("M-071: a value set or removed meanwhile is newer: the made one is returned, not stored")
    func overtaken() async throws {
        let cache = MemoryCache<String, Int>()
        let changes: [@Sendable () -> Void] = [
            { cache["a"] = 9 }, { cache["a"] = nil }, { cache.removeAll() },
        ]
        for (change, left) in zip(changes, [9, nil, nil]) {
            cache.removeAll()
            let made = try await cache.value(forKey: "a") {
                change()
                return 1
            }
            #expect(made == 1)
            #expect(cache["a"] == left)
        }
    }

    @Test("M-071: a value that costs too much is returned but not stored")
    func tooCostly() async throws {
        let cache = MemoryCache<String, Int>(totalCostLimit: 10)
        #expect(try await cache.value(forKey: "a", cost: 11) { 1 } == 1)
        #expect(cache.count == 0)
        #expect(cache.statistics.refused == 1)
    }

    @Test("M-071: a key that changes its hash while its value is made leaves no flight behind")
    func changingKey() async throws {
        let cache = MemoryCache<ChangeableKey, Int>()
        let key = ChangeableKey(1)
        _ = try await cache.value(forKey: key) {
            key.change(to: 2)
            return 1
        }
        #expect(cache.state.withLock { $0.flights.isEmpty })
        #expect(try await cache.value(forKey: ChangeableKey(1)) { 3 } == 3)
    }

    @Test("M-071: an actor's closure runs on the actor, and needn't be sendable")
    func isolation() async throws {
        let owner = Owner()
        #expect(try await owner.load() == 1)
        #expect(await owner.made == 1)
    }

    /// Calls the form that blocks, which asynchronous code can't name.
    private func blocking<Result>(_ call: () throws -> Result) rethrows -> Result { try call() }
}

private actor Owner {
    private let cache = MemoryCache<String, Int>()
    private(set) var made = 0

    func load() async throws -> Int {
        try await cache.value(forKey: "a") {
            await Task.yield()
            made += 1
            return made
        }
    }
}

extension MemoryCache {
    /// How many wait for the value of the key; nil if nobody makes it.
    fileprivate func waiters(of key: Key) -> Int? {
        let name = FlightKey(key: key, hash: key.hashValue)
        let flight = state.withLock { $0.flights[name] }
        return flight?.progress.withLock { $0.waiters.count }
    }
}

/// Lets nobody through until it is opened.
private final class Gate: Sendable {
    private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock {
                if !$0.isOpen { $0.waiting.append(continuation) }
                return $0.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// Comes back when the condition holds; the suite's time limit is the safety net.
private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}
