import Foundation
import HanekeStorage

/// An entry, as part of a JSON document.
struct EntryReport: Encodable {
    /// nil where the entry was asked for by key.
    let key: String?
    /// The exact key where it is not UTF-8, as other programs may store it.
    let keyBase64: String?
    let valueBytes: Int
    let metadataBytes: Int
    let chargedBytes: Int
    let writtenAtMs: Int64
    let accessedAtMs: Int64?
    let expiresAtMs: Int64?
    let expired: Bool

    init(_ entry: Entry) {
        key = entry.keyBytes.isEmpty ? nil : entry.key
        let isText = String(validating: entry.keyBytes, as: UTF8.self) != nil
        keyBase64 = isText ? nil : Data(entry.keyBytes).base64EncodedString()
        valueBytes = entry.valueBytes
        metadataBytes = entry.metadataBytes
        chargedBytes = entry.chargedBytes
        writtenAtMs = entry.writtenAt
        accessedAtMs = entry.accessedAt
        expiresAtMs = entry.expiresAt
        expired = entry.isExpired
    }
}
