import CBench
import HanekeStorage

/// What a full cache in memory takes for an entry beside the value: what the allocator has handed out for it.
///
/// Twice as many keys as fit go through it first, so that whatever a policy remembers of former entries is there too.
struct FootprintScenario: Scenario {
    let name: String
    let entries: Int
    let mostBytes: Double

    func run(_ bench: Bench) throws -> Outcome {
        var outcome = Outcome(scenario: name)
        guard bench_allocated_bytes() > 0 else {
            outcome.notes.append("not measured: this system's allocator doesn't tell")
            return outcome
        }
        add("s3fifo", to: &outcome) { MemoryCache<Int, Int>(countLimit: entries) }
        add("lru", to: &outcome) { MemoryCache<Int, Int>(countLimit: entries, policy: .lru) }
        add("dictionary", to: &outcome) { DictionaryRival(countLimit: entries) }
        // Its keys and values are objects already: none is made, and none counted.
        add("NSCache", to: &outcome, makesKeys: true) { FoundationRival(countLimit: entries, keys: 2 * entries) }
        if let own = outcome.rows.first(where: { $0.label == "s3fifo" })?.measures.first?.value {
            outcome.verdicts.append(
                Verdict("s3fifo ≤ \(Outcome.number(mostBytes)) bytes an entry", measured: own, met: own <= mostBytes))
        }
        return outcome
    }

    private func add<Rival: MemoryRival>(
        _ label: String, to outcome: inout Outcome, makesKeys: Bool = false, make: () -> Rival
    ) {
        let beforeMaking = bench_allocated_bytes()
        let rival = make()
        let before = makesKeys ? bench_allocated_bytes() : beforeMaking
        for key in 0..<2 * entries { rival.set(key, key) }
        let bytes = withExtendedLifetime(rival) { Int(bench_allocated_bytes()) - Int(before) }
        outcome.rows.append(
            Row(label: label, measures: [Measure("bytes per entry", Double(bytes) / Double(entries))]))
    }
}
