import CBench

/// How near the orders of eviction come to exact LRU and SIEVE, on traces for which those are known.
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
    private static let sieveTolerance = 0.01

    func run(_ bench: Bench) throws -> Outcome {
        var outcome = Outcome(scenario: name)
        guard let haneke = Rival.named("haneke") else { return outcome }
        for one in cases {
            let keys = one.trace.keys()
            let corpus = Corpus(count: Int(keys.max() ?? 0) + 1, valueBytes: 16)
            let lru = try misses(of: haneke, in: one, keys, corpus, bench, sieve: false)
            let sieve = try misses(of: haneke, in: one, keys, corpus, bench, sieve: true)
            let label = "\(one.trace.rawValue), \(one.entries) entries"
            outcome.rows.append(
                Row(
                    label: label,
                    measures: [
                        Measure("haneke, LRU", lru.ratio), Measure("exact LRU", one.lru),
                        Measure("difference", lru.ratio - one.lru),
                        Measure("haneke, SIEVE", sieve.ratio), Measure("exact SIEVE", one.sieve),
                        Measure("difference of SIEVE", sieve.ratio - one.sieve),
                        Measure("seconds, LRU", lru.seconds), Measure("seconds, SIEVE", sieve.seconds),
                    ]))
            for (order, distance, most) in [
                ("LRU", abs(lru.ratio - one.lru), Self.tolerance),
                ("SIEVE", abs(sieve.ratio - one.sieve), Self.sieveTolerance),
            ] {
                outcome.verdicts.append(
                    Verdict("\(label): within \(most) of exact \(order)", measured: distance, met: distance <= most))
            }
        }
        return outcome
    }

    /// Goes through the trace once, with a new store.
    private func misses(
        of haneke: Rival, in one: Case, _ keys: [UInt32], _ corpus: Corpus, _ bench: Bench, sieve: Bool
    ) throws -> (ratio: Double, seconds: Double) {
        let directory = try bench.directory.make(one.trace.rawValue)
        defer { bench.directory.remove(directory) }
        let store = try OpenStore(
            haneke, directory: directory,
            settings: bench_settings(
                capacity_bytes: 0, entries_max: UInt64(one.entries), entries_expected: UInt64(one.entries),
                sieve: sieve))
        var raw = corpus.raw
        let start = bench_now_ns()
        let misses = bench_misses(haneke.table, store.sessions[0], &raw, keys, keys.count)
        guard misses != .max else { throw BenchError("haneke failed in \(one.trace.rawValue)") }
        return (Double(misses) / Double(keys.count), Double(bench_now_ns() - start) / 1e9)
    }
}
