import Foundation

/// Where a value lies in a tree: an ordered list of segments, `users` / `42` / `portrait`.
///
/// Segments are text, taken literally: "/" in one is data. Two spellings of one text (composed and decomposed accents) are
/// one segment. A key may have up to 64 segments of up to 1,024 bytes of UTF-8 each, 8,192 bytes together; that is
/// checked when it is used. Copying a key copies one reference.
public struct Key: Sendable {
    /// Most segments of a key.
    static let segmentsMax = 64
    /// Most bytes of UTF-8 of one segment.
    static let segmentBytesMax = 1_024
    /// Most bytes of UTF-8 of all segments together.
    static let bytesMax = 8_192
    /// Stands in front of segments that no user wrote: what a URL has beside host and path.
    static let mark: Unicode.Scalar = "\u{1}"

    private final class Storage: Sendable {
        let stored: [String]
        let encoded: String
        let problem: TreeError?

        init(_ stored: [String], encoded: String, problem: TreeError?) {
            self.stored = stored
            self.encoded = encoded
            self.problem = problem
        }
    }

    private let storage: Storage

    /// The segments with their marks: what makes a key, and the names of a tree's nodes.
    var stored: [String] { storage.stored }
    /// The key as text for the store; see `KeyEncoding`.
    var encoded: String { storage.encoded }

    /// Makes a key of segments that are normalised and marked already.
    init(stored: [String]) {
        storage = Storage(stored, encoded: KeyEncoding.encode(stored), problem: Self.problem(of: stored))
    }

    /// The key of no segments, which names nothing.
    ///
    /// Plain forms ignore it or answer nil, throwing ones throw `TreeError.invalidKey`. It is not the root: `clear()` empties
    /// that.
    public static let invalid = Key(stored: [])

    /// The same as `invalid`, as the first Hoard spelled it.
    @available(*, deprecated, renamed: "invalid")
    public static var Invalid: Key { invalid }

    /// Makes a key of segments; none at all is `invalid`.
    public static func from(_ segments: String...) -> Key { from(segments: segments) }

    /// Makes a key of segments; none at all is `invalid`.
    public static func from(segments: [String]) -> Key {
        segments.isEmpty ? invalid : Key(stored: segments.map(KeyEncoding.literal))
    }

    /// The segments as they were given; those that a URL adds begin with U+0001.
    public var segments: [String] { stored.map(KeyEncoding.unmarked) }

    /// The first segment; nil for the invalid key.
    public var first: String? { stored.first.map(KeyEncoding.unmarked) }

    /// The last segment; nil for the invalid key.
    public var last: String? { stored.last.map(KeyEncoding.unmarked) }

    /// The key without its last segment; nil where one segment or none is left over.
    public var parent: Key? { stored.count > 1 ? Key(stored: stored.dropLast()) : nil }

    /// The key with one more segment.
    public func appending(_ segment: String) -> Key { Key(stored: stored + [KeyEncoding.literal(segment)]) }

    /// Whether `other` is this key or lies below it: `a/b` is a prefix of `a/b/c`, not of `a/bc`.
    public func isPrefix(of other: Key) -> Bool {
        stored.count <= other.stored.count && other.encoded.utf8.starts(with: encoded.utf8)
    }

    /// Whether the key names the root of a context, which only the library itself can say.
    var isRoot: Bool { stored.isEmpty }

    func appending(_ other: Key) -> Key {
        if isRoot { return other }
        return other.isRoot ? self : Key(stored: stored + other.stored)
    }

    func dropFirst(_ count: Int) -> Key { count == 0 ? self : Key(stored: Array(stored.dropFirst(count))) }

    /// Throws if the key can't be used.
    func check() throws(TreeError) {
        if let problem = storage.problem { throw problem }
    }

    private static func problem(of stored: [String]) -> TreeError? {
        guard !stored.isEmpty else { return .invalidKey }
        guard stored.count <= segmentsMax else { return .keyTooLong }
        var bytes = 0
        for segment in stored {
            // The second mark of a literal segment is not the user's.
            let count = segment.utf8.count - (segment.hasPrefix("\u{1}\u{1}") ? 1 : 0)
            guard count <= segmentBytesMax else { return .keyTooLong }
            bytes += count
        }
        return bytes <= bytesMax ? nil : .keyTooLong
    }
}

extension Key: Hashable {
    /// Whether both have the same segments.
    public static func == (left: Key, right: Key) -> Bool {
        left.storage === right.storage || left.encoded == right.encoded
    }

    /// Hashes the segments.
    public func hash(into hasher: inout Hasher) { hasher.combine(encoded) }
}

extension Key: CustomStringConvertible {
    /// The segments, joined with "/": no two keys have the same.
    ///
    /// A slash in a segment is written "%2F", a percent sign "%25", an empty segment "%".
    public var description: String {
        stored.map { segment in
            segment.isEmpty
                ? "%"
                : segment.replacingOccurrences(of: "%", with: "%25").replacingOccurrences(of: "/", with: "%2F")
        }.joined(separator: "/")
    }

    /// The key that has this description; nil if none has.
    public init?(description: String) {
        guard !description.isEmpty else {
            self = .invalid
            return
        }
        var stored: [String] = []
        for piece in description.split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = Self.segment(described: piece) else { return nil }
            stored.append(segment)
        }
        self.init(stored: stored)
        guard self.description.utf8.elementsEqual(description.utf8) else { return nil }
    }

    private static func segment(described piece: Substring) -> String? {
        if piece == "%" { return "" }
        guard !piece.isEmpty else { return nil }
        return KeyEncoding.normalised(
            piece.replacingOccurrences(of: "%2F", with: "/").replacingOccurrences(of: "%25", with: "%"))
    }
}

extension Key: Codable {
    /// Reads a key from its description.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let key = Key(description: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the description of a key")
        }
        self = key
    }

    /// Writes the key as its description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
