public import Foundation

/// What is known of a leaf beside its value.
public struct EntryInfo: Sendable, Hashable {
    /// When it was put.
    public let created: Date
    /// When it was last read, or put.
    public let accessed: Date
    /// How long it lives from `created` on, in seconds; infinity for ever.
    public let validFor: TimeInterval
    /// The length of what is on the disk, in bytes; nil in memory.
    public let bytes: Int?

    init(created: Double, accessed: Double, validFor: TimeInterval, bytes: Int?) {
        self.created = Date(timeIntervalSince1970: created)
        self.accessed = Date(timeIntervalSince1970: max(accessed, created))
        self.validFor = validFor
        self.bytes = bytes
    }
}
