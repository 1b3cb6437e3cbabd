import CBench

/// How many requests a second each contender serves; short slices in turns, medians over rounds.
struct ThroughputScenario: Scenario {
    enum Work {
        /// Gets of a store that holds everything, by Zipf with `exponent` (0: all alike); `setShare` of them are sets.
        case requests(exponent: Double = 0.99, setShare: Double = 0)
        /// Sets of new keys until all are there.
        case fill
    }

    let name: String
    let work: Work
    let entries: Int
    let valueBytes: Int
    var reading = BENCH_READ_TOUCH
    var baseline = "raw LMDB"
    let contenders: [Contender]
    let goals: [RatioGoal]

    func run(_ bench: Bench) throws -> Outcome {
        let corpus = Corpus(count: entries, valueBytes: valueBytes)
        let requests = self.requests
        var runners = try open(corpus, bench)
        defer { for runner in runners { bench.directory.remove(runner.directory) } }
        let rounds = bench.quick ? 5 : 20
        for round in 0..<rounds {
            for index in bench.order(runners.count, round: round) {
                let before = runners[index].position
                let slice = runners[index].store.run(corpus, requests) { slice in
                    prepare(&slice, runners[index], bench, rounds: rounds)
                }
                runners[index].take(slice, advanceTo: (before + Int(slice.done)) % requests.count)
            }
        }
        return outcome(runners)
    }

    private var isFill: Bool {
        if case .fill = work { true } else { false }
    }

    private var requests: [UInt32] {
        guard case .requests(let exponent, let share) = work else {
            return (0..<UInt32(entries)).map { $0 | BENCH_SET_BIT }
        }
        var random = SplitMix(seed: 7)
        let zipf = Zipf(count: entries, exponent: exponent)
        return (0..<1_000_000).map { _ in
            UInt32(zipf.draw(&random)) | (share > 0 && random.unit() < share ? BENCH_SET_BIT : 0)
        }
    }

    /// A store a rival, filled and read once; when filling is the question, an empty one a contender.
    private func open(_ corpus: Corpus, _ bench: Bench) throws -> [Runner] {
        var stores: [String: (store: OpenStore, directory: String)] = [:]
        let threads = contenders.map(\.threads).max() ?? 1
        return try contenders.filter { bench.arguments.wantsRival($0.label) }.map { contender in
            let key = isFill ? contender.label : contender.rival.storeName
            if let known = stores[key] { return Runner(contender, known.store, known.directory) }
            let directory = try bench.directory.make(contender.rival.name)
            let settings = bench_settings(
                capacity_bytes: 0, entries_max: 0, entries_expected: UInt64(entries), sieve: false)
            let store = try OpenStore(contender.rival, directory: directory, settings: settings, sessions: threads)
            if !isFill {
                try store.fill(corpus)
                try store.warmUp(corpus)
            }
            stores[key] = (store, directory)
            return Runner(contender, store, directory)
        }
    }

    private func prepare(_ slice: inout bench_slice, _ runner: Runner, _ bench: Bench, rounds: Int) {
        slice.rival = runner.contender.rival.table
        slice.threads = UInt32(runner.contender.threads)
        slice.group = UInt32(runner.contender.group)
        slice.start = runner.position
        slice.reading = reading
        if isFill {
            slice.most = entries / rounds
        } else {
            slice.most = 0
            slice.most_ns = UInt64(bench.arguments.seconds * 1e9) / UInt64(rounds)
        }
        // In a group a set waits for its end: no time of its own.
        guard runner.contender.group == 1 else { return }
        slice.latencies = runner.samples.baseAddress
        slice.latencies_max = runner.samples.count
        slice.sample_every = isFill ? 1 : 17
    }

    private func outcome(_ runners: [Runner]) -> Outcome {
        var outcome = Outcome(scenario: name)
        let baseline = runners.first { $0.contender.label == self.baseline }
        for runner in runners {
            var measures = [Measure("op/s", runner.rates.median), Measure("± %", runner.rates.spread * 100)]
            if let baseline { measures.append(Measure("× \(self.baseline)", runner.ratio(over: baseline))) }
            measures.append(Measure("CPU ns/op", runner.processorTimes.median))
            if let baseline { measures.append(Measure("× by CPU", runner.processorRatio(over: baseline))) }
            outcome.rows.append(Row(label: runner.contender.label, measures: measures + runner.latencies.measures))
            outcome.failures += runner.failures
        }
        for goal in goals {
            guard let left = runners.first(where: { $0.contender.label == goal.label }),
                let right = runners.first(where: { $0.contender.label == goal.over })
            else { continue }
            let ratio = left.ratio(over: right)
            outcome.verdicts.append(
                Verdict(
                    goal.text, measured: ratio, met: ratio >= goal.least,
                    byProcessorTime: left.processorRatio(over: right)))
        }
        return outcome
    }
}

/// A contender at work, and its figures of all rounds so far.
private struct Runner {
    let contender: Contender
    let store: OpenStore
    let directory: String
    let samples = SampleBuffer()
    var position = 0
    var rates: [Double] = []
    var processorTimes: [Double] = []
    var latencies = Latencies()
    var failures: UInt64 = 0

    init(_ contender: Contender, _ store: OpenStore, _ directory: String) {
        self.contender = contender
        self.store = store
        self.directory = directory
    }

    mutating func take(_ slice: bench_slice, advanceTo next: Int) {
        position = next
        rates.append(slice.per_second)
        processorTimes.append(Double(slice.cpu_ns) / Double(max(slice.done, 1)))
        latencies.add(samples.first(slice.latencies_count))
        failures += slice.failures + slice.misses
    }

    /// The median over rounds of how many times as fast as `other` this was in the same round.
    func ratio(over other: Runner) -> Double {
        zip(rates, other.rates).map { $0 / $1 }.median
    }

    /// The same by processor time for a request, background threads included: what a busy machine disturbs less.
    ///
    /// Twice the threads count as twice as fast, less what they cost each other in processor time.
    func processorRatio(over other: Runner) -> Double {
        let threads = Double(contender.threads) / Double(other.contender.threads)
        return threads * zip(other.processorTimes, processorTimes).map { $0 / $1 }.median
    }
}
