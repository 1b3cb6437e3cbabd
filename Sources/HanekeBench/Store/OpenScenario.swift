import CBench

/// How long it takes from a closed store to the first value.
struct OpenScenario: Scenario {
    let name: String
    let counts: [Int]
    let rivals: [Rival]

    private static let mostMilliseconds = 1.0
    private static let flat = 1.5  // times as long for five times the entries still counts as flat

    func run(_ bench: Bench) throws -> Outcome {
        var outcome = Outcome(scenario: name)
        let rounds = bench.quick ? 11 : 31
        var medians: [Double] = []
        for count in counts {
            let corpus = Corpus(count: count, valueBytes: 200)
            var openers = try rivals.filter { bench.arguments.wantsRival($0.name) }.map { rival in
                try Opener(rival, corpus, directory: bench.directory.make(rival.name))
            }
            defer { for opener in openers { bench.directory.remove(opener.directory) } }
            for round in 0..<rounds {
                for index in bench.order(openers.count, round: round) {
                    try openers[index].open(corpus, key: round * 7919 % count)
                }
            }
            for opener in openers {
                outcome.rows.append(Row(label: "\(opener.rival.name), \(count) entries", measures: opener.measures))
            }
            guard let haneke = openers.first(where: { $0.rival.name == "haneke" }) else { continue }
            let median = haneke.opening.median
            medians.append(median)
            outcome.verdicts.append(
                Verdict(
                    "haneke with \(count) entries ≤ 1 ms", measured: median, met: median <= Self.mostMilliseconds))
        }
        if let first = medians.first, let last = medians.last, medians.count > 1, first > 0 {
            outcome.verdicts.append(
                Verdict(
                    "flat: the largest takes ≤ \(Self.flat) × the smallest", measured: last / first,
                    met: last / first <= Self.flat))
        }
        return outcome
    }
}

/// A closed store and the times it took to open.
private struct Opener {
    let rival: Rival
    let directory: String
    private let settings: bench_settings
    var opening: [Double] = []
    var closing: [Double] = []

    init(_ rival: Rival, _ corpus: Corpus, directory: String) throws {
        self.rival = rival
        self.directory = directory
        settings = bench_settings(
            capacity_bytes: 0, entries_max: 0, entries_expected: UInt64(corpus.count), sieve: false)
        try OpenStore(rival, directory: directory, settings: settings).fill(corpus)
        try open(corpus, key: 0)
        opening.removeAll()
        closing.removeAll()
    }

    mutating func open(_ corpus: Corpus, key: Int) throws {
        let start = bench_now_ns()
        var store: OpenStore? = try OpenStore(rival, directory: directory, settings: settings)
        var seen = bench_seen(size: .max, sum: 0)
        let found = rival.table.pointee.get(store?.sessions[0], corpus.key(key), BENCH_READ_TOUCH, &seen)
        let open = bench_now_ns()
        store = nil
        let closed = bench_now_ns()
        guard found, seen.size == corpus.valueSize(key) else {
            throw BenchError("\(rival.name) lost a value over a close")
        }
        opening.append(Double(open - start) / 1e6)
        closing.append(Double(closed - open) / 1e6)
    }

    var measures: [Measure] {
        [
            Measure("open ms", opening.median), Measure("longest ms", opening.max() ?? 0),
            Measure("close ms", closing.median),
        ]
    }
}
