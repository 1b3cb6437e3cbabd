import HanekeStorage
import Testing

@Suite("MemoryCache: S3-FIFO keeps the rules that speak of no order")
struct MemoryCacheS3ModelTests {
    @Test(
        "M-020 to M-029: random steps keep limits, values, costs and accounts by S3-FIFO", arguments: UInt64(1)...20)
    func agrees(seed: UInt64) {
        var random = SeededRandom(seed)
        let cache = MemoryCache<Int, Int>(countLimit: 80, totalCostLimit: 900)
        let log = EvictionLog<Int, Int>()
        cache.delegate = log
        cache.reportsRemovals = true
        var held: [Int: (value: Int, cost: Int)] = [:]
        var heard = 0
        for step in 0..<4_000 {
            let key = Int.random(in: 0..<300, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let cost = Int.random(in: 0..<40, using: &random) * (step.isMultiple(of: 60) ? 30 : 1)
                let isStored = cache.setValue(step, forKey: key, cost: cost)
                #expect(isStored == (cache.totalCostLimit == 0 || cost <= cache.totalCostLimit))
                forget(log.all.dropFirst(heard), from: &held, seed: seed)
                if isStored { held[key] = (step, cost) }
            case 45..<90: #expect(cache[key] == held[key]?.value)
            case 90..<95: #expect(cache.removeValue(forKey: key) == held[key]?.value)
            case 95: cache.countLimit = Int.random(in: 0...120, using: &random)
            case 96: cache.totalCostLimit = Int.random(in: 0...1_200, using: &random)
            case 97: cache.handlePressure(.warning)
            default: if step.isMultiple(of: 40) { cache.handlePressure(.critical) }
            }
            forget(log.all.dropFirst(heard), from: &held, seed: seed)
            heard = log.all.count
            #expect(cache.count == held.count, "seed \(seed), step \(step)")
            #expect(cache.totalCost == held.values.reduce(0) { $0 + $1.cost }, "seed \(seed), step \(step)")
            #expect(cache.countLimit == 0 || cache.count <= cache.countLimit, "seed \(seed), step \(step)")
            #expect(cache.totalCostLimit == 0 || cache.totalCost <= cache.totalCostLimit, "seed \(seed), step \(step)")
        }
        #expect(held.allSatisfy { cache.peek($0.key) == $0.value.value }, "seed \(seed)")
    }

    /// What the delegate heard of leaves the account, if it is what stands there: each entry once.
    private func forget(
        _ lines: ArraySlice<EvictionLog<Int, Int>.Line>, from held: inout [Int: (value: Int, cost: Int)], seed: UInt64
    ) {
        for line in lines where held[line.key]?.value == line.value { held[line.key] = nil }
    }
}
