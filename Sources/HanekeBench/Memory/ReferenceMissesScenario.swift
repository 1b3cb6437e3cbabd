import HanekeStorage

/// Whether the misses of the policies are those of the reference, on traces for which they are known.
struct ReferenceMissesScenario: Scenario {
    struct Case {
        let trace: Trace
        var isBytes = false
        let capacity: Int
        /// Miss ratios of the reference.
        let lru: Double
        let s3fifo: Double

        var label: String { "\(trace.rawValue), \(capacity) \(isBytes ? "bytes" : "entries")" }
    }

    let name: String
    let cases: [Case]

    private static let tolerances: [(MemoryCacheEvictionPolicy, String, Double)] = [
        (.lru, "LRU", 0.0001), (.s3fifo, "S3-FIFO", 0.01),
    ]

    func run(_ bench: Bench) throws -> Outcome {
        var outcome = Outcome(scenario: name)
        for one in cases {
            let keys = one.trace.keys()
            var measures: [Measure] = []
            for (policy, title, tolerance) in Self.tolerances {
                let known = policy == .lru ? one.lru : one.s3fifo
                let ratio = Self.missRatio(policy, of: one, keys)
                let distance = abs(ratio - known)
                measures += [Measure(title, ratio), Measure("reference \(title)", known)]
                outcome.verdicts.append(
                    Verdict(
                        "\(one.label): within \(tolerance) of \(title)", measured: distance,
                        // Half a unit of the table's last place: its figures are rounded.
                        met: distance <= tolerance + 0.00005))
            }
            outcome.rows.append(Row(label: one.label, measures: measures))
        }
        return outcome
    }

    private static func missRatio(_ policy: MemoryCacheEvictionPolicy, of one: Case, _ keys: [UInt32]) -> Double {
        let cache = MemoryCache<UInt32, UInt32>(
            countLimit: one.isBytes ? 0 : one.capacity, totalCostLimit: one.isBytes ? one.capacity : 0, policy: policy)
        var misses = 0
        for key in keys where cache.value(forKey: key) == nil {
            misses += 1
            cache.setValue(key, forKey: key, cost: one.isBytes ? Trace.size(of: key) : 0)
        }
        return Double(misses) / Double(keys.count)
    }

    static let all: [Case] = [
        Case(trace: .zipf08, capacity: 966, lru: 0.7995, s3fifo: 0.6882),
        Case(trace: .zipf08, capacity: 9_667, lru: 0.5395, s3fifo: 0.4599),
        Case(trace: .zipf099, capacity: 82, lru: 0.7432, s3fifo: 0.6192),
        Case(trace: .zipf099, capacity: 822, lru: 0.5308, s3fifo: 0.4334),
        Case(trace: .zipf099, capacity: 8_222, lru: 0.2989, s3fifo: 0.2484),
        Case(trace: .zipf099, isBytes: true, capacity: 3_619_735, lru: 0.5266, s3fifo: 0.4293),
        Case(trace: .zipf099, isBytes: true, capacity: 36_197_358, lru: 0.2997, s3fifo: 0.2503),
        Case(trace: .zipf12, capacity: 4_651, lru: 0.1188, s3fifo: 0.0974),
        Case(trace: .zipfAndScan, capacity: 4_436, lru: 0.6399, s3fifo: 0.5578),
        Case(trace: .zipfAndScan, capacity: 44_361, lru: 0.5114, s3fifo: 0.4848),
        Case(trace: .zipfAndScan, isBytes: true, capacity: 192_109_889, lru: 0.5115, s3fifo: 0.4848),
        Case(trace: .zipfAndOneHits, capacity: 3_444, lru: 0.5822, s3fifo: 0.4928),
        Case(trace: .zipfAndOneHits, capacity: 34_449, lru: 0.4266, s3fifo: 0.3924),
        Case(trace: .loop, capacity: 1_100, lru: 1, s3fifo: 1),
        Case(trace: .loop, capacity: 10_000, lru: 1, s3fifo: 0.1854),
        Case(trace: .shift, capacity: 958, lru: 0.4071, s3fifo: 0.3429),
        Case(trace: .shift, capacity: 9_583, lru: 0.1396, s3fifo: 0.1756),
        Case(trace: .shift, isBytes: true, capacity: 42_530_051, lru: 0.1399, s3fifo: 0.1768),
        Case(trace: .recency, capacity: 1_001, lru: 0.4249, s3fifo: 0.4474),
    ]
}
