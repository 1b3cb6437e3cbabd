import CBench

/// How near the order of eviction comes to exact LRU, on traces for which that is known.
struct HitRatioScenario: Scenario {
    struct Case {
        let trace: Trace
        let entries: Int
        /// Exact miss ratios.
        let lru: Double
        let sieve: Double
    }

    let name: String
    let cases: [Case]

    private static let tolerance = 0.002

    func run(_ bench: Bench) throws -> Outcome {
        var outcome = Outcome(scenario: name)
        guard let haneke = Rival.named("haneke") else { return outcome }
        for one in cases {
            let keys = one.trace.keys()
            let corpus = Corpus(count: Int(keys.max() ?? 0) + 1, valueBytes: 16)
            let directory = try bench.directory.make(one.trace.rawValue)
            defer { bench.directory.remove(directory) }
            let store = try OpenStore(
                haneke, directory: directory,
                settings: bench_settings(
                    capacity_bytes: 0, entries_max: UInt64(one.entries), entries_expected: UInt64(one.entries)))
            var raw = corpus.raw
            let start = bench_now_ns()
            let misses = bench_misses(haneke.table, store.sessions[0], &raw, keys, keys.count)
            guard misses != .max else { throw BenchError("haneke failed in \(one.trace.rawValue)") }
            let ratio = Double(misses) / Double(keys.count)
            let label = "\(one.trace.rawValue), \(one.entries) entries"
            outcome.rows.append(
                Row(
                    label: label,
                    measures: [
                        Measure("miss ratio", ratio), Measure("exact LRU", one.lru), Measure("exact SIEVE", one.sieve),
                        Measure("difference", ratio - one.lru),
                        Measure("seconds", Double(bench_now_ns() - start) / 1e9),
                    ]))
            let distance = abs(ratio - one.lru)
            outcome.verdicts.append(
                Verdict(
                    "\(label): within \(Self.tolerance) of exact LRU", measured: distance,
                    met: distance <= Self.tolerance))
        }
        outcome.notes.append("SIEVE stands here as what a bucket could reach; the store's order is LRU")
        return outcome
    }
}
