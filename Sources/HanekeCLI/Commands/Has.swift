import HanekeStorage

extension Command {
    static let has = Command(
        name: "has", operands: "KEY", operandCount: 1...1, options: [],
        summary: "Tell by the exit status whether a live entry is under KEY: 0 or 1.",
        details: "Looking is not using: the entry becomes no younger, and no hit or miss is counted."
    ) { session in
        let key = try session.invocation.key()
        let entry = try session.existingBucket()?.peek(key)
        let isThere = entry.map { !$0.isExpired } ?? false
        try session.console.finish(
            HasReport(key: key, found: isThere, entry: isThere ? entry.map { EntryReport($0) } : nil))
        return isThere ? .done : .miss
    }
}

private struct HasReport: Report {
    let key: String
    let found: Bool
    let entry: EntryReport?
}
