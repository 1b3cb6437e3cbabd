import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Wrong and hostile responses")
struct HostileResponseTests {
    private func raw(_ text: String) throws -> LoopbackServer { try LoopbackServer { _ in .raw(text) } }

    @Test("N-096: fewer bytes than announced")
    func truncated() async throws {
        let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        let error = await expectFailure(.truncatedBody) { try await get(server.urlString()) }
        #expect(error?.receivedBytes == 3)
        #expect(error?.expectedBytes == 10)
    }

    @Test(
        "N-096: chunks without the last one",
        arguments: ["5\r\nhello\r\n", "5\r\nhel", "5\r\nhello\r\n0\r\n", "5", ""])
    func unfinishedChunks(_ chunks: String) async throws {
        let server = try raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        await expectFailure(.truncatedBody) { try await get(server.urlString()) }
    }

    @Test("N-096: broken chunks are malformed", arguments: ["zz\r\nhello\r\n", "fffffffffffffffffffff\r\n"])
    func brokenChunks(_ chunks: String) async throws {
        let server = try raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        await expectFailure(.malformedResponse) { try await get(server.urlString()) }
    }

    @Test("N-096: a reset within the body is a truncated body")
    func reset() async throws {
        let server = try LoopbackServer { _ in
            .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
                connection.resetOnClose()
            }
        }
        await expectFailure(.truncatedBody) { try await get(server.urlString()) }
    }

    @Test("N-096: what exceeds the announced length is no part of the body")
    func surplus() async throws {
        let server = try LoopbackServer { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef") }
        let transport = makeTransport()
        #expect(try await get(server.urlString(), from: transport).body == Data("abc".utf8))
        #expect(try await get(server.urlString(), from: transport).body == Data("abc".utf8))
        #expect(server.counts.connections == 2)
    }

    @Test("N-096: without a length the body ends with the connection")
    func closeDelimited() async throws {
        let server = try raw("HTTP/1.0 200 OK\r\n\r\nabc")
        let response = try await get(server.urlString())
        #expect(response.body == Data("abc".utf8))
        #expect(response.version == "HTTP/1.0")
    }

    @Test(
        "N-096: lengths that contradict each other or are none",
        arguments: ["3\r\nContent-Length: 4", "3, 4", "-3", "abc", "99999999999999999999999"])
    func lengths(_ value: String) async throws {
        let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nabc")
        await expectFailure(.malformedResponse) { try await get(server.urlString()) }
    }

    @Test("N-096: chunks win over a length, and the connection is not used again")
    func chunksAndLength() async throws {
        let server = try LoopbackServer { _ in
            .chunked(headers: [("Content-Length", "2")], [Data("hello".utf8)])
        }
        let transport = makeTransport()
        for _ in 0..<2 {
            #expect(try await get(server.urlString(), from: transport).body == Data("hello".utf8))
        }
        #expect(server.counts.connections == 2)
    }

    @Test(
        "N-094: what is not HTTP",
        arguments: ["SSH-2.0-OpenSSH\r\n\r\n", "<html>hello</html>\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 20\r\n\r\n"])
    func garbage(_ text: String) async throws {
        let server = try raw(text)
        await expectFailure(.malformedResponse) { try await get(server.urlString()) }
    }

    @Test("N-094: a NUL in the head")
    func nul() async throws {
        let server = try raw("HTTP/1.1 200 OK\r\nX-A: a\0b\r\n\r\n")
        await expectFailure(.malformedResponse) { try await get(server.urlString()) }
    }

    @Test("N-096: a close, or a reset, before the head is a lost connection", arguments: [false, true])
    func lost(_ resets: Bool) async throws {
        let server = try LoopbackServer { _ in
            .script { if resets { $0.resetOnClose() } }
        }
        let error = await expectFailure(.connectionLost) { try await get(server.urlString()) }
        #expect(error?.isTransient == true)
    }

    @Test(
        "N-096: a close within the head is no response",
        arguments: ["HTTP/1.1 2", "HTTP/1.1 200 OK\r\nX-A: b", "HTTP/1.1 200 OK\r\nX-A: b\r\n"])
    func lostInHead(_ text: String) async throws {
        let server = try raw(text)
        let error = await #expect(throws: NetworkError.self) { try await get(server.urlString()) }
        #expect(error?.code == .connectionLost || error?.code == .malformedResponse)
    }

    @Test("N-094: heads over the limits end the connection")
    func largeHeads() async throws {
        let line = "X-A: " + String(repeating: "x", count: 60 * 1024) + "\r\n"
        let heads = [
            "X-A: " + String(repeating: "x", count: 70 * 1024) + "\r\n",
            "X-A: " + String(repeating: "x", count: 200 * 1024) + "\r\n",
            String(repeating: line, count: 5),
            String(repeating: "A: b\r\n", count: 501),
        ]
        for head in heads {
            let server = try LoopbackServer { _ in .stall(after: "HTTP/1.1 200 OK\r\n" + head + "\r\n") }
            await expectFailure(.headersTooLarge) { try await get(server.urlString()) }
            try await server.wait { $0.openConnections == 0 }
        }
    }

    @Test("N-094: an endless header line ends at the limit")
    func endlessLine() async throws {
        let server = try LoopbackServer { _ in
            .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\nX-A: ")
                let piece = Data(repeating: 0x78, count: 16 * 1024)
                while true { try connection.send(piece) }
            }
        }
        await expectFailure(.headersTooLarge) { try await get(server.urlString()) }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-094: more than 20 interim answers")
    func interim() async throws {
        let server = try raw(
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 21) + "HTTP/1.1 200 OK\r\n\r\n")
        await expectFailure(.headersTooLarge) { try await get(server.urlString()) }
    }

    @Test("N-094: control characters and folded lines in a head are read, not obeyed")
    func oddValues() async throws {
        let server = try raw("HTTP/1.1 200 OK\r\nX-A: a\rb\u{1}c\r\nX-B: one\r\n  two\r\nContent-Length: 0\r\n\r\n")
        let response = try await get(server.urlString())
        #expect(response.headers["X-A"] == "a b c")
        #expect(response.headers["X-B"] == "one two")
    }

    @Test("N-095: an announced length over the limit is refused before the body")
    func announced() async throws {
        let server = try LoopbackServer { _ in .stall(after: "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n") }
        await expectFailure(.bodyTooLarge) { try await get(server.urlString()) { $0.maxBodyBytes = 100 } }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-095: an endless body ends at the limit; a body of just the limit passes")
    func endless() async throws {
        let limit = 1024 * 1024
        let server = try LoopbackServer { request in
            if request.path == "/exact" { return .chunked([Data(repeating: 1, count: limit)]) }
            return .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                while true { try connection.send(Data(repeating: 1, count: 64 * 1024)) }
            }
        }
        await expectFailure(.bodyTooLarge) { try await get(server.urlString("/endless")) { $0.maxBodyBytes = limit } }
        try await server.wait { $0.openConnections == 0 }
        #expect(try await get(server.urlString("/exact")) { $0.maxBodyBytes = limit }.body.count == limit)
    }
}
