import CBench
import Foundation

/// Ten times the capacity is written, one set at a time: speed, tails, the disk really taken.
struct ChurnScenario: Scenario {
    enum Sizes {
        /// Median 8 KiB, from 200 bytes to 1 MiB.
        case logNormal
        case uniform(ClosedRange<Int>)

        func draw(_ random: inout SplitMix) -> Int {
            switch self {
            case .logNormal: min(max(Int(8192 * exp(1.5 * random.normal())), 200), 1 << 20)
            case .uniform(let range): range.lowerBound + Int(random.next() % UInt64(range.count))
            }
        }
    }

    let name: String
    let capacity: Int
    let sizes: Sizes
    let contenders: [Contender]
    var goals: [RatioGoal] = []
    var longestMilliseconds: Double?

    private static let rounds = 40
    private static let fillingRounds = 6  // the capacity is full after four; what comes before is not counted

    func run(_ bench: Bench) throws -> Outcome {
        let (corpus, requests) = workload()
        let settings = bench_settings(
            capacity_bytes: UInt64(capacity), entries_max: 0, entries_expected: UInt64(corpus.count), sieve: false)
        var runners = try contenders.filter { bench.arguments.wantsRival($0.label) }.map { contender in
            let directory = try bench.directory.make(contender.rival.name)
            let store = try OpenStore(contender.rival, directory: directory, settings: settings)
            return Churner(label: contender.label, store: store, directory: directory)
        }
        defer { for runner in runners { bench.directory.remove(runner.directory) } }
        let step = requests.count / Self.rounds
        for round in 0..<Self.rounds {
            for index in bench.order(runners.count, round: round) {
                let runner = runners[index]
                let slice = runner.store.run(corpus, requests) { slice in
                    slice.start = round * step
                    slice.most = step
                    slice.latencies = runner.samples.baseAddress
                    slice.latencies_max = runner.samples.count
                    slice.watch_accounting = true
                }
                runners[index].take(slice, counts: round >= Self.fillingRounds, looks: round % 4 == 3)
            }
        }
        return outcome(runners)
    }

    /// Ten times the capacity in values; one set in eight replaces one of the thousand before it.
    private func workload() -> (Corpus, [UInt32]) {
        var random = SplitMix(seed: 11)
        var sizes: [UInt32] = []
        var requests: [UInt32] = []
        var written = 0
        while written < 10 * capacity {
            var number = sizes.count
            if requests.count % 8 == 7 {
                number -= 1 + Int(random.next() % UInt64(min(number, 1000)))
            } else {
                sizes.append(UInt32(self.sizes.draw(&random)))
            }
            written += Int(sizes[number])
            requests.append(UInt32(number) | BENCH_SET_BIT)
        }
        return (Corpus(count: sizes.count, valueBytes: 0, sizes: sizes), requests)
    }

    private func outcome(_ runners: [Churner]) -> Outcome {
        var outcome = Outcome(scenario: name)
        let baseline = runners.first { $0.label == "raw LMDB" }
        for runner in runners {
            var measures = [Measure("MB/s", runner.rates.median / 1e6), Measure("± %", runner.rates.spread * 100)]
            if let baseline { measures.append(Measure("× raw LMDB", runner.ratio(over: baseline))) }
            measures += runner.latencies.measures
            measures.append(Measure("disk / capacity", Double(runner.diskBytes) / Double(capacity)))
            measures.append(Measure("at most", Double(runner.diskBytesMax) / Double(capacity)))
            if runner.accountedMax > 0 {
                measures.append(Measure("accounted / capacity", Double(runner.accountedMax) / Double(capacity)))
            }
            outcome.rows.append(Row(label: runner.label, measures: measures))
            outcome.failures += runner.failures
        }
        for goal in goals {
            guard let left = runners.first(where: { $0.label == goal.label }),
                let right = runners.first(where: { $0.label == goal.over })
            else { continue }
            let ratio = left.ratio(over: right)
            outcome.verdicts.append(Verdict(goal.text, measured: ratio, met: ratio >= goal.least))
        }
        if let haneke = runners.first(where: { $0.label == "haneke" }) { outcome.verdicts += limits(haneke) }
        return outcome
    }

    private func limits(_ haneke: Churner) -> [Verdict] {
        let allowed = Double(capacity) * 1.25 + 0x1p20
        let disk = Double(haneke.diskBytesMax)
        let accounted = Double(haneke.accountedMax) / Double(capacity)
        var verdicts = [
            Verdict(
                "blocks on the disk ≤ 1.25 × capacity + 1 MiB (as a share of that)", measured: disk / allowed,
                met: disk <= allowed),
            Verdict("accounted after every call ≤ capacity (as a share)", measured: accounted, met: accounted <= 1),
        ]
        if let longestMilliseconds {
            let reached = haneke.latencies.milliseconds(0.999)
            verdicts.append(
                Verdict(
                    "p99.9 of a set ≤ \(longestMilliseconds) ms", measured: reached, met: reached <= longestMilliseconds
                ))
        }
        return verdicts
    }
}

/// A contender at work, and its figures of all rounds so far.
private struct Churner {
    let label: String
    let store: OpenStore
    let directory: String
    let samples = SampleBuffer()
    var rates: [Double] = []
    var latencies = Latencies()
    var failures: UInt64 = 0
    var accountedMax: UInt64 = 0
    var diskBytes: UInt64 = 0
    var diskBytesMax: UInt64 = 0

    init(label: String, store: OpenStore, directory: String) {
        self.label = label
        self.store = store
        self.directory = directory
    }

    mutating func take(_ slice: bench_slice, counts: Bool, looks: Bool) {
        failures += slice.failures
        accountedMax = max(accountedMax, slice.accounted_max)
        if looks {
            diskBytes = bench_disk_bytes(directory)
            diskBytesMax = max(diskBytesMax, diskBytes)
        }
        guard counts else { return }
        // Asking for the accounting is not part of the work: only the operations' own time counts.
        rates.append(Double(slice.bytes_written) * 1e9 / Double(max(slice.busy_ns, 1)))
        latencies.add(samples.first(slice.latencies_count))
    }

    func ratio(over other: Churner) -> Double {
        zip(rates, other.rates).map { $0 / $1 }.median
    }
}
