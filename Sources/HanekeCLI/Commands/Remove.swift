import HanekeStorage

extension Command {
    static let remove = Command(
        name: "rm", operands: "KEY…", operandCount: 0...Int.max, options: [.prefix],
        summary: "Remove the entries under the keys, or all whose keys start with a prefix.",
        details: """
            The exit status is 1 if one of the keys was not there. --prefix P stands instead of keys, and a reader sees all of
            those entries or none; removing none is no miss.
            """
    ) { session in
        let keys = try session.invocation.operands.indices.map(session.invocation.key(at:))
        switch (session.invocation[.prefix], keys.isEmpty) {
        case (let prefix?, true): return try session.remove(prefix: prefix)
        case (nil, false): return try session.remove(keys)
        default: throw Failure.usage("rm wants either keys or --prefix: haneke rm KEY…, haneke rm --prefix P")
        }
    }
}

private struct RemoveReport: Report {
    let removed: Int
    var missing: [String]?
}

extension Session {
    fileprivate func remove(prefix: String) throws -> ExitStatus {
        guard !prefix.isEmpty else { throw Failure.usage("--prefix is empty; \"haneke clear\" removes everything") }
        let removed = try existingBucket()?.removeAll(withPrefix: prefix) ?? 0
        try console.finish(RemoveReport(removed: removed))
        return .done
    }

    fileprivate func remove(_ keys: [String]) throws -> ExitStatus {
        let bucket = try existingBucket()
        var missing: [String] = []
        for key in keys where try bucket?.remove(key) != true { missing.append(key) }
        try console.finish(RemoveReport(removed: keys.count - missing.count, missing: missing))
        return missing.isEmpty ? .done : .miss
    }
}
