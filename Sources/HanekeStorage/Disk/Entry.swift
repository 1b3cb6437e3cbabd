internal import CHaneke

/// What is known of an entry beside its value.
///
/// Sizes are in bytes, moments in milliseconds since 1970.
public struct Entry: Sendable, Hashable {
    /// The whole key, as it was stored.
    ///
    /// Empty where it was asked for by key.
    public let keyBytes: [UInt8]
    /// The length of the value.
    public let valueBytes: Int
    /// The length of the metadata.
    public let metadataBytes: Int
    /// What the entry counts against the bucket's capacity: its share of pages and blocks on the disk.
    public let chargedBytes: Int
    /// When it was written.
    public let writtenAt: Int64
    /// When it was last read, written or touched; nil if that was forgotten in a crash.
    public let accessedAt: Int64?
    /// When its lifetime ends; nil for never.
    public let expiresAt: Int64?
    /// Whether its lifetime is over.
    public let isExpired: Bool
    /// Whether each access starts the lifetime anew.
    public let isSliding: Bool
    /// Whether the value lies in a file of its own.
    public let isBlob: Bool
    /// The caller's own flags, as given to `set`.
    public let userFlags: UInt32

    /// The key as text; bytes that are not UTF-8 are replaced.
    public var key: String { String(decoding: keyBytes, as: UTF8.self) }

    init(_ raw: hnk_entry) {
        keyBytes = [UInt8](raw.key.buffer)
        valueBytes = Int(raw.value_bytes)
        metadataBytes = Int(raw.metadata_bytes)
        chargedBytes = Int(raw.charged_bytes)
        writtenAt = Int64(clamping: raw.written_at_ms)
        accessedAt = raw.accessed_at_ms == 0 ? nil : Int64(clamping: raw.accessed_at_ms)
        expiresAt = raw.expires_at_ms == 0 ? nil : Int64(clamping: raw.expires_at_ms)
        isExpired = raw.flags & HNK_ENTRY_EXPIRED != 0
        isSliding = raw.flags & HNK_ENTRY_SLIDING != 0
        isBlob = raw.flags & HNK_ENTRY_BLOB != 0
        userFlags = raw.user_flags
    }
}
