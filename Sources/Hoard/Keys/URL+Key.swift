// URLs as keys: host, then path, with what else tells URLs apart in marked segments of their own.

public import Foundation

extension URL: Keyable {
    /// The host and the pieces of the path: `http://cdn.google.com/some/asset.png` is `cdn.google.com`, `some`, `asset.png`.
    ///
    /// Scheme and port where they are not http's, a user and a query are segments too, so that no two URLs meet: the
    /// origin stands behind the host and the query at the end. The password and the fragment are left out. Removing a host
    /// removes all of its URLs.
    public func asKey() -> Key {
        let text = absoluteString
        var rest = Substring(text)
        if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        var query: Substring?
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[rest.utf8.index(after: mark)...]
            rest = rest[..<mark]
        }
        let scheme = (self.scheme ?? "").lowercased()
        if let colon = rest.firstIndex(of: ":"), !scheme.isEmpty { rest = rest[rest.index(after: colon)...] }
        var authority: Substring = ""
        let hasAuthority = rest.hasPrefix("//")
        if hasAuthority {
            rest = rest.dropFirst(2)
            authority = rest.prefix { $0 != "/" }
            rest = rest[authority.endIndex...]
        }
        var stored: [String] = []
        let origin = Origin(scheme: scheme, authority: authority)
        if !origin.host.isEmpty { stored.append(KeyEncoding.literal(origin.host)) }
        if let mark = origin.segment { stored.append(mark) }
        if origin.host.isEmpty, !rest.hasPrefix("/") {
            if !rest.isEmpty { stored.append(Self.piece(rest)) }
        } else if rest.count > 1 {
            stored += rest.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(Self.piece)
        }
        if let query { stored.append("\u{1}q:" + query) }
        return stored.isEmpty ? .invalid : Key(stored: stored)
    }

    private static func piece(_ text: Substring) -> String {
        if text.isEmpty { return "\u{1}e" }
        // Not UTF-8 when decoded: kept as it is, behind a mark, so that %FF and %25FF stay two.
        guard let decoded = text.removingPercentEncoding else { return "\u{1}x:" + text }
        return KeyEncoding.literal(decoded)
    }
}

/// Scheme, user, host and port of a URL.
private struct Origin {
    let scheme: String
    let host: String
    let user: Substring?
    let port: Int?

    init(scheme: String, authority: Substring) {
        self.scheme = scheme
        var rest = authority
        if let at = rest.lastIndex(of: "@") {
            user = rest[..<at].prefix { $0 != ":" }
            rest = rest[rest.index(after: at)...]
        } else {
            user = nil
        }
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            port = Int(rest[rest.index(after: colon)...])
            rest = rest[..<colon]
        } else {
            port = nil
        }
        // Foundation gives international names in their ASCII form.
        let name = (rest.hasPrefix("[") ? String(rest) : rest.removingPercentEncoding ?? String(rest)).lowercased()
        host = name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// nil for the canonical case: http, its port, no user.
    var segment: String? {
        let usual = ["http": 80, "https": 443, "ftp": 21][scheme]
        let isUsual = port == nil || port == usual
        if scheme == "http", isUsual, user == nil { return nil }
        guard !host.isEmpty else { return "\u{1}o:\(scheme)" }
        let number = (port ?? usual).map(String.init) ?? ""
        return "\u{1}o:\(scheme):" + (user.map { "\($0)@" } ?? "") + number
    }
}

#if canImport(Darwin)
    extension NSURL: Keyable {
        /// As the `URL` of the same text.
        public func asKey() -> Key { (self as URL).asKey() }
    }
#endif
