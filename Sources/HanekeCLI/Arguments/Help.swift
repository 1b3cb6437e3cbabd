/// The help, made from the table of commands and options.
enum Help {
    /// For the whole tool.
    static var tool: String {
        """
        haneke keeps values in a cache on the disk: bounded, crash-safe, shared by any number of processes.

        Usage: haneke COMMAND [ARGUMENTS] [OPTIONS]

        Commands:
        \(table(Command.all.map { (call($0), $0.summary) }))

        Options, anywhere on the line:
        \(table(Option.global.map { (spelling($0), $0.help) }))
          --                 ends the options: a key may begin with a dash

        Exit status: 0 done or found, 1 not there, 2 wrong usage, 3 store, file or network error, or damage found.
        "haneke COMMAND --help" tells more about a command.

        """
    }

    /// For one command.
    static func command(_ command: Command) -> String {
        var text = "Usage: \(command.usage)\n\n\(command.summary)\n"
        if !command.details.isEmpty { text += "\n\(command.details)\n" }
        if !command.options.isEmpty {
            text += "\nOptions:\n\(table(command.options.map { (spelling($0), $0.help) }))\n"
        }
        return text + "\nOptions of every command:\n\(table(Option.global.map { (spelling($0), $0.help) }))\n"
    }

    private static func call(_ command: Command) -> String {
        command.operands.isEmpty ? command.name : "\(command.name) \(command.operands)"
    }

    private static func spelling(_ option: Option) -> String {
        option.short.map { "-\($0), \(option.spelling)" } ?? option.spelling
    }

    /// Two columns, the second aligned.
    private static func table(_ rows: [(String, String)]) -> String {
        let width = max(17, rows.map(\.0.count).max() ?? 0)
        return rows.map { "  " + $0 + String(repeating: " ", count: width - $0.count + 2) + $1 }.joined(separator: "\n")
    }
}
