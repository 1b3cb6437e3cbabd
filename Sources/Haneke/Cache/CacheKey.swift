internal import Foundation

/// A key as every tier sees it: text compared by its UTF-8 bytes, so that composed and decomposed é are two keys.
struct CacheKey: Hashable, Sendable {
    /// The store's limit.
    static let bytesMax = 65_536

    let text: String

    init(_ text: String) {
        var text = text
        text.makeContiguousUTF8()
        self.text = text
    }

    /// A key that can be stored under.
    ///
    /// - Throws: ``HanekeError/Code/invalidKey``.
    init(checking text: String) throws(HanekeError) {
        guard !text.isEmpty else { throw HanekeError(.invalidKey, "the key is empty; a value needs a name") }
        guard text.utf8.count <= Self.bytesMax else {
            throw HanekeError(
                .invalidKey,
                "the key \"\(text.prefix(64))…\" has \(text.utf8.count) bytes of UTF-8; \(Self.bytesMax) is the most")
        }
        self.init(text)
    }

    static func == (one: CacheKey, other: CacheKey) -> Bool {
        one.withBytes { bytes in
            other.withBytes { otherBytes in
                guard bytes.count == otherBytes.count else { return false }
                guard let start = bytes.baseAddress, let otherStart = otherBytes.baseAddress else { return true }
                return memcmp(start, otherStart, bytes.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: $0) }
    }

    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // In place for the contiguous text that `init` made sure of.
        if let result = text.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
            return result
        }
        return Array(text.utf8).withUnsafeBytes(body)
    }
}
