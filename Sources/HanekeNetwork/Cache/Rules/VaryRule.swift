import Foundation

/// Which of several stored responses a request means (RFC 9111, 4.1; N-040).
enum VaryRule {
    static let variantsMax = 20

    /// The fields that `Vary` names, each once, in lower case and sorted; nil for "*".
    static func names(_ headers: HTTPHeaders) -> [String]? {
        let names = headers.values(for: "Vary").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }.filter { !$0.isEmpty }
        guard !names.contains("*") else { return nil }
        return Array(Set(names)).sorted()
    }

    static func selectors(_ names: [String], in request: HTTPHeaders) -> [StoredHead.Selector] {
        names.map { .init(name: $0, value: normalized(request, $0)) }
    }

    /// True if the request has what the stored response was chosen by.
    static func matches(_ head: StoredHead, _ request: HTTPHeaders) -> Bool {
        head.selectors.allSatisfy { $0.value == normalized(request, $0.name) }
    }

    /// The newest by the origin's clock, then by ours.
    static func newest(_ heads: [StoredHead]) -> StoredHead? {
        heads.max { ($0.date, $0.responseTime) < ($1.date, $1.responseTime) }
    }

    /// All lines as one list, without blanks around commas.
    private static func normalized(_ headers: HTTPHeaders, _ name: String) -> String? {
        let values = headers.values(for: name)
        guard !values.isEmpty else { return nil }
        return values.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: ", ")
    }
}
