import Foundation

/// The form of a URL under which its responses are stored (N-039).
enum PrimaryKey {
    static func text(_ url: WebURL) -> String {
        let path = url.target.prefix { $0 != "?" }
        let query = url.target.dropFirst(path.count)
        let scheme = url.isSecure ? "https" : "http"
        return "\(scheme)://\(url.authority)\(withoutDotSegments(withPlainUnreserved(String(path))))\(query)"
    }

    /// Escapes of characters that need none are undone; other escapes get capital digits.
    private static func withPlainUnreserved(_ path: String) -> String {
        let bytes = Array(path.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let value = UInt8(String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
            else {
                result.append(bytes[index])
                index += 1
                continue
            }
            if ParameterEncoding.isUnreserved(value) {
                result.append(value)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(
                    contentsOf: String(decoding: bytes[index + 1...index + 2], as: UTF8.self).uppercased().utf8)
            }
            index += 3
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// RFC 3986, 5.2.4, for a path that begins with "/".
    static func withoutDotSegments(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
