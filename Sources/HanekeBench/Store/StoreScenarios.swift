import CBench

/// The group `store`: the questions about the disk store, with their goals.
enum StoreScenarios {
    static func all(_ arguments: Arguments) -> [any Scenario] {
        let quick = arguments.quick
        let entries = quick ? 20_000 : 200_000
        return reading(entries, quick) + writing(entries) + files(quick ? 2000 : 20_000)
            + churn(quick ? 16 << 20 : 128 << 20) + keeping(quick)
    }

    private static var rivals: [Rival] { Rival.all }
    /// Those with a store of their own: ways of reading Haneke's are no rivals in writing.
    private static var stores: [Rival] { rivals.filter { $0.storeName == $0.name } }

    /// Those that can keep hundreds of thousands of values: making and removing so many files takes minutes.
    private static var databases: [Rival] { stores.filter { $0.name != "files" } }

    private static func reading(_ entries: Int, _ quick: Bool) -> [any Scenario] {
        let alone = rivals.map { Contender(label: $0.name, rival: $0) }
        let large = quick ? 400 : 1000
        let together = databases.flatMap { rival in
            [1, 2].map { Contender(label: "\(rival.name), \($0) thr.", rival: rival, threads: $0) }
        }
        return [
            ThroughputScenario(
                name: "get, warm, \(entries) × 1 KiB, Zipf 0.99, 1 thread", work: .requests(),
                entries: entries,
                valueBytes: 1024, contenders: alone.filter { $0.label != "files" },
                goals: [RatioGoal(label: "haneke", over: "raw LMDB", least: 0.95)]),
            ThroughputScenario(
                name: "get, warm, \(entries) × 1 KiB, Zipf 0.99, 2 threads", work: .requests(),
                entries: entries,
                valueBytes: 1024, baseline: "raw LMDB, 2 thr.", contenders: together,
                goals: [
                    RatioGoal(label: "haneke, 2 thr.", over: "raw LMDB, 2 thr.", least: 0.95),
                    RatioGoal(label: "haneke, 2 thr.", over: "haneke, 1 thr.", least: 1.8),
                ]),
            ThroughputScenario(
                // All alike, and more than the processor's caches hold: with a few hot values it would be luck of their
                // physical pages.
                name: "get, warm, \(large) × 100 KiB, reading all bytes, 1 thread", work: .requests(exponent: 0),
                entries: large, valueBytes: 100 << 10, reading: BENCH_READ_WHOLE, contenders: alone,
                goals: [RatioGoal(label: "haneke", over: "raw LMDB", least: 0.95)]),
        ]
    }

    private static func writing(_ entries: Int) -> [any Scenario] {
        let alone = databases.map { Contender(label: $0.name, rival: $0) }
        func grouped(_ group: Int) -> [Contender] {
            databases.map { Contender(label: "\($0.name), batches", rival: $0, group: group) }
        }
        return [
            // Requests come in groups of 256; "batches" writes the sets of a group together at its end.
            ThroughputScenario(
                name: "90 % get, 10 % set, \(entries) × 1 KiB, Zipf 0.99, 1 thread", work: .requests(setShare: 0.1),
                entries: entries, valueBytes: 1024, contenders: alone + grouped(256),
                goals: [
                    RatioGoal(label: "haneke, batches", over: "raw LMDB", least: 1.5),
                    RatioGoal(label: "haneke", over: "raw LMDB", least: 0.85),
                ]),
            ThroughputScenario(
                name: "fill, \(entries) × 1 KiB, one by one and in batches of 4096", work: .fill, entries: entries,
                valueBytes: 1024, contenders: alone + grouped(4096),
                goals: [
                    RatioGoal(label: "haneke, batches", over: "raw LMDB", least: 2),
                    RatioGoal(label: "haneke", over: "raw LMDB", least: 0.8),
                ]),
        ]
    }

    /// A file a value, as the first Haneke did it.
    private static func files(_ entries: Int) -> [any Scenario] {
        let contenders = stores.filter { ["haneke", "raw LMDB", "files"].contains($0.name) }
            .map { Contender(label: $0.name, rival: $0) }
        return [
            ThroughputScenario(
                name: "get from files, \(entries) × 1 KiB, Zipf 0.99, 1 thread", work: .requests(), entries: entries,
                valueBytes: 1024, contenders: contenders, goals: []),
            ThroughputScenario(
                name: "fill files, \(entries) × 1 KiB, one by one", work: .fill, entries: entries, valueBytes: 1024,
                contenders: contenders, goals: []),
        ]
    }

    private static func churn(_ capacity: Int) -> [any Scenario] {
        let contenders = stores.filter(\.isBounded).map { Contender(label: $0.name, rival: $0) }
        let own = contenders.filter { $0.label == "haneke" || $0.label == "raw LMDB" }
        let mebibytes = capacity >> 20
        return [
            ChurnScenario(
                name: "churn, \(mebibytes) MiB, log-normal 200 B to 1 MiB, ten times the capacity", capacity: capacity,
                sizes: .logNormal, contenders: contenders,
                goals: [
                    RatioGoal(label: "haneke", over: "RocksDB", least: 2),
                    RatioGoal(label: "haneke", over: "SQLite, LRU", least: 6),
                ], longestMilliseconds: 5),
            ChurnScenario(
                name: "churn, \(mebibytes) MiB, small values 100 B to 2 KiB, ten times the capacity",
                capacity: capacity,
                sizes: .uniform(100...2048), contenders: own),
            ChurnScenario(
                name: "churn, \(mebibytes) MiB, images 20 to 200 KiB, ten times the capacity", capacity: capacity,
                sizes: .uniform(20 << 10...200 << 10), contenders: own),
        ]
    }

    private static func keeping(_ quick: Bool) -> [any Scenario] {
        let cases: [HitRatioScenario.Case] = [
            .init(trace: .zipf099, entries: 822, lru: 0.5308, sieve: 0.4342),
            .init(trace: .zipf099, entries: 8222, lru: 0.2989, sieve: 0.2513),
            .init(trace: .zipfAndScan, entries: 4436, lru: 0.6399, sieve: 0.5657),
            .init(trace: .zipfAndScan, entries: 44361, lru: 0.5114, sieve: 0.4812),
            .init(trace: .shift, entries: 958, lru: 0.4071, sieve: 0.3560),
            .init(trace: .shift, entries: 9583, lru: 0.1396, sieve: 0.2544),
        ]
        return [
            OpenScenario(
                name: "open to the first get, closed cleanly, warm",
                counts: quick ? [20_000, 100_000] : [200_000, 1_000_000],
                rivals: databases),
            HitRatioScenario(name: "hit ratio against exact LRU and SIEVE", cases: quick ? [cases[1]] : cases),
            MemoryScenario(
                name: "memory of an open store beside the page cache",
                counts: quick ? [1000, 100_000] : [1000, 200_000, 1_000_000]),
        ]
    }
}
