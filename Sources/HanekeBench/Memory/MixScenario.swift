import CBench

/// How many requests a second caches in memory serve: 90 % get, 10 % set, Zipf 0.99; what is missing is set.
///
/// One after the other in short slices, each beginning in turn; medians over rounds.
struct MixScenario: Scenario {
    let name: String
    let keys: Int
    let contenders: [MemoryContender]
    /// The contender must serve so many requests a second.
    let fastest: (label: String, perSecond: Double)
    let goals: [RatioGoal]

    private struct Figures {
        var rates: [Double] = []
        var processorTimes: [Double] = []
        var reads = 0
        var misses = 0

        /// How many times as fast as `other` in the same round, the median over rounds.
        func ratio(over other: Figures) -> Double { zip(rates, other.rates).map { $0 / $1 }.median }
        /// The same by what a request takes of a processor.
        func processorRatio(over other: Figures) -> Double {
            zip(other.processorTimes, processorTimes).map { $0 / $1 }.median
        }
    }

    func run(_ bench: Bench) throws -> Outcome {
        let requests = self.requests
        let running = contenders.filter { bench.arguments.wantsRival($0.label) }
        var outcome = Outcome(scenario: name)
        var figures = [Figures](repeating: Figures(), count: running.count)
        var places = [Int](repeating: 0, count: running.count)
        for contender in running { _ = contender.run(requests, 0, 50_000_000) }
        let rounds = bench.quick ? 5 : 20
        let nanoseconds = UInt64(bench.arguments.seconds * 1e9) / UInt64(rounds)
        for round in 0..<rounds {
            for index in bench.order(running.count, round: round) {
                let slice = running[index].run(requests, places[index], nanoseconds)
                places[index] = (places[index] + slice.done / running[index].threads) % requests.count
                figures[index].rates.append(Double(slice.done) * 1e9 / Double(slice.elapsed))
                figures[index].processorTimes.append(Double(slice.processorTime) / Double(max(1, slice.done)))
                figures[index].reads += slice.reads
                figures[index].misses += slice.misses
                outcome.failures += slice.failures
            }
        }
        let known = Dictionary(uniqueKeysWithValues: zip(running.map(\.label), figures))
        for contender in running {
            guard let own = known[contender.label] else { continue }
            outcome.rows.append(
                Row(
                    label: contender.label,
                    measures: [
                        Measure("op/s", own.rates.median), Measure("± %", own.rates.spread * 100),
                        Measure("CPU ns/op", own.processorTimes.median),
                        Measure("misses %", Double(own.misses) / Double(max(1, own.reads)) * 100),
                    ]))
        }
        outcome.verdicts = verdicts(known)
        return outcome
    }

    private func verdicts(_ known: [String: Figures]) -> [Verdict] {
        var verdicts: [Verdict] = []
        if let own = known[fastest.label] {
            let rate = own.rates.median
            verdicts.append(
                Verdict(
                    "\(fastest.label) ≥ \(Outcome.number(fastest.perSecond)) op/s", measured: rate,
                    met: rate >= fastest.perSecond))
        }
        for goal in goals {
            guard let left = known[goal.label], let right = known[goal.over] else { continue }
            let ratio = left.ratio(over: right)
            verdicts.append(
                Verdict(
                    goal.text, measured: ratio, met: ratio >= goal.least,
                    byProcessorTime: left.processorRatio(over: right)))
        }
        return verdicts
    }

    private var requests: [UInt32] {
        var random = SplitMix(seed: 7)
        let zipf = Zipf(count: keys, exponent: 0.99)
        return (0..<1_000_000).map { _ in
            UInt32(zipf.draw(&random)) | (random.unit() < 0.1 ? BENCH_SET_BIT : 0)
        }
    }
}
