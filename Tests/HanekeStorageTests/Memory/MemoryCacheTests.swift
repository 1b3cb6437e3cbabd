import HanekeStorage
import Synchronization
import Testing

@Suite("MemoryCache: basics")
struct MemoryCacheTests {
    @Test("M-001: a new cache is empty, unlimited, unnamed and drops discarded content")
    func fresh() {
        let cache = MemoryCache<String, Int>()
        #expect(cache.name == "")
        #expect(cache.countLimit == 0)
        #expect(cache.totalCostLimit == 0)
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.delegate == nil)
        #expect(cache.evictsObjectsWithDiscardedContent)
        #expect(!cache.reportsRemovals)
        #expect(cache.statistics == MemoryCacheStatistics())
    }

    @Test("M-002: a value is readable at once, also from other threads, and costs nothing by default")
    func readable() async {
        let cache = MemoryCache<String, Int>()
        #expect(cache.setValue(1, forKey: "a"))
        #expect(cache.value(forKey: "a") == 1)
        #expect(await Task.detached { cache.value(forKey: "a") }.value == 1)
        #expect(cache.totalCost == 0)
    }

    @Test("M-003: costs add up, a negative one counts as 0")
    func costs() {
        let cache = MemoryCache<String, Int>()
        cache.setValue(1, forKey: "a", cost: 3)
        cache.setValue(2, forKey: "b", cost: 4)
        cache.setValue(3, forKey: "c", cost: -5)
        cache.setValue(4, forKey: "d", cost: .min)
        #expect(cache.totalCost == 7)
        #expect(cache.count == 4)
    }

    @Test("M-004: the same key again replaces value and cost and makes the entry the most recently used")
    func replacing() {
        let cache = MemoryCache<String, Int>()
        cache.setValue(1, forKey: "a", cost: 3)
        cache.setValue(2, forKey: "b", cost: 3)
        cache.setValue(3, forKey: "a", cost: 10)
        #expect(cache.count == 2)
        #expect(cache.totalCost == 13)
        cache.countLimit = 1
        #expect(cache.peek("a") == 3)
        #expect(cache.peek("b") == nil)
    }

    @Test("M-005: an absent key gives nil, and removing it does nothing")
    func absent() {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        #expect(cache.value(forKey: "b") == nil)
        #expect(cache["b"] == nil)
        #expect(cache.removeValue(forKey: "b") == nil)
        #expect(cache.count == 1)
    }

    @Test("M-006: removing gives the value and takes its cost off")
    func removing() {
        let cache = MemoryCache<String, Int>()
        cache.setValue(1, forKey: "a", cost: 3)
        cache.setValue(2, forKey: "b", cost: 4)
        #expect(cache.removeValue(forKey: "a") == 1)
        #expect(cache.count == 1)
        #expect(cache.totalCost == 4)
        #expect(cache.value(forKey: "a") == nil)
    }

    @Test("M-007: removeAll keeps limits, name and delegate, and the cache is usable at once")
    func removingAll() {
        let cache = MemoryCache<String, Int>(name: "n", countLimit: 5, totalCostLimit: 50)
        let log = EvictionLog<String, Int>()
        cache.delegate = log
        for (index, key) in ["a", "b", "c"].enumerated() { cache.setValue(index, forKey: key, cost: 10) }
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.name == "n")
        #expect(cache.countLimit == 5)
        #expect(cache.totalCostLimit == 50)
        #expect(cache.delegate === log)
        cache.setValue(9, forKey: "a", cost: 1)
        #expect(cache["a"] == 9)
        #expect(cache.totalCost == 1)
    }

    @Test("M-007: removeAll(where:) removes what the predicate names, and nothing when it throws")
    func removingSome() {
        let cache = MemoryCache<Int, String>()
        for key in 0..<10 { cache.setValue("v", forKey: key, cost: key) }
        cache.removeAll { key, _ in key.isMultiple(of: 2) }
        #expect((0..<10).filter { cache.contains($0) } == [1, 3, 5, 7, 9])
        #expect(cache.totalCost == 25)
        #expect(throws: Mishap.self) {
            try cache.removeAll { key, _ in
                if key == 5 { throw Mishap() }
                return true
            }
        }
        #expect(cache.count == 5)
    }

    @Test("M-007: an entry set while removeAll(where:) asks for its predecessor stays")
    func removingSomeWhileSetting() {
        let cache = MemoryCache<Int, String>()
        cache[1] = "old"
        cache[2] = "old"
        cache.removeAll { key, value in
            if key == 1 { cache[2] = "new" }
            return value == "old"
        }
        #expect(cache[1] == nil)
        #expect(cache[2] == "new")
    }

    @Test("M-008: the subscript gets and sets, and nil removes")
    func subscripting() {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        #expect(cache["a"] == 1)
        cache["a"] = nil
        #expect(cache["a"] == nil)
        #expect(cache.count == 0)
    }

    @Test("M-008: contains and peek are no use")
    func peeking() {
        let cache = MemoryCache<String, Int>()
        cache["a"] = 1
        cache["b"] = 2
        #expect(cache.contains("a"))
        #expect(cache.peek("a") == 1)
        #expect(!cache.contains("x"))
        #expect(cache.peek("x") == nil)
        #expect(cache.statistics.hits == 0)
        #expect(cache.statistics.misses == 0)
        cache.countLimit = 1
        #expect(!cache.contains("a"))
        #expect(cache.contains("b"))
    }

    @Test("M-009: keys are compared by ==, kept as given and not copied")
    func keys() {
        let cache = MemoryCache<ChangeableKey, Int>()
        let first = ChangeableKey(1)
        cache[first] = 1
        #expect(cache[ChangeableKey(1)] == 1)
        #expect(cache[ChangeableKey(2)] == nil)
        cache[ChangeableKey(1)] = 2
        #expect(cache.count == 1)
        var stored: ChangeableKey?
        let second = ChangeableKey(2)
        cache[second] = 3
        cache.removeAll { key, value in
            if value == 3 { stored = key }
            return false
        }
        #expect(stored === second)
    }

    @Test("M-009: keys that change their hash while stored break nothing", arguments: [UInt64(1), 2, 3])
    func changingKeys(seed: UInt64) {
        var random = SeededRandom(seed)
        let cache = MemoryCache<ChangeableKey, Int>(countLimit: 100, totalCostLimit: 1000)
        let keys = (0..<300).map { ChangeableKey($0) }
        for step in 0..<5_000 {
            let key = keys[Int.random(in: 0..<300, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: cache.setValue(step, forKey: key, cost: Int.random(in: 0..<50, using: &random))
            case 5, 6: _ = cache[key]
            case 7: cache.removeValue(forKey: key)
            default: key.change(to: Int.random(in: 0..<300, using: &random))
            }
            #expect(cache.count <= 100)
            #expect(cache.totalCost <= 1000)
        }
        cache.countLimit = 1
        #expect(cache.count == 1)
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
    }

    @Test("M-010: values live until they leave, and are released exactly once")
    func releasing() {
        let living = Living()
        let cache = MemoryCache<Int, Tracked>(countLimit: 3)
        for key in 0..<3 { cache[key] = Tracked(key, in: living) }
        #expect(living.count == 3)
        cache[3] = Tracked(3, in: living)
        #expect(living.count == 3)
        cache[3] = Tracked(4, in: living)
        #expect(living.count == 3)
        cache.removeValue(forKey: 3)
        #expect(living.count == 2)
        cache.removeAll()
        #expect(living.count == 0)
        #expect(living.deaths == 5)
    }

    @Test("M-010: a cache that goes releases its values")
    func goingAway() {
        let living = Living()
        var cache: MemoryCache<Int, Tracked>? = MemoryCache()
        cache?[1] = Tracked(1, in: living)
        cache?[2] = Tracked(2, in: living)
        #expect(living.count == 2)
        cache = nil
        #expect(living.count == 0)
    }

    @Test("M-010: a value may use the cache while it is released")
    func releasingOutsideTheLock() {
        let cache = MemoryCache<Int, Farewell>(countLimit: 1)
        let seen = Mutex<[Int]>([])
        func farewell() -> Farewell {
            Farewell { [weak cache] in
                guard let cache else { return }
                seen.withLock { $0.append(cache.count) }
            }
        }
        cache[1] = farewell()
        cache[2] = farewell()  // evicts
        cache[2] = farewell()  // replaces
        cache.removeValue(forKey: 2)
        cache[3] = farewell()
        cache.handlePressure(.critical)
        cache[4] = farewell()
        cache.removeAll()
        #expect(seen.withLock { $0 } == [1, 1, 0, 0, 0])
    }

    @Test("M-011: the name is free text without effect")
    func naming() {
        let cache = MemoryCache<String, Int>(name: "first")
        cache["a"] = 1
        #expect(cache.name == "first")
        cache.name = "zweiter\n🌳"
        #expect(cache.name == "zweiter\n🌳")
        #expect(cache["a"] == 1)
    }

    @Test("M-012: caches share nothing, not even under one name")
    func apart() {
        let one = MemoryCache<String, Int>(name: "n")
        let other = MemoryCache<String, Int>(name: "n")
        one["a"] = 1
        #expect(other["a"] == nil)
        other["a"] = 2
        one.removeAll()
        #expect(other["a"] == 2)
    }

    @Test("M-005: a value that is itself optional keeps its nil")
    func optionals() {
        let cache = MemoryCache<String, Int?>()
        cache.setValue(nil, forKey: "a")
        #expect(cache.contains("a"))
        #expect(cache.value(forKey: "a") == .some(nil))
        #expect(cache.value(forKey: "b") == nil)
    }
}
