import Foundation
import Testing

@testable import HanekeCLI

/// The table of wordings against what the libraries write today: their sources are the reference.
@Suite("Tool wording")
struct ToolWordingTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func source(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// All Swift sources of the network layer in one text, with what is interpolated into texts put in its place.
    private static func network() throws -> String {
        let folder = root.appendingPathComponent("Sources/HanekeNetwork")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let paths = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
        return try paths.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    }

    @Test("each text that is replaced is one that a library writes")
    func replaced() throws {
        let libraries = try Self.source("CSources/CHaneke/src/status.c") + Self.network()
        let phases = ["connect", "firstByte", "idle", "slow", "attempt"].map { "`timeouts.\($0)`" }
        for (library, _) in ToolWording.table {
            let text = phases.reduce(library) {
                $0.replacingOccurrences(of: $1, with: #"`timeouts.\(phase.rawValue)`"#)
            }
            #expect(libraries.contains(text), "\(library)")
        }
    }

    @Test("no sentence of a status names an option of the C interface after that")
    func statuses() throws {
        let sentences = try Self.source("CSources/CHaneke/src/status.c")
            .matches(of: /X\(HNK_[A-Z_]+, "([^"]*)"\)/).map { String($0.output.1) }
        #expect(sentences.count > 20)
        for sentence in sentences.map(ToolWording.of) {
            #expect(sentence.firstMatch(of: /HNK_|haneke\.h|_max|_bytes|_ms/) == nil, "\(sentence)")
        }
    }

    @Test("no text of the network layer names a property in back-ticks after that")
    func network() throws {
        let texts = try Self.network().split(separator: "\n")
            .filter { $0.contains(/^[^\/]*".*`[a-z][A-Za-z.]*`/) }
            .map { $0.replacingOccurrences(of: #"\(phase.rawValue)"#, with: "idle") }
        #expect(texts.count > 2)
        for text in texts { #expect(!ToolWording.of(text).contains("`"), "\(text)") }
    }
}
