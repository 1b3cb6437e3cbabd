internal import CHaneke

/// What `DiskStore.verify` found: how many faults of each kind.
public struct Verification: Sendable, Hashable {
    /// Entries looked at.
    public let entries: Int
    /// Bytes of values whose checksum was computed.
    public let bytes: Int
    /// Records whose checksum fails or whose lengths do not add up.
    public let damagedRecords: Int
    /// Records whose file is missing or of another length.
    public let missingBlobs: Int
    /// Files that no record names.
    public let orphanBlobs: Int
    /// Places where the slot table and the records disagree.
    public let slotFaults: Int
    /// Buckets whose counts are not the sum of their entries.
    public let accountingFaults: Int
    /// Buckets over their limits.
    public let limitFaults: Int
    /// The first fault in words; empty if there is none.
    public let firstFault: String

    /// Whether no fault was found.
    public var isSound: Bool {
        [damagedRecords, missingBlobs, orphanBlobs, slotFaults, accountingFaults, limitFaults].allSatisfy { $0 == 0 }
    }

    init(_ raw: hnk_verification) {
        entries = Int(clamping: raw.entries)
        bytes = Int(clamping: raw.bytes)
        damagedRecords = Int(clamping: raw.damaged_records)
        missingBlobs = Int(clamping: raw.missing_blobs)
        orphanBlobs = Int(clamping: raw.orphan_blobs)
        slotFaults = Int(clamping: raw.slot_faults)
        accountingFaults = Int(clamping: raw.accounting_faults)
        limitFaults = Int(clamping: raw.limit_faults)
        firstFault = withUnsafeBytes(of: raw.first_fault) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
