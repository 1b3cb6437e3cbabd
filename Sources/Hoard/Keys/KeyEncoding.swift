// Keys as bytes of the store. Each segment is followed by 00; in it 00 is written 01 01, and 01 is written 01 02. So the
// bytes of a key are the first bytes of all keys below it and of no others, whatever the segments hold, and the order
// of the bytes is the order of the keys. The result is UTF-8 again.

import Foundation

enum KeyEncoding {
    static let end: UInt8 = 0
    static let escape: UInt8 = 1

    static func encode(_ stored: [String]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(stored.reduce(stored.count) { $0 + $1.utf8.count })
        for segment in stored {
            append(segment, to: &bytes)
            bytes.append(end)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ segment: String, to bytes: inout [UInt8]) {
        for byte in segment.utf8 {
            if byte > escape {
                bytes.append(byte)
            } else {
                bytes.append(escape)
                bytes.append(byte + 1)
            }
        }
    }

    /// The segments of a key of the store; nil if it is none of ours.
    static func decode(_ bytes: some Collection<UInt8>) -> [String]? {
        var stored: [String] = []
        var segment: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                guard byte == 1 || byte == 2 else { return nil }
                segment.append(byte - 1)
                isEscaped = false
            } else if byte == escape {
                isEscaped = true
            } else if byte == end {
                stored.append(String(decoding: segment, as: UTF8.self))
                segment = []
            } else {
                segment.append(byte)
            }
        }
        return segment.isEmpty && !isEscaped ? stored : nil
    }

    /// Where a list goes on that has seen enough of `name` below `parent`: behind all of its subtree, before its next
    /// sibling.
    static func behind(_ name: String, in parent: Key) -> String {
        var bytes = Array(parent.encoded.utf8)
        append(name, to: &bytes)
        bytes.append(escape)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func normalised(_ text: String) -> String {
        var text = text
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            text.makeContiguousUTF8()
            return text
        }
        return text.precomposedStringWithCanonicalMapping
    }

    /// A segment that a user wrote, marked so that it is none of a URL's own.
    static func literal(_ segment: String) -> String {
        let text = normalised(segment)
        return text.unicodeScalars.first == Key.mark ? "\u{1}" + text : text
    }

    static func unmarked(_ stored: String) -> String {
        stored.utf8.starts(with: [1, 1]) ? String(decoding: stored.utf8.dropFirst(), as: UTF8.self) : stored
    }
}
