import HanekeStorage

extension Command {
    static let verify = Command(
        name: "verify", operands: "", operandCount: 0...0, options: [],
        summary: "Read every record and value of the store and check every rule; 3 if there is damage.",
        details: """
            Changes nothing. With --bucket only that bucket is looked at. Damaged entries are misses to everyone, never wrong
            values; the next write removes them.
            """
    ) { session in
        // Any other command salvages a damaged store when it opens it; this one is here to tell.
        let store = try session.requiredStore(.refuse)
        let bucket = try session.settings.namesBucket ? session.requiredBucket() : nil
        var progress = Progress()
        let found = try store.verify(bucket) { done, all in
            progress.show("verified \(done) of \(all) entries")
            return true
        }
        progress.clear()
        try session.console.finish(VerifyReport(found))
        guard found.isSound else {
            throw Failure.failed(
                "\(store.directory): damage found: \(found.firstFault); damaged entries read as misses and go with the next write"
            )
        }
        return .done
    }
}

private struct VerifyReport: Report {
    let sound: Bool
    let entries: Int
    let bytes: Int
    let damagedRecords: Int
    let missingBlobs: Int
    let orphanBlobs: Int
    let slotFaults: Int
    let accountingFaults: Int
    let limitFaults: Int
    let firstFault: String?

    init(_ found: Verification) {
        sound = found.isSound
        entries = found.entries
        bytes = found.bytes
        damagedRecords = found.damagedRecords
        missingBlobs = found.missingBlobs
        orphanBlobs = found.orphanBlobs
        slotFaults = found.slotFaults
        accountingFaults = found.accountingFaults
        limitFaults = found.limitFaults
        firstFault = found.firstFault.isEmpty ? nil : found.firstFault
    }

    var text: String {
        let faults =
            [
                (damagedRecords, "damaged records"), (missingBlobs, "missing files of values"),
                (orphanBlobs, "files that no record names"), (slotFaults, "faults in the slot table"),
                (accountingFaults, "buckets with wrong counts"), (limitFaults, "buckets over their limits"),
            ]
            .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "\(entries) \(entries == 1 ? "entry" : "entries"), \(ByteCount.text(bytes)) of values: "
            + (sound ? "sound" : faults)
    }
}
