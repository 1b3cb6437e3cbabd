// An http or https address that has been checked: what the module works with once a request is taken seriously.
import Foundation

/// An absolute http or https URL in the characters that may go on the wire (RFC 3986), without user and fragment.
struct WebURL: Sendable, Equatable {
    struct Credentials: Sendable, Equatable {
        let user: String
        let password: String
    }

    let isSecure: Bool
    /// Lower case; an IPv6 address without its brackets.
    let host: String
    let isIPv6Literal: Bool
    /// As written, else the scheme's own.
    let port: Int
    /// Path and query, beginning with "/".
    let target: String
    /// What stood before "@", percent-decoded.
    ///
    /// No part of `string`.
    let credentials: Credentials?

    static let lengthMax = 8 * 1024

    /// Throws `.badURL` with the reason.
    init(_ text: String) throws(NetworkError) {
        func bad(_ reason: String) -> NetworkError { .badURL(reason, url: text) }

        guard !text.isEmpty else { throw bad("it is empty; give an http or https URL") }
        guard text.utf8.count <= Self.lengthMax else { throw bad("it is longer than 8 KiB; shorten it") }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw bad("it holds a line break or another control character; percent-encode it")
        }
        guard let separator = text.range(of: "://") else {
            throw bad("it has no scheme; write http:// or https:// in front")
        }
        let scheme = String(text[..<separator.lowerBound])
        guard scheme.isSameToken(as: "http") || scheme.isSameToken(as: "https") else {
            throw bad("its scheme is \"\(Redaction.printable(scheme))\"; only http and https are fetched")
        }
        isSecure = scheme.isSameToken(as: "https")

        let afterScheme = text[separator.upperBound...]
        let authority = afterScheme.prefix { !"/?#\\".contains($0) }
        let at = authority.lastIndex(of: "@")
        credentials = try Self.credentials(at.map { authority[..<$0] }, bad)
        let place = try Self.place(at.map { authority[authority.index(after: $0)...] } ?? authority, bad)
        host = place.host
        isIPv6Literal = place.isIPv6Literal
        port = place.port ?? (isSecure ? 443 : 80)

        let rest = afterScheme[authority.endIndex...].prefix { $0 != "#" }
        let encoded = Self.percentEncoded(rest)
        target = encoded.hasPrefix("/") ? encoded : "/" + encoded
    }

    /// The whole URL again; a default port is left out.
    var string: String { "\(isSecure ? "https" : "http")://\(authority)\(target)" }

    /// Host and, unless it is the scheme's own, port: the value of the Host field.
    var authority: String {
        let name = isIPv6Literal ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// True if scheme, host and port agree (RFC 6454).
    func isSameOrigin(as other: WebURL) -> Bool {
        isSecure == other.isSecure && host == other.host && port == other.port
    }

    /// True for names and addresses that never leave this machine (RFC 6761, 6.3).
    var isLoopback: Bool {
        isLocalName || (isIPv4Literal && host.hasPrefix("127.")) || (isIPv6Literal && host == "::1")
    }

    /// True for "localhost" and what stands below it.
    var isLocalName: Bool { host == "localhost" || host.hasSuffix(".localhost") }

    var isIPv4Literal: Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    /// False if the host is an address already, or means this machine.
    var needsLookup: Bool { !isIPv6Literal && !isIPv4Literal && !isLocalName }

    /// The address that a reference such as "../a" or "//host/b" means here; nil if that is no http or https URL.
    func resolving(_ reference: String) -> WebURL? {
        let encoded = Self.percentEncoded(reference[...])
        guard let base = URL(string: string), let resolved = URL(string: encoded, relativeTo: base) else { return nil }
        return try? WebURL(resolved.absoluteString)
    }

    // MARK: Parts

    private static func credentials(
        _ userInfo: Substring?, _ bad: (String) -> NetworkError
    ) throws(NetworkError) -> Credentials? {
        guard let userInfo, !userInfo.isEmpty else { return nil }
        let user = userInfo.prefix { $0 != ":" }
        let password = userInfo.dropFirst(user.count + 1)
        guard let user = String(user).removingPercentEncoding, let password = String(password).removingPercentEncoding
        else { throw bad("the part before \"@\" is not percent-encoded UTF-8; encode it") }
        return Credentials(user: user, password: password)
    }

    private static func place(
        _ text: Substring, _ bad: (String) -> NetworkError
    ) throws(NetworkError) -> (host: String, isIPv6Literal: Bool, port: Int?) {
        var host = text
        var port: Int?
        let afterBracket = text.lastIndex(of: "]") ?? text.startIndex
        if let colon = text[afterBracket...].lastIndex(of: ":") {
            host = text[..<colon]
            let digits = text[text.index(after: colon)...]
            if !digits.isEmpty {
                guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
                    (1...65535).contains(number)
                else { throw bad("its port is \"\(digits)\"; ports go from 1 to 65535") }
                port = number
            }
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = host.dropFirst().dropLast()
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                throw bad("\"\(host)\" is no IPv6 address")
            }
            return (address.lowercased(), true, port)
        }
        guard !host.isEmpty else { throw bad("it names no host") }
        var name = host.lowercased()
        if !name.utf8.allSatisfy({ $0 < 0x80 }) {
            // Foundation knows how to write an international name in ASCII (RFC 5890).
            name = URL(string: "http://\(name)/")?.host(percentEncoded: true)?.lowercased() ?? name
        }
        guard name.utf8.count <= 255, name.utf8.allSatisfy(isHostByte) else {
            throw bad("its host \"\(Redaction.printable(String(host)))\" holds a character that no host name has")
        }
        return (name, false, port)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: "-._~".utf8.contains(byte)
        }
    }

    /// Encodes what may not stand in a path or query.
    ///
    /// Existing escapes stay, so nothing is encoded twice; a lone "%" becomes "%25".
    static func percentEncoded(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < bytes.count && isHex(bytes[index + 1])
                && isHex(bytes[index + 2])
            if isEscape || (byte != UInt8(ascii: "%") && isURLByte(byte)) {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(hexDigits[Int(byte >> 4)])
                result.append(hexDigits[Int(byte & 15)])
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private static func isHex(_ byte: UInt8) -> Bool { Character(Unicode.Scalar(byte)).isHexDigit }

    private static func isURLByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !"\"<>\\^`{|}".utf8.contains(byte)
    }
}
