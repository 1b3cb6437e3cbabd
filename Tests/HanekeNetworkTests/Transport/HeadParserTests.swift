import Testing

@testable import HanekeNetwork

@Suite("Response heads")
struct HeadParserTests {
    private func parse(_ lines: [String]) throws -> HeadParser {
        var parser = HeadParser()
        for line in lines {
            let bytes = Array((line + "\r\n").utf8)
            _ = try bytes.withUnsafeBytes { try parser.take($0) }
        }
        return parser
    }

    @Test("N-100: interim heads, final head and trailers are kept apart")
    func parts() throws {
        let parser = try parse([
            "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "A: 1", "a:2", "", "T: end",
        ])
        #expect(parser.interim.map(\.status) == [103])
        #expect(parser.interim.first?.headers["link"] == "</a>")
        #expect(parser.final?.status == 200)
        #expect(parser.final?.version == "HTTP/1.1")
        #expect(parser.final?.headers.values(for: "a") == ["1", "2"])
        #expect(parser.trailers["t"] == "end")
    }

    @Test("N-094: a folded line continues the value, control characters become spaces")
    func values() throws {
        let parser = try parse(["HTTP/2 204", "A: one", "\t two ", "B: x\ry\u{1}z", ""])
        #expect(parser.final?.headers["A"] == "one two")
        #expect(parser.final?.headers["B"] == "x y z")
        #expect(parser.final?.version == "HTTP/2")
    }

    @Test("N-078: a value that is no UTF-8 is read as Latin-1")
    func latin1() throws {
        var parser = HeadParser()
        for line in [Array("HTTP/1.1 200 OK\r\n".utf8), Array("A: ".utf8) + [0xE4, 0x0D, 0x0A], [0x0D, 0x0A]] {
            _ = try line.withUnsafeBytes { try parser.take($0) }
        }
        #expect(parser.final?.headers["A"] == "ä")
    }

    @Test(
        "N-094: what is no status line is malformed",
        arguments: [
            "", "HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 abc", "ICY 200 OK", "HTTP/1.1 099 X",
        ])
    func statusLine(_ line: String) {
        #expect(throws: HeadParser.Problem.self) { try parse([line]) }
    }

    @Test(
        "N-094: what is no field line is malformed",
        arguments: [
            ["no colon"], [": empty name"], ["a b: x"], [" folded first"],
            ["Content-Length: 1", "Content-Length: 2", ""],
        ])
    func fieldLine(_ lines: [String]) {
        #expect(throws: HeadParser.Problem.self) { try parse(["HTTP/1.1 200 OK"] + lines) }
    }

    @Test("N-094: 500 fields pass, 501 do not")
    func fieldCount() throws {
        let fields = Array(repeating: "A: x", count: 500)
        _ = try parse(["HTTP/1.1 200 OK"] + fields + [""])
        #expect(throws: HeadParser.Problem.tooLarge("more than 500 fields")) {
            try parse(["HTTP/1.1 200 OK", "B: y"] + fields)
        }
    }

    @Test("N-094: lines, heads and interim answers have their limits")
    func sizes() throws {
        let line = "A: " + String(repeating: "x", count: 64 * 1024 - 5)
        _ = try parse(["HTTP/1.1 200 OK", line])
        #expect(throws: HeadParser.Problem.self) { try parse(["HTTP/1.1 200 OK", line + "x"]) }
        #expect(throws: HeadParser.Problem.self) { try parse(["HTTP/1.1 200 OK", line, line, line, line]) }
        let interim = Array(repeating: ["HTTP/1.1 100 Continue", ""], count: 20).flatMap(\.self)
        _ = try parse(interim)
        #expect(throws: HeadParser.Problem.self) { try parse(interim + ["HTTP/1.1 100 Continue", ""]) }
    }
}
