/// One command: what it takes, what the help says of it, and what it does.
struct Command: Sendable {
    let name: String
    /// As in the help: `KEY [FILE]`.
    let operands: String
    let operandCount: ClosedRange<Int>
    /// Its own; the global ones go with every command.
    let options: [Option]
    /// One line.
    let summary: String
    /// What else a user has to know.
    let details: String
    let run: @Sendable (Session) async throws -> ExitStatus

    /// The command as a user would write it: `haneke put [--ttl SECONDS] KEY [FILE]`.
    var usage: String {
        let options = options.map { option in
            "[" + (option.short.map { "-\($0) \(option.value ?? "")" } ?? option.spelling) + "]"
        }
        return (["haneke", name] + options + (operands.isEmpty ? [] : [operands])).joined(separator: " ")
    }

    /// Every command, in the order of the help.
    static let all: [Command] = [
        put, get, has, remove, list, statistics, clear, verify, compact, fetch, importing, exporting, tree,
    ]

    /// Every option of any command, once.
    static let allOptions: [Option] = {
        var known = Option.global
        for option in all.flatMap(\.options) where !known.contains(option) { known.append(option) }
        return known
    }()
}
