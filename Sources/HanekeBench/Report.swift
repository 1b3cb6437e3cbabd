import Foundation

/// One figure of a contender, whose name carries the unit.
struct Measure: Encodable {
    let name: String
    let value: Double

    init(_ name: String, _ value: Double) {
        self.name = name
        self.value = value
    }
}

/// What a contender did in a scenario.
struct Row: Encodable {
    let label: String
    let measures: [Measure]
}

/// A goal and whether it was reached.
struct Verdict: Encodable {
    let goal: String
    let measured: Double
    let met: Bool
    /// Of a ratio of speeds: the same by processor time, for runs on a busy machine.
    let byProcessorTime: Double?

    init(_ goal: String, measured: Double, met: Bool, byProcessorTime: Double? = nil) {
        self.goal = goal
        self.measured = measured
        self.met = met
        self.byProcessorTime = byProcessorTime
    }

    var text: String { "\(met ? "met    " : "NOT MET") \(goal): \(figures)" }

    /// What was measured.
    var figures: String {
        Outcome.number(measured) + (byProcessorTime.map { " (by CPU \(Outcome.number($0)))" } ?? "")
    }
}

/// Everything a scenario found out.
struct Outcome: Encodable {
    let scenario: String
    var rows: [Row] = []
    var verdicts: [Verdict] = []
    var notes: [String] = []
    /// Operations that failed or gave a wrong answer: any makes the run worthless.
    var failures: UInt64 = 0

    /// A table for people.
    var text: String {
        var columns: [String] = []
        for row in rows {
            for measure in row.measures where !columns.contains(measure.name) { columns.append(measure.name) }
        }
        var lines = [[""] + columns]
        for row in rows {
            lines.append(
                [row.label]
                    + columns.map { column in
                        row.measures.first { $0.name == column }.map { Self.number($0.value) } ?? ""
                    })
        }
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let table = lines.map { line in
            line.enumerated().map { index, cell in
                let pad = String(repeating: " ", count: widths[index] - cell.count)
                return index == 0 ? cell + pad : pad + cell
            }.joined(separator: "  ")
        }
        let failed = failures > 0 ? ["  FAILED \(failures) operations"] : []
        let rest = verdicts.map { "  " + $0.text } + notes.map { "  " + $0 } + failed
        return (["\(scenario)?"] + table.map { "  " + $0 } + rest + [""]).joined(separator: "\n")
    }

    /// Three significant digits, thousands apart.
    static func number(_ value: Double) -> String {
        let size = abs(value)
        if size >= 1000 {
            var digits = String(Int(size.rounded()))
            var groups: [String] = []
            while digits.count > 3 {
                groups.insert(String(digits.suffix(3)), at: 0)
                digits.removeLast(3)
            }
            return (value < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
        }
        if size == 0 { return "0" }
        return String(format: size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.4f", value)
    }
}

struct Version: Encodable {
    let rival: String
    let version: String
}

/// A whole run.
struct Report: Encodable {
    let date: String
    let command: String
    let machine: Machine
    let versions: [Version]
    var scenarios: [Outcome]

    var header: String {
        let versions = versions.filter { !$0.version.isEmpty }.map { "\($0.rival): \($0.version)" }
        return (["# \(command)", "# \(machine.text), \(date)"] + versions.map { "# \($0)" } + [""]).joined(
            separator: "\n")
    }

    var summary: String {
        let verdicts = scenarios.flatMap(\.verdicts)
        let missed = scenarios.flatMap { outcome in
            outcome.verdicts.filter { !$0.met }.map {
                "  \(outcome.scenario): \($0.goal): \($0.figures)"
            }
        }
        return
            (["\(verdicts.count - missed.count) of \(verdicts.count) goals met" + (missed.isEmpty ? "" : "; not:")]
            + missed).joined(separator: "\n")
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
