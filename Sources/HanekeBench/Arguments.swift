import Foundation

/// What the command line asks for.
struct Arguments {
    enum Command: Equatable {
        case help, list, run
        case measureMemory(directory: String, entries: Int)
    }

    static let usage = """
        usage: haneke-bench GROUP [--quick] [--only NAME…] [--rival NAME…] [--seconds N] [--directory DIR]
                                  [--json] [--list]

        GROUP is what is measured: \(Group.allCases.map(\.rawValue).joined(separator: ", ")).

          --quick          a minute, to see that it works: smaller stores, fewer rounds; no figures to quote
          --only NAME…     scenarios whose name contains one of these
          --rival NAME…    only contenders whose name contains one of these
          --seconds N      timed seconds for each contender of a scenario that is run by time (default 4)
          --directory DIR  where the stores are made and removed again (default $TMPDIR, else /tmp)
          --json           one JSON document on standard output
          --list           the names of the scenarios
        """

    var command = Command.run
    var group = Group.store
    var quick = false
    var json = false
    var seconds = 4.0
    var only: [String] = []
    var rivals: [String] = []
    var directory = FileManager.default.temporaryDirectory.path
    let commandLine: String

    init(_ words: some Sequence<String>) throws {
        var words = Array(words)
        commandLine = (["haneke-bench"] + words).joined(separator: " ")
        let first = words.isEmpty ? "--help" : words.removeFirst()
        var secondsGiven = false
        switch first {
        case "-h", "--help":
            command = .help
            return
        case "measure-memory":
            // The memory scenario starts this program anew, so that it measures a process with nothing else in it.
            guard words.count == 2, let entries = Int(words[1]) else { throw BenchError(Self.usage) }
            command = .measureMemory(directory: words[0], entries: entries)
            return
        default:
            guard let named = Group(rawValue: first) else { throw BenchError("no group \"\(first)\"\n\(Self.usage)") }
            group = named
        }
        while !words.isEmpty {
            let word = words.removeFirst()
            switch word {
            case "-h", "--help": command = .help
            case "--list": command = .list
            case "--quick": quick = true
            case "--json": json = true
            case "--only": only += Self.takeNames(&words)
            case "--rival": rivals += Self.takeNames(&words)
            case "--seconds":
                guard let value = words.first.flatMap(Double.init), value > 0 else {
                    throw BenchError("--seconds needs a number above 0")
                }
                seconds = value
                secondsGiven = true
                words.removeFirst()
            case "--directory":
                guard !words.isEmpty else { throw BenchError("--directory needs a directory") }
                directory = words.removeFirst()
            default: throw BenchError("\"\(word)\" is not an option\n\(Self.usage)")
            }
        }
        if quick && !secondsGiven { seconds = 0.5 }
    }

    func wants(_ scenario: String) -> Bool {
        only.isEmpty || only.contains { scenario.localizedCaseInsensitiveContains($0) }
    }

    func wantsRival(_ label: String) -> Bool {
        rivals.isEmpty || rivals.contains { label.localizedCaseInsensitiveContains($0) }
    }

    private static func takeNames(_ words: inout [String]) -> [String] {
        let names = words.prefix { !$0.hasPrefix("--") }
        words.removeFirst(names.count)
        return Array(names)
    }
}
