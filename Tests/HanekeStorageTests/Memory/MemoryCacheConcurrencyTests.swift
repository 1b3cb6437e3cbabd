import HanekeStorage
import Testing

@Suite("MemoryCache: threads", .timeLimit(.minutes(2)))
struct MemoryCacheConcurrencyTests {
    @Test(
        "M-070: from many threads no limit is ever exceeded and every value is released once",
        arguments: [UInt64(7), 8])
    func stress(seed: UInt64) async {
        let living = Living()
        let clock = ManualClock()
        let reported = Reported()
        do {
            let cache = MemoryCache<Int, Tracked>(countLimit: 100, totalCostLimit: 1_000, clock: clock)
            cache.delegate = reported
            cache.reportsRemovals = true
            let running = Tally(4)
            let born = Tally()
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        work(on: cache, seed: seed &* 31 &+ UInt64(worker), clock: clock, living: living, born: born)
                        running.add(-1)
                    }
                }
                group.addTask {
                    while running.value > 0 {
                        let (count, cost) = (cache.count, cache.totalCost)
                        if count > 100 || cost > 1_000 {
                            Issue.record("\(count) entries of cost \(cost), seed \(seed)")
                        }
                        await Task.yield()
                    }
                }
            }
            let statistics = cache.statistics
            #expect(statistics.inserts == cache.count + statistics.evictions + statistics.removals)
            #expect(statistics.inserts + statistics.replacements + statistics.refused == born.value)
            #expect(reported.count == statistics.evictions + statistics.removals + statistics.replacements)
            cache.removeAll()
            #expect(cache.totalCost == 0)
            #expect(living.deaths == born.value)
        }
        #expect(living.count == 0)
    }

    @Test("M-064: pressure from one thread while others set reports each entry once")
    func pressure() async {
        let cache = MemoryCache<Int, Int>(countLimit: 50)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<2 {
                group.addTask { for step in 0..<3_000 { cache[worker * 10_000 + step] = step } }
            }
            group.addTask {
                for step in 0..<500 {
                    cache.handlePressure(step.isMultiple(of: 2) ? .warning : .critical)
                    await Task.yield()
                }
            }
        }
        cache.handlePressure(.critical)
        #expect(log.keys.count == 6_000)
        #expect(Set(log.keys).count == 6_000)
    }

    @Test("M-071: one closure runs at a time for a key, while others set, remove and evict")
    func flights() async throws {
        let cache = MemoryCache<Int, Int>(countLimit: 4)
        let making = (0..<8).map { _ in Tally() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    var random = SeededRandom(UInt64(worker))
                    for _ in 0..<2_000 {
                        let key = Int.random(in: 0..<8, using: &random)
                        let value = try await cache.value(forKey: key) {
                            #expect(making[key].add(1) == 1)
                            await Task.yield()
                            making[key].add(-1)
                            return key
                        }
                        #expect(value == key)
                    }
                }
            }
            group.addTask {
                for step in 0..<500 {
                    cache.countLimit = 1 + step % 4
                    await Task.yield()
                }
            }
            try await group.waitForAll()
        }
        #expect(cache.count <= 4)
    }
}

private func work(
    on cache: MemoryCache<Int, Tracked>, seed: UInt64, clock: ManualClock, living: Living, born: Tally
) {
    var random = SeededRandom(seed)
    for step in 0..<5_000 {
        let key = Int.random(in: 0..<300, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45:
            born.add(1)
            let lifetime: Duration? = step.isMultiple(of: 4) ? .milliseconds(50) : nil
            let cost = Int.random(in: 0..<60, using: &random) * (step.isMultiple(of: 50) ? 30 : 1)
            cache.setValue(Tracked(key, in: living), forKey: key, cost: cost, lifetime: lifetime)
        case 45..<85:
            if let value = cache[key], value.number != key { Issue.record("key \(key) gave \(value.number)") }
        case 85..<92: cache.removeValue(forKey: key)
        case 92..<95: clock.advance(by: .milliseconds(1))
        case 95: cache.handlePressure(.warning)
        case 96: cache.removeAll { key, _ in key.isMultiple(of: 7) }
        case 97: cache.countLimit = Int.random(in: 1...100, using: &random)
        case 98: cache.totalCostLimit = Int.random(in: 1...1_000, using: &random)
        default: if step.isMultiple(of: 10) { cache.removeAll() }
        }
    }
}

/// Counts reports and keeps nothing alive.
private final class Reported: MemoryCacheDelegate {
    private let calls = Tally()
    var count: Int { calls.value }

    func cache(
        _ cache: MemoryCache<Int, Tracked>, willEvict value: Tracked, forKey key: Int, reason: MemoryCacheRemovalReason
    ) {
        calls.add(1)
    }
}
