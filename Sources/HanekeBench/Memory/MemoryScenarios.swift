import HanekeStorage

/// The group `memory`: the questions about the cache in memory, with their goals.
enum MemoryScenarios {
    static func all(_ arguments: Arguments) -> [any Scenario] {
        let keys = 100_000
        let capacity = 8_222
        return [
            MixScenario(
                name: "memory: 90 % get, 10 % set, Zipf 0.99 of \(keys) keys, \(capacity) entries", keys: keys,
                contenders: [1, 2].flatMap { contenders(threads: $0, capacity: capacity, keys: keys) },
                fastest: ("s3fifo, 2 thr.", 9e6),
                goals: [
                    RatioGoal(label: "s3fifo, 2 thr.", over: "NSCache, 2 thr.", least: 30),
                    RatioGoal(label: "s3fifo, 2 thr.", over: "dictionary, 2 thr.", least: 3),
                    RatioGoal(label: "s3fifo", over: "dictionary", least: 1),
                ]),
            ReferenceMissesScenario(
                name: "memory: misses against the reference",
                cases: arguments.quick
                    ? ReferenceMissesScenario.all.filter { $0.trace == .zipf099 } : ReferenceMissesScenario.all),
            FootprintScenario(
                name: "memory: bytes per entry", entries: arguments.quick ? 10_000 : 100_000, mostBytes: 100),
        ]
    }

    private static func contenders(threads: Int, capacity: Int, keys: Int) -> [MemoryContender] {
        [
            MemoryContender("s3fifo", threads: threads, MemoryCache<Int, Int>(countLimit: capacity)),
            MemoryContender("lru", threads: threads, MemoryCache<Int, Int>(countLimit: capacity, policy: .lru)),
            MemoryContender("dictionary", threads: threads, DictionaryRival(countLimit: capacity)),
            MemoryContender("NSCache", threads: threads, FoundationRival(countLimit: capacity, keys: keys)),
        ]
    }
}
