import HanekeStorage
import Synchronization
import Testing

@Suite("MemoryCache: delegate")
struct MemoryCacheDelegateTests {
    @Test("M-040: each entry that leaves by the cache's decision is reported once, with its reason")
    func reasons() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Int>(countLimit: 2, policy: .lru, clock: clock)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        cache.setValue(10, forKey: 1, cost: 1)
        cache.setValue(20, forKey: 2, cost: 5)
        cache.setValue(30, forKey: 3, cost: 5)
        cache.totalCostLimit = 5
        cache.setValue(40, forKey: 4, cost: 0, lifetime: .seconds(1))
        clock.advance(by: .seconds(1))
        _ = cache[4]
        cache.handlePressure(.critical)
        #expect(log.keys == [1, 2, 4, 3])
        #expect(log.all.map(\.value) == [10, 20, 40, 30])
        #expect(log.reasons == [.countLimit, .costLimit, .expired, .pressure(.critical)])
    }

    @Test("M-040: when asked, removed, replaced and removedAll are reported too")
    func removals() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 10, policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        cache.reportsRemovals = true
        for key in 1...5 { cache[key] = key * 10 }
        cache[1] = 11
        cache[2] = nil
        cache.removeAll { key, _ in key == 3 }
        cache.setValue(0, forKey: 4, cost: 11)
        cache.removeAll()
        #expect(log.keys == [1, 2, 3, 4, 5, 1])
        #expect(log.all.map(\.value) == [10, 20, 30, 40, 50, 11])
        #expect(log.reasons == [.replaced, .removed, .removed, .removed, .removedAll, .removedAll])
    }

    @Test("M-041: by default removing, replacing and emptying are not reported")
    func silence() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 10, policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        for key in 1...5 { cache[key] = key }
        cache[1] = 11
        cache[2] = nil
        cache.removeAll { key, _ in key == 3 }
        cache.setValue(0, forKey: 4, cost: 11)
        cache.removeAll()
        #expect(log.all.isEmpty)
    }

    @Test("M-042: the delegate may use every member of the cache, and is called before the call returns")
    func reentrance() {
        let cache = MemoryCache<Int, Int>(countLimit: 2, policy: .lru)
        let calls = Tally()
        let log = EvictionLog<Int, Int> { cache, line in
            calls.add(1)
            _ = cache[line.key]
            _ = cache.peek(1)
            cache.removeValue(forKey: -1)
            cache.countLimit = 2
            _ = cache.statistics
            cache.removeAll { key, _ in key < 0 }
            cache.handlePressure(.normal)
            cache.name = "used"
            cache.delegate = cache.delegate
        }
        cache.delegate = log
        for key in 1...4 { cache[key] = key }
        #expect(calls.value == 2)
        cache.countLimit = 1
        #expect(calls.value == 3)
        cache.handlePressure(.critical)
        #expect(calls.value == 4)
        #expect(log.keys == [1, 2, 3, 4])
    }

    @Test("M-042: the delegate is called on the thread of the caller")
    func sameThread() async {
        let cache = MemoryCache<Int, Int>(countLimit: 1, policy: .lru)
        let seen = Mutex<[String]>([])
        let log = EvictionLog<Int, Int> { _, _ in seen.withLock { $0.append(Caller.name) } }
        cache.delegate = log
        for name in ["one", "two"] {
            await Caller.$name.withValue(name) {
                await Task {
                    cache[1] = 1
                    cache[2] = 2
                }.value
            }
        }
        #expect(seen.withLock { $0 } == ["one", "two", "two"])
    }

    @Test("M-043: during the call the entry is absent, and a value set for its key stays")
    func settingAgain() {
        let cache = MemoryCache<Int, Int>(countLimit: 2, policy: .lru)
        let log = EvictionLog<Int, Int> { cache, line in
            #expect(!cache.contains(line.key))
            if line.value == 10 { cache[line.key] = 11 }
        }
        cache.delegate = log
        cache[1] = 10
        cache[2] = 20
        cache[3] = 30
        #expect(cache.peek(1) == 11)
        #expect(cache.peek(3) == 30)
        #expect(log.keys == [1, 2])
        #expect(cache.count == 2)
    }

    @Test("M-044: several victims are reported in the order of eviction")
    func order() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 100, policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        for key in 0..<10 { cache.setValue(key, forKey: key, cost: 10) }
        for key in [5, 0, 3] { _ = cache[key] }
        cache.setValue(10, forKey: 10, cost: 90)
        #expect(log.keys == [1, 2, 4, 6, 7, 8, 9, 5, 0])
    }

    @Test("M-044: the delegate is held weakly; when it is gone nothing is called")
    func weakness() {
        let cache = MemoryCache<Int, Int>(countLimit: 1, policy: .lru)
        var log: EvictionLog<Int, Int>? = EvictionLog()
        cache.delegate = log
        cache[1] = 1
        cache[2] = 2
        #expect(log?.keys == [1])
        log = nil
        #expect(cache.delegate == nil)
        cache[3] = 3
        #expect(cache.count == 1)
    }

    @Test("M-064: pressure during a set, from the delegate, reports each entry once")
    func pressureInside() {
        let cache = MemoryCache<Int, Int>(countLimit: 5, policy: .lru)
        let log = EvictionLog<Int, Int> { cache, line in
            if line.reason == .countLimit { cache.handlePressure(.critical) }
        }
        cache.delegate = log
        for key in 0..<6 { cache[key] = key }
        #expect(log.keys == [0, 1, 2, 3, 4, 5])
        #expect(cache.count == 0)
    }
}

/// Says in whose call the code runs.
private enum Caller {
    @TaskLocal static var name = ""
}
