import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Exchanges over URLSession")
struct URLSessionTransportTests {
    private let client = NetworkClient(transport: URLSessionTransport())

    @Test("N-104: every status is a value", arguments: [200, 204, 404, 500])
    func statuses(_ status: Int) async throws {
        let server = try LoopbackServer { _ in .response(status: status, headers: [("X-A", "b")], body: "body") }
        let response = try await client.send(NetworkRequest(server.urlString()))
        #expect(response.status == status)
        #expect(response.headers["x-a"] == "b")
        #expect(response.body == Data(status == 204 ? "".utf8 : "body".utf8))
    }

    @Test("N-103: a login challenge ends: with the 401, or with an error where Foundation can't deliver it")
    func challenge() async throws {
        let server = try LoopbackServer { _ in
            .response(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"r\"")])
        }
        let request = try NetworkRequest(server.urlString())
        #if canImport(FoundationNetworking)
            await expectFailure(.transport) { try await client.send(request) }
        #else
            #expect(try await client.send(request).status == 401)
        #endif
    }

    @Test("N-103: method, fields and body arrive; no cookie comes back")
    func request() async throws {
        let server = try LoopbackServer { _ in .response(headers: [("Set-Cookie", "a=b")]) }
        for _ in 0..<2 {
            _ = try await client.send(
                NetworkRequest(server.urlString("/p?q"), method: "POST", headers: ["X-A": "b"], body: Data("hi".utf8)))
        }
        let request = try #require(server.requests.last)
        #expect(request.method == "POST")
        #expect(request.target == "/p?q")
        #expect(request["X-A"] == "b")
        #expect(request["Cookie"] == nil)
        #expect(request.body == Data("hi".utf8))
    }

    @Test("N-087: redirects are followed by the client, not by the session")
    func redirects() async throws {
        let server = try LoopbackServer { request in
            request.path == "/a" ? .response(status: 302, headers: [("Location", "/b")]) : .response(body: "end")
        }
        #expect(try await client.send(NetworkRequest(server.urlString("/a"))).body == Data("end".utf8))
        var request = try NetworkRequest(server.urlString("/a"))
        request.followsRedirects = false
        #expect(try await client.send(request).status == 302)
    }

    @Test("N-097: a packed body comes unpacked, once")
    func packed() async throws {
        let text = Data(String(repeating: "text ", count: 1_000).utf8)
        let packed = try text.packed(.gzip)
        let server = try LoopbackServer { _ in .response(headers: [("Content-Encoding", "gzip")], body: packed) }
        #expect(try await client.send(NetworkRequest(server.urlString())).body == text)
    }

    @Test("N-104: refused and truncated have the codes of the other transport")
    func failures() async throws {
        let server = try LoopbackServer { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") }
        await expectFailure(.connect) { try await client.send(NetworkRequest("http://127.0.0.1:1/")) }
        await expectFailure(.truncatedBody) { try await client.send(NetworkRequest(server.urlString())) }
    }

    @Test("N-091: a cancel ends the wait, and the connection")
    func cancel() async throws {
        let server = try LoopbackServer { _ in .stall() }
        let task = Task { try await client.send(NetworkRequest(server.urlString())) }
        try await server.wait { $0.requests == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-089: limits run out by phase")
    func timeouts() async throws {
        let server = try LoopbackServer { request in
            .stall(after: request.path == "/idle" ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc" : "")
        }
        var request = try NetworkRequest(server.urlString("/idle"))
        request.timeouts.idle = .milliseconds(50)
        let idle = await expectFailure(.timeout) { try await client.send(request) }
        #expect(idle?.phase == .idle)
        request = try NetworkRequest(server.urlString("/never"))
        request.timeouts.connect = .milliseconds(20)
        request.timeouts.firstByte = .milliseconds(20)
        let firstByte = await expectFailure(.timeout) { try await client.send(request) }
        #expect(firstByte?.phase == .firstByte)
    }

    @Test("N-095: the limit on the body is kept")
    func limit() async throws {
        let server = try LoopbackServer { _ in .chunked([Data(count: 200_000)]) }
        var request = try NetworkRequest(server.urlString())
        request.maxBodyBytes = 100_000
        await expectFailure(.bodyTooLarge) { try await client.send(request) }
    }

    @Test("N-100: many at once, and bodies larger than the buffer")
    func parallel() async throws {
        let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 >> 3) })
        let server = try LoopbackServer { _ in .response(body: bytes) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let response = try await client.send(NetworkRequest(server.urlString()))
                    #expect(response.body == bytes)
                }
            }
            try await group.waitForAll()
        }
    }
}
