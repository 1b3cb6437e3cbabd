import Foundation

/// The directives of all `Cache-Control` lines of a message (RFC 9111, 5.2), read strictly (N-045).
struct CacheControl: Sendable, Equatable {
    /// The value of a directive that counts seconds.
    enum Seconds: Sendable, Equatable {
        case absent
        case value(TimeInterval)
        /// Present and unusable, which is never read to the advantage of a stored response.
        case invalid

        /// The number, or nil.
        var number: TimeInterval? {
            guard case .value(let seconds) = self else { return nil }
            return seconds
        }
    }

    private struct Directive: Sendable, Equatable {
        let name: String
        /// As written, quotes included; nil without "=".
        let value: String?
        /// Blanks around the "=".
        let isLoose: Bool
    }

    /// What larger values count as: 2³¹.
    static let secondsMax: TimeInterval = 2_147_483_648

    private let directives: [Directive]

    init(_ headers: HTTPHeaders) { self.init(lines: headers.values(for: "Cache-Control")) }

    init(lines: [String]) {
        directives = lines.flatMap(Self.elements).compactMap { element in
            let whole = element.trimmingCharacters(in: .whitespaces)
            guard !whole.isEmpty else { return nil }
            guard let equals = whole.firstIndex(of: "=") else {
                return Directive(name: whole.lowercased(), value: nil, isLoose: false)
            }
            let (name, value) = (String(whole[..<equals]), String(whole[whole.index(after: equals)...]))
            let (bareName, bareValue) = (
                name.trimmingCharacters(in: .whitespaces), value.trimmingCharacters(in: .whitespaces)
            )
            return Directive(
                name: bareName.lowercased(), value: bareValue, isLoose: bareName != name || bareValue != value)
        }
    }

    var isEmpty: Bool { directives.isEmpty }

    /// True if the directive is there, with a value or without.
    func has(_ name: String) -> Bool { directives.contains { $0.name == name } }

    /// True if the directive is there without a value.
    func isBare(_ name: String) -> Bool { directives.contains { $0.name == name && $0.value == nil } }

    /// Digits, or digits in double quotes; everything else, and two that differ, is invalid.
    func seconds(_ name: String) -> Seconds {
        let found = directives.filter { $0.name == name }
        guard let first = found.first else { return .absent }
        let values = found.map(Self.number)
        guard let value = Self.number(first), values.allSatisfy({ $0 == value }) else { return .invalid }
        return .value(value)
    }

    private static func number(_ directive: Directive) -> TimeInterval? {
        guard !directive.isLoose, let text = directive.value else { return nil }
        let isQuoted = text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
        return deltaSeconds(isQuoted ? String(text.dropFirst().dropLast()) : text)
    }

    /// Digits only, clamped to 2³¹.
    static func deltaSeconds(_ text: String) -> TimeInterval? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return text.utf8.reduce(0) { min(secondsMax, $0 * 10 + TimeInterval($1 - 0x30)) }
    }

    /// Splits at the commas that stand in no quoted string.
    private static func elements(_ line: String) -> [String] {
        var elements: [String] = []
        var current = ""
        var (isQuoted, isEscaped) = (false, false)
        for character in line {
            switch character {
            case _ where isEscaped: isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case "," where !isQuoted:
                elements.append(current)
                current = ""
                continue
            default: break
            }
            current.append(character)
        }
        return elements + [current]
    }
}
