import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Packed bodies")
struct ContentDecoderTests {
    private let text = Data(String(repeating: "the quick brown fox. ", count: 5_000).utf8)

    /// Decodes in pieces of `step` bytes.
    private func decode(_ bytes: Data, _ coding: String, step: Int = 1_000_000) throws -> Data {
        let head = ResponseHead(status: 200, headers: ["Content-Encoding": coding])
        var decoder = try ContentDecoder(head, target: WebURL("http://h/"))
        var result = Data()
        var rest = bytes
        let isActive = decoder.isActive
        while !rest.isEmpty {
            try decoder.decode(rest.prefix(step)) {
                #expect(!isActive || $0.count <= 64 * 1024)
                result.append($0)
            }
            rest = rest.dropFirst(step)
        }
        try decoder.finish()
        return result
    }

    private func expect(_ code: NetworkError.Code, _ body: () throws -> Data) {
        let error = #expect(throws: NetworkError.self) { _ = try body() }
        #expect(error?.code == code)
    }

    @Test("N-097: gzip, zlib and raw deflate, in pieces of any size", arguments: [1, 2, 3, 7, 1_000, 1_000_000])
    func formats(_ step: Int) throws {
        #expect(try decode(text.packed(.gzip), "gzip", step: step) == text)
        #expect(try decode(text.packed(.gzip), " X-GZIP ", step: step) == text)
        #expect(try decode(text.packed(.zlib), "deflate", step: step) == text)
        #expect(try decode(text.packed(.rawDeflate), "deflate", step: step) == text)
        #expect(try decode(text, "identity", step: step) == text)
    }

    @Test("N-097: members follow each other, garbage after the last is ignored", arguments: [1, 5, 1_000_000])
    func members(_ step: Int) throws {
        let two = try text.packed(.gzip) + Data("second".utf8).packed(.gzip)
        #expect(try decode(two, "gzip", step: step) == text + Data("second".utf8))
        #expect(try decode(two + Data("garbage".utf8), "gzip", step: step) == text + Data("second".utf8))
        #expect(try decode(two + Data([0x1F]), "gzip", step: step) == text + Data("second".utf8))
    }

    @Test("N-097: a stream cut anywhere is truncated")
    func cut() throws {
        let packed = try Data("hello, hello, hello".utf8).packed(.gzip)
        for length in 1..<packed.count {
            expect(.truncatedBody) { try decode(packed.prefix(length), "gzip") }
        }
        #expect(try decode(Data(), "gzip").isEmpty)
    }

    @Test("N-097: any flipped byte of the data or its checksum is noticed")
    func flipped() throws {
        let packed = try Data((0..<200).map { UInt8(truncatingIfNeeded: $0 &* 97) }).packed(.gzip)
        for index in 10..<packed.count {
            var broken = packed
            broken[index] ^= 0x55
            let error = #expect(throws: NetworkError.self, "byte \(index)") { try decode(broken, "gzip") }
            #expect([.malformedResponse, .truncatedBody].contains(error?.code))
        }
        expect(.malformedResponse) { try decode(Data("not gzip at all".utf8), "gzip") }
    }

    @Test("N-097: two codings are undone in reverse order, three are refused")
    func stacked() throws {
        let twice = try text.packed(.zlib).packed(.gzip)
        #expect(try decode(twice, "deflate, gzip", step: 10) == text)
        expect(.malformedResponse) { try decode(twice, "gzip, gzip, gzip") }
    }

    @Test("N-097: an unknown coding leaves the body as it came")
    func unknown() throws {
        let packed = try text.packed(.gzip)
        #expect(try decode(packed, "br") == packed)
        #expect(try decode(packed, "gzip, br") == packed)
    }

    @Test("N-097: a bomb is stopped soon after 1 MiB, also when it hides in two layers")
    func bombs() throws {
        let zeros = Data(count: 64 * 1024 * 1024)
        let packed = try zeros.packed(.gzip)
        for (bytes, coding) in [(packed, "gzip"), (try packed.packed(.gzip), "gzip, gzip")] {
            let head = ResponseHead(status: 200, headers: ["Content-Encoding": coding])
            var decoder = try ContentDecoder(head, target: WebURL("http://h/"))
            var decoded = 0
            let error = #expect(throws: NetworkError.self) {
                var rest = bytes
                while !rest.isEmpty {
                    try decoder.decode(rest.prefix(1_024)) { decoded += $0.count }
                    rest = rest.dropFirst(1_024)
                }
            }
            #expect(error?.code == .decompressionBomb)
            #expect(decoded <= 2 * 1024 * 1024)
        }
    }

    @Test("N-097: a regular body under 1 MiB is no bomb")
    func regular() throws {
        let zeros = Data(count: 1024 * 1024)
        #expect(try decode(zeros.packed(.gzip), "gzip") == zeros)
    }

    @Test("N-097: over the wire: whole, cut, and counted against the limit after unpacking")
    func overTheWire() async throws {
        let packed = try text.packed(.gzip)
        let server = try LoopbackServer { request in
            let encoding = ("Content-Encoding", "gzip")
            return switch request.path {
            case "/cut": .response(headers: [encoding], body: packed.prefix(packed.count - 4))
            case "/head": .response(status: 304, headers: [encoding])
            default: .chunked(headers: [encoding], [packed.prefix(11), packed.dropFirst(11)])
            }
        }
        let whole = try await get(server.urlString("/whole"))
        #expect(whole.body == text)
        #expect(whole.headers["Content-Encoding"] == "gzip")
        #expect(server.requests.first?["Accept-Encoding"] == "gzip, deflate")
        await expectFailure(.truncatedBody) { try await get(server.urlString("/cut")) }
        await expectFailure(.bodyTooLarge) { try await get(server.urlString("/whole")) { $0.maxBodyBytes = 100_000 } }
        #expect(try await get(server.urlString("/head")).body.isEmpty)
    }
}
