import CBench
import Foundation

/// What an open store keeps in memory beside the page cache, all of its entries read once.
///
/// A process of its own opens it; private pages that no file backs are counted before and after.
struct MemoryScenario: Scenario {
    let name: String
    let counts: [Int]

    private static let mostBytes = 1 << 20
    private static let mostBytesPerEntry = 10
    private static let valueBytes = 100
    private static let settings = bench_settings(capacity_bytes: 0, entries_max: 0, entries_expected: 0, sieve: false)

    func run(_ bench: Bench) throws -> Outcome {
        var outcome = Outcome(scenario: name)
        guard let haneke = Rival.named("haneke"), bench_private_bytes() > 0 else {
            outcome.notes.append("not measured: this system has no /proc/self/smaps")
            return outcome
        }
        for count in counts {
            let directory = try bench.directory.make("memory")
            defer { bench.directory.remove(directory) }
            let corpus = Corpus(count: count, valueBytes: Self.valueBytes)
            try OpenStore(haneke, directory: directory, settings: Self.settings).fill(corpus)
            let bytes = try Self.measureApart(directory: directory, entries: count)
            let allowed = Self.mostBytes + Self.mostBytesPerEntry * count
            outcome.rows.append(
                Row(
                    label: "haneke, \(count) entries",
                    measures: [
                        Measure("KiB", Double(bytes) / 1024), Measure("bytes per entry", Double(bytes) / Double(count)),
                    ]))
            outcome.verdicts.append(
                Verdict(
                    "\(count) entries: ≤ 1 MiB + 10 bytes per entry (as a share of that)",
                    measured: Double(bytes) / Double(allowed), met: bytes <= allowed))
        }
        return outcome
    }

    /// What the started process does: opens, reads every key, answers the bytes that this took.
    static func measure(directory: String, entries: Int) throws -> Int {
        guard let haneke = Rival.named("haneke") else { throw BenchError("no haneke in this build") }
        let corpus = Corpus(count: entries, valueBytes: valueBytes)
        let keys = Array(0..<UInt32(entries))
        let before = Int(bench_private_bytes())
        let store = try OpenStore(haneke, directory: directory, settings: settings)
        let slice = store.run(corpus, keys)
        // What was there before must still be there, or its going would hide what the store has taken.
        let after = withExtendedLifetime((corpus, keys, store)) { Int(bench_private_bytes()) }
        guard slice.failures == 0, slice.misses == 0 else { throw BenchError("values are lost") }
        return max(0, after - before)
    }

    private static func measureApart(directory: String, entries: Int) throws -> Int {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["measure-memory", directory, String(entries)]
        process.standardOutput = pipe
        try process.run()
        let answer = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let bytes = Int(answer.trimmingCharacters(in: .whitespacesAndNewlines))
        else { throw BenchError("the process that measures memory failed") }
        return bytes
    }
}
