import Haneke

/// Where the value of a key lies below an exported directory.
///
/// A `/` between two names separates directories, so that an imported tree comes out as a tree. Everything else that no
/// file name can hold, or that would lead elsewhere, is escaped: `%` as `%25`, NUL as `%00`, `:` as `%3A`, any other `/` as
/// `%2F`, and the dots of the names `.` and `..` as `%2E`. Decoding the escapes gives the key back, so no two keys share a
/// path. Where a name would exceed 255 bytes or the path 1,024, the file is named by the MD5 digest of the key, in hex, and
/// the key's extension.
///
/// All of it works on bytes: as a `Character`, a slash with a combining mark behind it is no slash, but to the system it is.
struct ExportName: Equatable {
    /// Names of the directories, outermost first; none is empty, `.` or `..`, and none holds a slash.
    let directories: [String]
    let file: String

    static let longestName = 255
    static let longestPath = 1_024

    var path: String { (directories + [file]).joined(separator: "/") }

    /// The path of `key`.
    init(_ key: String) {
        let names = Self.names(of: Array(key.utf8))
        if names.allSatisfy({ $0.count <= Self.longestName }),
            names.reduce(names.count - 1, { $0 + $1.count }) <= Self.longestPath
        {
            let texts = names.map { String(decoding: $0, as: UTF8.self) }
            self.init(directories: texts.dropLast(), file: texts.last ?? "")
        } else {
            self.init(digestOf: key)
        }
    }

    /// The path of `key` without directories: for when a file stands where a directory should.
    init(flat key: String) {
        let pieces = Array(key.utf8).split(separator: Self.slash, omittingEmptySubsequences: false)
        let name = Array(pieces.map(Self.escaped).joined(separator: Self.escapedSlash))
        if name.count <= Self.longestName {
            self.init(directories: [], file: String(decoding: name, as: UTF8.self))
        } else {
            self.init(digestOf: key)
        }
    }

    private init(digestOf key: String) {
        let digest = MD5.hexadecimalDigest(of: Array(key.utf8))
        let pathExtension = Self.escaped(Self.pathExtension(of: Array(key.utf8)))
        let fits = digest.utf8.count + pathExtension.count <= Self.longestName
        self.init(directories: [], file: fits ? digest + String(decoding: pathExtension, as: UTF8.self) : digest)
    }

    private init(directories: [String], file: String) {
        self.directories = directories
        self.file = file
    }

    private static let slash = UInt8(ascii: "/")
    private static let escapedSlash = Array("%2F".utf8)

    /// The escaped names; a slash at the start or the end, or beside another one, is part of a name.
    private static func names(of key: [UInt8]) -> [[UInt8]] {
        var names: [[UInt8]] = []
        let pieces = key.split(separator: slash, omittingEmptySubsequences: false)
        for (index, piece) in pieces.enumerated() {
            let separates = index > 0 && !piece.isEmpty && !pieces[index - 1].isEmpty
            if index > 0, !separates, let last = names.popLast() {
                names.append(last + escapedSlash + escaped(piece))
            } else {
                names.append(escaped(piece))
            }
        }
        return names
    }

    /// What a single file name can hold: `piece` has no slash.
    private static func escaped(_ piece: ArraySlice<UInt8>) -> [UInt8] {
        if piece.elementsEqual(".".utf8) || piece.elementsEqual("..".utf8) {
            return piece.flatMap { _ in Array("%2E".utf8) }
        }
        return piece.flatMap { byte in
            switch byte {
            case UInt8(ascii: "%"): Array("%25".utf8)
            case UInt8(ascii: ":"): Array("%3A".utf8)
            case 0: Array("%00".utf8)
            default: [byte]
            }
        }
    }

    /// With its dot, without a URL's query or fragment; empty if there is none.
    private static func pathExtension(of key: [UInt8]) -> ArraySlice<UInt8> {
        let path = key.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let name = path[(path.lastIndex(of: slash).map { $0 + 1 } ?? 0)...]
        return name.lastIndex(of: UInt8(ascii: ".")).map { name[$0...] } ?? []
    }
}
