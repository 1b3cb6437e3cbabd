// Keeps secrets out of everything that is printed: error texts, descriptions, logs.
import Foundation

enum Redaction {
    static let mark = "***"

    static func isSecretField(_ name: String) -> Bool {
        secretFields.contains { $0.isSameToken(as: name) }
    }

    /// The URL with user information and the values of secret query parameters replaced, in one printable line.
    static func url(_ text: String) -> String {
        var text = printable(text)
        if let scheme = text.range(of: "://") {
            let authorityEnd = text[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? text.endIndex
            if let at = text[scheme.upperBound..<authorityEnd].lastIndex(of: "@") {
                text.replaceSubrange(scheme.upperBound..<at, with: mark)
            }
        }
        guard let question = text.firstIndex(of: "?") else { return text }
        let queryStart = text.index(after: question)
        let queryEnd = text[queryStart...].firstIndex(of: "#") ?? text.endIndex
        let pairs = text[queryStart..<queryEnd].split(separator: "&", omittingEmptySubsequences: false)
        let shown = pairs.map { pair -> String in
            let name = pair.prefix { $0 != "=" }
            let decoded = name.removingPercentEncoding ?? String(name)
            let isSecret = name.count < pair.count && secretParameters.contains { $0.isSameToken(as: decoded) }
            return isSecret ? "\(name)=\(mark)" : String(pair)
        }
        return text.replacingCharacters(in: queryStart..<queryEnd, with: shown.joined(separator: "&"))
    }

    /// The text with control characters escaped and cut to 200 characters.
    static func printable(_ text: String) -> String {
        let start = text.prefix(200)
        let escaped = start.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.value < 0x20 || scalar.value == 0x7F {
                result += scalar.escaped(asASCII: true)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return start.endIndex == text.endIndex ? escaped : escaped + "…"
    }

    private static let secretFields = [
        "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key",
    ]
    private static let secretParameters = [
        "token", "access_token", "api_key", "key", "password", "secret", "sig", "signature", "code",
    ]
}
