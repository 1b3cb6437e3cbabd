internal import Foundation

/// The name of a file into which a value is copied out of a cache: the key, as far as file systems can hold it.
///
/// The disk tier itself has no such files; this is for programs that export values, and for readers of older caches.
public enum ExportedFileName {
    /// What common file systems take, in bytes of UTF-8.
    private static let bytesMax = 255

    /// The file name for a key.
    ///
    /// `%`, NUL, `:` and `/` are escaped as `%25`, `%00`, `%3A` and `%2F`, nothing else. A name of more than 255 bytes becomes
    /// the MD5 digest of the key in hexadecimal and the extension of the key's path, if that fits.
    public static func name(forKey key: String) -> String {
        let escaped = escape(key)
        guard escaped.utf8.count > bytesMax else { return escaped }
        let digest = MD5.hexadecimalDigest(of: Array(key.utf8))
        let suffix = pathExtension(of: key)
        guard !suffix.isEmpty, digest.utf8.count + 1 + suffix.utf8.count <= bytesMax else { return digest }
        return "\(digest).\(suffix)"
    }

    private static func escape(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": escaped.append(contentsOf: "%25".unicodeScalars)
            case "\0": escaped.append(contentsOf: "%00".unicodeScalars)
            case ":": escaped.append(contentsOf: "%3A".unicodeScalars)
            case "/": escaped.append(contentsOf: "%2F".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// What follows the last point of the last part of the path, without a query or fragment, escaped.
    private static func pathExtension(of key: String) -> String {
        let path = key.prefix { $0 != "?" && $0 != "#" }
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let point = last.lastIndex(of: "."), point != last.startIndex else { return "" }
        return escape(String(last[last.index(after: point)...]))
    }
}
