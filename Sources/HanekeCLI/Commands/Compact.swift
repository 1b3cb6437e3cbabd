import HanekeStorage

extension Command {
    static let compact = Command(
        name: "compact", operands: "", operandCount: 0...0, options: [.capacity, .eviction],
        summary: "Give the disk's blocks that the store no longer uses back to the file system.",
        details: """
            For the whole store, whatever the bucket. Readers go on meanwhile and writers wait. --capacity is first given to the
            bucket, which must exist: the way to make it smaller, or larger, without putting anything into it.
            """
    ) { session in
        let store = try session.requiredStore()
        if session.settings.capacity != nil || session.settings.eviction != nil { _ = try session.requiredBucket() }
        let freed = try store.compact()
        try session.console.finish(
            CompactReport(freedBytes: freed, diskBytes: try store.statistics().diskBytes))
        return .done
    }
}

private struct CompactReport: Report {
    let freedBytes: Int
    let diskBytes: Int

    var text: String { "freed \(ByteCount.text(freedBytes)); the store takes \(ByteCount.text(diskBytes)) on the disk" }
}
