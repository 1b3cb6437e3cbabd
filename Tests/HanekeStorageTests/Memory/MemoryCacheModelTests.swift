import HanekeStorage
import Testing

@Suite("MemoryCache: agrees with its model")
struct MemoryCacheModelTests {
    @Test("M-022 to M-073: random steps do what a plain array does", arguments: UInt64(1)...40)
    func agrees(seed: UInt64) {
        var random = SeededRandom(seed)
        let clock = ManualClock()
        let living = Living()
        let cache = MemoryCache<Int, Tracked>(policy: .lru, clock: clock)
        let log = EvictionLog<Int, Tracked>()
        cache.delegate = log
        cache.reportsRemovals = true
        var model = MemoryCacheModel()
        var born = 0
        let keys = [8, 40, 150][Int(seed % 3)]
        let costs = seed.isMultiple(of: 5) ? [0, 1, .max / 2, .max - 1, .max] : [0, 0, 1, 5, 12, 60]

        for step in 0..<1_500 {
            let key = Int.random(in: 0..<keys, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<40:
                let cost = costs[Int.random(in: 0..<costs.count, using: &random)]
                let lifetime: Duration? =
                    Bool.random(using: &random) ? nil : .seconds(Int.random(in: 0..<30, using: &random))
                born += 1
                let isStored = cache.setValue(Tracked(step, in: living), forKey: key, cost: cost, lifetime: lifetime)
                #expect(isStored == model.set(step, key: key, cost: cost, lifetime: lifetime))
            case 40..<75:
                #expect(cache.value(forKey: key)?.number == model.get(key))
            case 75..<80:
                #expect(cache.removeValue(forKey: key)?.number == model.remove(key))
            case 80..<85:
                #expect(cache.peek(key)?.number == model.peek(key))
                #expect(cache.contains(key) == (model.peek(key) != nil))
            case 85..<91:
                let pause = Duration.seconds(Int.random(in: 0..<8, using: &random))
                clock.advance(by: pause)
                model.now += pause
            case 91, 92:
                model.countLimit = Int.random(in: 0..<(keys / 2), using: &random)
                cache.countLimit = model.countLimit
                model.evict()
            case 93, 94:
                let limit = Bool.random(using: &random) ? Int.random(in: 0..<500, using: &random) : .max
                model.totalCostLimit = limit
                cache.totalCostLimit = limit
                model.evict()
            case 95:
                cache.removeExpired()
                model.removeExpired()
            case 96:
                let level = [MemoryPressureLevel.normal, .warning, .critical][Int.random(in: 0..<3, using: &random)]
                cache.handlePressure(level)
                model.pressure(level)
            case 97:
                let divisor = Int.random(in: 2..<6, using: &random)
                cache.removeAll { key, value in (key + value.number).isMultiple(of: divisor) }
                model.removeAll { key, value in (key + value).isMultiple(of: divisor) }
            case 98 where step.isMultiple(of: 3):
                cache.removeAll()
                model.removeAll()
            default: break
            }
            #expect(cache.count == model.entries.count, "seed \(seed), step \(step)")
            #expect(cache.totalCost == Int(clamping: model.totalCost), "seed \(seed), step \(step)")
        }

        let left = log.all.map { MemoryCacheModel.Leaving(key: $0.key, value: $0.value.number, reason: $0.reason) }
        #expect(left == model.left, "seed \(seed)")
        #expect((0..<keys).allSatisfy { cache.peek($0)?.number == model.peek($0) }, "seed \(seed)")
        let statistics = cache.statistics
        #expect(statistics.hits == model.statistics.hits)
        #expect(statistics.misses == model.statistics.misses)
        #expect(statistics.inserts == model.statistics.inserts)
        #expect(statistics.replacements == model.statistics.replacements)
        #expect(statistics.refused == model.statistics.refused)
        #expect(statistics.removals == model.statistics.removals)
        #expect(statistics.inserts == cache.count + statistics.evictions + statistics.removals)
        #expect(living.count + living.deaths == born)
    }
}
