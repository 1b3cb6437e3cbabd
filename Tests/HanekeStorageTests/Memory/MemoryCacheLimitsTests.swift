import HanekeStorage
import Testing

@Suite("MemoryCache: limits")
struct MemoryCacheLimitsTests {
    @Test("M-020: the count never exceeds its limit")
    func countLimit() {
        let cache = MemoryCache<Int, Int>(countLimit: 3, policy: .lru)
        for key in 0..<10 {
            cache[key] = key
            #expect(cache.count == min(key + 1, 3))
        }
    }

    @Test("M-021: the total cost never exceeds its limit")
    func costLimit() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 100, policy: .lru)
        for key in 0..<50 {
            cache.setValue(key, forKey: key, cost: key * 7 % 60)
            #expect(cache.totalCost <= 100)
            #expect(cache.contains(key))
        }
    }

    @Test("M-022: the least recently used goes first; get and set are use")
    func order() {
        let cache = MemoryCache<String, Int>(countLimit: 3, policy: .lru)
        cache["a"] = 1
        cache["b"] = 2
        cache["c"] = 3
        _ = cache["a"]
        cache["b"] = 20
        cache["d"] = 4
        #expect(!cache.contains("c"))
        cache["e"] = 5
        #expect(!cache.contains("a"))
        cache["f"] = 6
        #expect(!cache.contains("b"))
        #expect(cache.contains("d") && cache.contains("e") && cache.contains("f"))
    }

    @Test("M-023: a total exactly at the limit evicts nothing")
    func exactlyFull() {
        let cache = MemoryCache<String, Int>(countLimit: 2, totalCostLimit: 10, policy: .lru)
        cache.setValue(1, forKey: "a", cost: 4)
        cache.setValue(2, forKey: "b", cost: 6)
        #expect(cache.count == 2)
        #expect(cache.totalCost == 10)
        cache.totalCostLimit = 10
        cache.countLimit = 2
        #expect(cache.count == 2)
    }

    @Test("M-024: a value too costly alone is refused; nothing is evicted, but the key's old value goes")
    func refusing() {
        let cache = MemoryCache<String, Int>(totalCostLimit: 10, policy: .lru)
        cache.setValue(1, forKey: "a", cost: 5)
        cache.setValue(2, forKey: "b", cost: 5)
        #expect(!cache.setValue(3, forKey: "c", cost: 11))
        #expect(cache.count == 2)
        #expect(!cache.setValue(4, forKey: "a", cost: 11))
        #expect(cache["a"] == nil)
        #expect(cache["b"] == 2)
        #expect(cache.totalCost == 5)
        #expect(cache.setValue(5, forKey: "c", cost: 10))
        #expect(cache.statistics.refused == 2)
    }

    @Test("M-025: lowering a limit evicts at once; 0 and less are no limit")
    func lowering() {
        let cache = MemoryCache<Int, Int>(policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        for key in 0..<10 { cache.setValue(key, forKey: key, cost: 10) }
        _ = cache[0]
        cache.countLimit = 7
        #expect(log.keys == [1, 2, 3])
        cache.totalCostLimit = 45
        #expect(log.keys == [1, 2, 3, 4, 5, 6])
        #expect(cache.totalCost == 40)
        cache.countLimit = 0
        cache.totalCostLimit = -5
        #expect(cache.totalCostLimit == 0)
        cache.countLimit = .min
        #expect(cache.countLimit == 0)
        for key in 100..<200 { cache.setValue(key, forKey: key, cost: 1000) }
        #expect(cache.count == 104)
        #expect(MemoryCache<Int, Int>(countLimit: -1, totalCostLimit: -1).countLimit == 0)
    }

    @Test("M-026: entries without cost are not thrown away in vain for the cost, but count")
    func costless() {
        let cache = MemoryCache<String, Int>(totalCostLimit: 10, policy: .lru)
        cache["free 1"] = 0
        cache.setValue(1, forKey: "a", cost: 6)
        cache["free 2"] = 0
        cache.setValue(2, forKey: "b", cost: 6)
        #expect(!cache.contains("a"))
        #expect(cache.contains("free 1") && cache.contains("free 2") && cache.contains("b"))
        for key in 0..<100 { cache["more \(key)"] = key }
        #expect(cache.count == 103)
        cache.countLimit = 2
        #expect(cache.count == 2)
        #expect(cache.contains("more 98") && cache.contains("more 99"))
    }

    @Test("M-026: entries with and without cost share one order when the count must fall")
    func mixedOrder() {
        let cache = MemoryCache<Int, Int>(policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        for key in 0..<10 { cache.setValue(key, forKey: key, cost: key % 3) }
        for key in [3, 7, 4] { _ = cache[key] }
        cache.countLimit = 1
        #expect(log.keys == [0, 1, 2, 5, 6, 8, 9, 3, 7])
    }

    @Test("M-027: costs near Int.max neither trap nor lose the true total")
    func hugeCosts() {
        let cache = MemoryCache<Int, Int>(policy: .lru)
        for key in 0..<5 { cache.setValue(key, forKey: key, cost: .max) }
        cache.setValue(5, forKey: 5, cost: 7)
        #expect(cache.totalCost == .max)
        for key in 0..<4 {
            cache.removeValue(forKey: key)
            #expect(cache.totalCost == .max)
        }
        cache.removeValue(forKey: 4)
        #expect(cache.totalCost == 7)
    }

    @Test("M-027: a limit of Int.max is judged by the true sum")
    func hugeLimits() {
        let cache = MemoryCache<Int, Int>(countLimit: .max, totalCostLimit: .max, policy: .lru)
        cache.setValue(1, forKey: 1, cost: .max - 1)
        cache.setValue(2, forKey: 2, cost: 1)
        #expect(cache.count == 2)
        cache.setValue(3, forKey: 3, cost: 1)
        #expect(!cache.contains(1))
        #expect(cache.totalCost == 2)
        cache.setValue(4, forKey: 4, cost: .max)
        #expect(cache.count == 1)
    }

    @Test("M-028: one set that breaks both limits evicts until both hold, each entry once")
    func bothLimits() {
        let cache = MemoryCache<Int, Int>(countLimit: 4, totalCostLimit: 40, policy: .lru)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        for (key, cost) in [0, 10, 10, 20].enumerated() { cache.setValue(key, forKey: key, cost: cost) }
        cache.setValue(4, forKey: 4, cost: 15)
        #expect(log.keys == [1, 2])
        #expect(cache.count == 3)
        cache[5] = 5
        cache.setValue(6, forKey: 6, cost: 5)
        #expect(log.keys == [1, 2, 0])
        #expect(log.reasons == [.costLimit, .costLimit, .countLimit])
        #expect(cache.totalCost == 40)
    }

    @Test("M-029: the entry just set is never the victim of its own set")
    func ownSet() {
        let cache = MemoryCache<Int, Int>(countLimit: 1, totalCostLimit: 10, policy: .lru)
        for key in 0..<20 {
            #expect(cache.setValue(key, forKey: key, cost: key % 11))
            #expect(cache.peek(key) == key)
        }
        cache.setValue(1, forKey: 19, cost: 10)
        #expect(cache.peek(19) == 1)
    }

    @Test("M-030: the limits are of the whole, and one entry may use all of it")
    func whole() {
        let cache = MemoryCache<Int, Int>(totalCostLimit: 1 << 20, policy: .lru)
        for key in 0..<64 { cache.setValue(key, forKey: key, cost: 1 << 14) }
        #expect(cache.count == 64)
        #expect(cache.setValue(0, forKey: 100, cost: 1 << 20))
        #expect(cache.count == 1)
    }
}
