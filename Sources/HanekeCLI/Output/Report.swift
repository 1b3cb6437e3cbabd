import Foundation

/// What a command has to say when it is done: one JSON document, or text for people.
protocol Report: Encodable {
    /// Lines for people, without the last line's end; empty to say nothing.
    var text: String { get }
}

extension Report {
    var text: String { "" }
}

extension JSONEncoder {
    /// Names in snake case and in order, on one line.
    static var report: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
