import HanekeStorage

extension Command {
    static let clear = Command(
        name: "clear", operands: "", operandCount: 0...0, options: [],
        summary: "Remove every entry of the bucket; its capacity stays.",
        details: "The disk's blocks come back when they are used again, or at once with \"haneke compact\"."
    ) { session in
        let bucket = try session.requiredBucket()
        let removed = try bucket.statistics().entries
        try bucket.removeAll()
        try session.console.finish(ClearReport(bucket: bucket.name, removed: removed))
        return .done
    }
}

private struct ClearReport: Report {
    let bucket: String
    let removed: Int
}
