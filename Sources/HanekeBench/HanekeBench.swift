// haneke-bench: measures this package against its rivals, all in one run.
import Foundation

@main
struct HanekeBench {
    static func main() {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst())
            switch arguments.command {
            case .help: write(Arguments.usage)
            case .list: for scenario in arguments.group.scenarios(arguments) { write(scenario.name) }
            case .run: exit(try run(arguments) ? 0 : 1)
            case .measureMemory(let directory, let entries):
                write(String(try MemoryScenario.measure(directory: directory, entries: entries)))
            }
        } catch {
            FileHandle.standardError.write(Data("haneke-bench: \(error)\n".utf8))
            exit(2)
        }
    }

    /// At once, so that a reader of a pipe sees each table when it is ready.
    private static func write(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// Runs what was asked for; false if a rival failed or answered wrongly.
    private static func run(_ arguments: Arguments) throws -> Bool {
        try TraceCheck.run()
        let directory = try WorkDirectory(in: arguments.directory)
        let interruptions = directory.removeWhenInterrupted()
        defer {
            for interruption in interruptions { interruption.cancel() }
            directory.remove()
        }
        let bench = Bench(arguments: arguments, directory: directory)
        let machine = Machine(directory: directory.path)
        let date = Date.now.formatted(.iso8601)
        var report = Report(
            date: date, command: arguments.commandLine, machine: machine, versions: arguments.group.versions,
            scenarios: [])
        if !arguments.json { write(report.header) }
        for scenario in arguments.group.scenarios(arguments) where arguments.wants(scenario.name) {
            bench.say(scenario.name)
            let outcome = try scenario.run(bench)
            report.scenarios.append(outcome)
            if !arguments.json { write(outcome.text) }
        }
        write(arguments.json ? try report.json() : report.summary)
        return report.scenarios.allSatisfy { $0.failures == 0 }
    }
}
