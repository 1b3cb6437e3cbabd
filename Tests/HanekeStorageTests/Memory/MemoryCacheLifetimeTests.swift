import HanekeStorage
import Testing

@Suite("MemoryCache: lifetimes, pressure, statistics")
struct MemoryCacheLifetimeTests {
    @Test("M-060: an entry is there until its lifetime is over, and then dropped by the read")
    func expiring() {
        let clock = ManualClock()
        let cache = MemoryCache<String, Int>(policy: .lru, clock: clock)
        let log = EvictionLog<String, Int>()
        cache.delegate = log
        cache.setValue(1, forKey: "a", cost: 5, lifetime: .milliseconds(100))
        cache.setValue(2, forKey: "b", cost: 5)
        clock.advance(by: .milliseconds(99))
        #expect(cache["a"] == 1)
        clock.advance(by: .milliseconds(1))
        #expect(!cache.contains("a"))
        #expect(cache.peek("a") == nil)
        #expect(cache.count == 2)
        #expect(cache["a"] == nil)
        #expect(cache.count == 1)
        #expect(cache.totalCost == 5)
        #expect(log.keys == ["a"])
        #expect(log.reasons == [.expired])
        clock.advance(by: .seconds(1 << 30))
        #expect(cache["b"] == 2)
    }

    @Test("M-060: setting again gives a new lifetime, or none")
    func renewing() {
        let clock = ManualClock()
        let cache = MemoryCache<String, Int>(policy: .lru, clock: clock)
        cache.setValue(1, forKey: "a", lifetime: .seconds(1))
        cache.setValue(1, forKey: "b", lifetime: .seconds(1))
        clock.advance(by: .milliseconds(900))
        cache.setValue(2, forKey: "a", lifetime: .seconds(1))
        cache["b"] = 2
        clock.advance(by: .milliseconds(900))
        #expect(cache["a"] == 2)
        clock.advance(by: .milliseconds(100))
        #expect(cache["a"] == nil)
        #expect(cache["b"] == 2)
    }

    @Test("M-060: to remove or set an expired entry is to find none: it leaves as expired")
    func absentOnceExpired() {
        let clock = ManualClock()
        let cache = MemoryCache<String, Int>(policy: .lru, clock: clock)
        let log = EvictionLog<String, Int>()
        cache.delegate = log
        cache.reportsRemovals = true
        cache.setValue(1, forKey: "a", lifetime: .seconds(1))
        cache.setValue(2, forKey: "b", lifetime: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(cache.removeValue(forKey: "a") == nil)
        cache["b"] = 3
        #expect(log.reasons == [.expired, .expired])
        #expect(cache.statistics.inserts == 3)
        #expect(cache.statistics.replacements == 0)
    }

    @Test(
        "M-060: a lifetime of zero or less is over at once, an endless one never",
        arguments: [Duration.zero, .seconds(-5), .seconds(Int64.min)])
    func extremes(lifetime: Duration) {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(policy: .lru, clock: clock)
        #expect(cache.setValue(1, forKey: 1, lifetime: lifetime))
        #expect(cache[1] == nil)
        cache.setValue(2, forKey: 2, lifetime: .seconds(Int64.max) * 18)
        clock.advance(by: .seconds(Int64.max / 2))
        #expect(cache[2] == 2)
    }

    @Test("M-060: the machine's clock goes forward")
    func systemClock() {
        let clock = SystemMemoryCacheClock()
        let first = clock.now
        #expect(SystemMemoryCacheClock().now >= first)
        let cache = MemoryCache<Int, Int>(policy: .lru)
        cache.setValue(1, forKey: 1, lifetime: .seconds(3600))
        cache.setValue(2, forKey: 2, lifetime: .zero)
        #expect(cache[1] == 1)
        #expect(cache[2] == nil)
    }

    @Test("M-061: when room is needed the expired leave first, earliest end first")
    func expiredFirst() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(countLimit: 4, policy: .lru, clock: clock)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        cache[0] = 0
        cache.setValue(1, forKey: 1, lifetime: .seconds(3))
        cache.setValue(2, forKey: 2, lifetime: .seconds(2))
        cache.setValue(3, forKey: 3, lifetime: .seconds(9))
        clock.advance(by: .seconds(5))
        cache[4] = 4
        #expect(log.keys == [2])
        cache[5] = 5
        #expect(log.keys == [2, 1])
        cache[6] = 6
        #expect(log.keys == [2, 1, 0])
        #expect(log.reasons == [.expired, .expired, .countLimit])
    }

    @Test("M-061: the expired leave first when the cost must fall and when a limit is lowered")
    func expiredFirstByCost() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(totalCostLimit: 30, policy: .lru, clock: clock)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        cache.setValue(0, forKey: 0, cost: 10)
        cache.setValue(1, forKey: 1, cost: 10)
        cache.setValue(2, forKey: 2, cost: 10, lifetime: .seconds(1))
        clock.advance(by: .seconds(1))
        cache.totalCostLimit = 20
        #expect(log.keys == [2])
        cache.totalCostLimit = 15
        #expect(log.keys == [2, 0])
    }

    @Test("M-060: removeExpired drops the expired, and nothing else")
    func removingExpired() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(policy: .lru, clock: clock)
        for key in 0..<100 { cache.setValue(key, forKey: key, lifetime: .seconds(key * 37 % 100)) }
        cache[100] = 100
        clock.advance(by: .seconds(49))
        cache.removeExpired()
        #expect(cache.count == 51)
        #expect(cache.statistics.expired == 50)
        #expect((0..<100).allSatisfy { cache.contains($0) == ($0 * 37 % 100 > 49) })
    }

    @Test("M-062: normal pressure does nothing")
    func normal() {
        let cache = MemoryCache<Int, Int>(policy: .lru)
        for key in 0..<10 { cache.setValue(key, forKey: key, cost: 1) }
        cache.handlePressure(.normal)
        #expect(cache.count == 10)
    }

    @Test("M-062: a warning keeps at most half of the cost, the coldest leave first")
    func warningByCost() {
        let cache = MemoryCache<Int, Int>(policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        for key in 0..<5 { cache.setValue(key, forKey: key, cost: key) }  // 10 in all; 0 costs nothing
        _ = cache[1]
        cache.handlePressure(.warning)
        #expect(log.keys == [2, 3])
        #expect(log.reasons == [.pressure(.warning), .pressure(.warning)])
        #expect(cache.totalCost == 5)
        cache.handlePressure(.warning)
        #expect(cache.totalCost == 1)
        #expect(cache.contains(0))
    }

    @Test("M-062: without costs a warning keeps at most half of the entries")
    func warningByCount() {
        let cache = MemoryCache<Int, Int>(policy: .lru)
        for key in 0..<5 { cache[key] = key }
        _ = cache[0]
        cache.handlePressure(.warning)
        #expect((0..<5).filter { cache.contains($0) } == [0, 4])
        cache.handlePressure(.warning)
        cache.handlePressure(.warning)
        cache.handlePressure(.warning)
        #expect(cache.count == 0)
    }

    @Test("M-062: critical pressure keeps nothing; the expired leave first in every case")
    func critical() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(policy: .lru, clock: clock)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        cache[0] = 0
        cache.setValue(1, forKey: 1, cost: 5)
        cache.setValue(2, forKey: 2, lifetime: .seconds(1))
        clock.advance(by: .seconds(1))
        cache.handlePressure(.critical)
        #expect(log.keys == [2, 0, 1])
        #expect(log.reasons == [.expired, .pressure(.critical), .pressure(.critical)])
        #expect(cache.count == 0)
        cache[3] = 3
        #expect(cache[3] == 3)
    }

    @Test("M-073: statistics count what happened, and their sums agree")
    func statistics() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(countLimit: 4, totalCostLimit: 100, policy: .lru, clock: clock)
        for key in 0..<6 { cache.setValue(key, forKey: key, cost: 20) }  // two by count
        cache.setValue(5, forKey: 5, cost: 90)  // replaces, three by cost
        cache.setValue(6, forKey: 6, cost: 200)  // refused
        cache.setValue(7, forKey: 7, lifetime: .seconds(1))
        _ = cache[5]
        _ = cache[99]
        clock.advance(by: .seconds(2))
        _ = cache[7]
        cache[8] = 8
        cache[8] = nil
        cache[9] = 9
        cache.handlePressure(.warning)
        cache.removeAll()
        let statistics = cache.statistics
        #expect(statistics.hits == 1)
        #expect(statistics.misses == 2)
        #expect(statistics.inserts == 9)
        #expect(statistics.replacements == 1)
        #expect(statistics.refused == 1)
        #expect(statistics.evictedByCountLimit == 2)
        #expect(statistics.evictedByCostLimit == 3)
        #expect(statistics.evictedByPressure == 1)
        #expect(statistics.expired == 1)
        #expect(statistics.discarded == 0)
        #expect(statistics.removals == 2)
        #expect(statistics.evictions == 7)
        #expect(statistics.inserts == cache.count + statistics.evictions + statistics.removals)
    }
}
