/// A command line, taken apart by the table of commands and options.
struct Invocation {
    /// nil when only help or the version is asked for.
    let command: Command?
    /// In order, without options.
    let operands: [String]
    private let values: [Option: String]

    /// Whether a flag, or an option with a value, was given.
    func has(_ option: Option) -> Bool { values[option] != nil }

    /// The value of an option; the last one if it was given more than once.
    subscript(option: Option) -> String? { values[option] }

    /// Takes `arguments` apart, without the program's own name.
    ///
    /// Options may stand anywhere after and, if they are global, before the command; `--` ends them; `-` alone is no option.
    init(_ arguments: [String]) throws {
        var words: [String] = []
        var values: [Option: String] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                words += rest
                break
            }
            if argument.hasPrefix("--") {
                try Self.takeLong(argument.dropFirst(2), &rest, &values)
            } else if argument.hasPrefix("-"), argument != "-" {
                try Self.takeShort(argument.dropFirst(1), &rest, &values)
            } else {
                words.append(argument)
            }
        }
        self.values = values
        operands = [String](words.dropFirst())
        command = try words.first.map(Self.command(named:))
        if !has(.help), !has(.version) { try check() }
    }

    private static func command(named name: String) throws -> Command {
        guard let command = Command.all.first(where: { $0.name == name }) else {
            let names = Command.all.map(\.name).joined(separator: ", ")
            throw Failure.usage("\"\(name)\" is no command; there are \(names)")
        }
        return command
    }

    private static func takeLong(
        _ text: Substring, _ rest: inout ArraySlice<String>, _ values: inout [Option: String]
    ) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let option = Command.allOptions.first(where: { $0.name == parts[0] }) else {
            throw Failure.usage(
                "\"--\(parts[0])\" is no option; haneke --help lists them, and -- goes before a key like that")
        }
        if parts.count == 2, option.value == nil {
            throw Failure.usage("--\(option.name) takes no value; leave \"=\(parts[1])\" out")
        }
        values[option] = try value(of: option, attached: parts.count == 2 ? String(parts[1]) : nil, &rest)
    }

    private static func takeShort(
        _ text: Substring, _ rest: inout ArraySlice<String>, _ values: inout [Option: String]
    ) throws {
        var text = text
        while let letter = text.popFirst() {
            guard let option = Command.allOptions.first(where: { $0.short == letter }) else {
                throw Failure.usage(
                    "\"-\(letter)\" is no option; haneke --help lists them, and -- goes before a key like that")
            }
            if option.value == nil {
                values[option] = ""
            } else {
                values[option] = try value(of: option, attached: text.isEmpty ? nil : String(text), &rest)
                return
            }
        }
    }

    private static func value(
        of option: Option, attached: String?, _ rest: inout ArraySlice<String>
    ) throws -> String {
        guard option.value != nil else { return "" }
        guard let value = attached ?? rest.popFirst() else {
            throw Failure.usage("--\(option.name) wants a value: \(option.spelling)")
        }
        return value
    }

    private func check() throws {
        guard let command else {
            throw Failure.usage("no command given; haneke --help lists them")
        }
        let allowed = Set(Option.global + command.options)
        if let stray = values.keys.filter({ !allowed.contains($0) }).min(by: { $0.name < $1.name }) {
            let takers = Command.all.filter { $0.options.contains(stray) }.map(\.name).joined(separator: ", ")
            throw Failure.usage(
                "--\(stray.name) does not go with \(command.name), but with \(takers): \(command.usage)")
        }
        guard command.operandCount.contains(operands.count) else {
            let what = operands.count < command.operandCount.lowerBound ? "too few arguments" : "too many arguments"
            throw Failure.usage("\(what) for \(command.name): \(command.usage)")
        }
    }
}
