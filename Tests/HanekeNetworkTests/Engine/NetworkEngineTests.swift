import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("The engine")
struct NetworkEngineTests {
    private typealias Answer = FakeTransport.Answer

    @Test(
        "N-007: one slash between parts, whatever was given",
        arguments: [
            ("api", "users", "https://h:8080/api/users"), ("/api/", "/users", "https://h:8080/api/users"),
            ("api", "", "https://h:8080/api"), ("api", "/", "https://h:8080/api"), ("", "", "https://h:8080/"),
            ("api/v2", "a/b/", "https://h:8080/api/v2/a/b/"), ("api", "a/../b/./c", "https://h:8080/api/b/c"),
            ("api", "%41 b%", "https://h:8080/api/%41%20b%25"), ("api", "a?x=1", "https://h:8080/api/a?x=1"),
        ])
    func paths(_ apiPath: String, _ path: String, _ expected: String) throws {
        let engine = try NetworkEngine(hostName: "h", portNumber: 8080, apiPath: apiPath)
        #expect(try engine.request(withPath: path).url.absoluteString == expected)
    }

    @Test("N-007: a path can't climb above the engine's own", arguments: ["..", "a/../..", "%2e%2E/x", ".%2e/"])
    func climbing(_ path: String) async throws {
        let engine = try NetworkEngine(hostName: "h", apiPath: "api")
        await expectFailure(.badURL) { try engine.request(withPath: path) }
    }

    @Test("N-006, N-007: hosts and ports are checked at once; without a host only whole URLs go")
    func hosts() async throws {
        for host in ["", "a b", "a/b", "a@b"] { await expectFailure(.badURL) { try NetworkEngine(hostName: host) } }
        await expectFailure(.badURL) { try NetworkEngine(hostName: "h", portNumber: 0) }
        await expectFailure(.badURL) { try NetworkEngine(hostName: "h", portNumber: 65536) }
        let engine = try NetworkEngine()
        await expectFailure(.noHostName) { try engine.request(withPath: "a") }
        await expectFailure(.badURL) { try engine.request(withURLString: "file:///etc/passwd") }
        #expect(try engine.request(withURLString: "http://h/a").url.absoluteString == "http://h/a")
    }

    @Test("N-014: parameters go into the query of GET, behind what is there, and into the body of POST")
    func parameters() throws {
        let engine = try NetworkEngine(hostName: "h")
        let parameters: RequestParameters = ["q": "a b", "n": 1, "no": nil]
        for (path, expected) in [("p", "/p?q=a%20b&n=1"), ("p?x", "/p?x&q=a%20b&n=1"), ("p?", "/p?q=a%20b&n=1")] {
            let url = try engine.request(withPath: path, params: parameters).url.absoluteString
            #expect(url == "https://h" + expected)
        }
        let post = try engine.request(withPath: "p", params: parameters, httpMethod: "POST")
        #expect(post.body?.data == Data("q=a+b&n=1".utf8))
        #expect(post.headers["Content-Type"] == "application/x-www-form-urlencoded")
    }

    @Test("N-008: the request's field replaces the engine's, and prepare sees every attempt", .timeLimit(.minutes(1)))
    func preparing() async throws {
        final class Signed: NetworkEngine, @unchecked Sendable {
            // Sendable: `count` is all it adds.
            let count = Counter()
            override func prepare(_ request: inout NetworkRequest) async throws {
                request.headers["X-Attempt"] = "\(count.next())"
            }
        }
        let transport = FakeTransport { _ in Answer(status: 503, headers: ["Retry-After": "0"]) }
        var configuration = EngineConfiguration()
        configuration.transport = transport
        configuration.queue = NetworkQueue(monitor: nil)
        configuration.random = { 0 }
        let engine = try Signed(
            hostName: "h", customHeaderFields: ["A": "engine", "B": "engine"], configuration: configuration)
        var request = try engine.request(withPath: "a")
        request.headers["a"] = "own"
        await expectFailure(.http) { [request] in try await engine.send(request) }
        #expect(transport.requests.map { $0.headers["X-Attempt"] } == ["1", "2", "3"])
        #expect(transport.requests.allSatisfy { $0.headers.values(for: "A") == ["own"] && $0.headers["B"] == "engine" })
    }

    @Test("N-079: 400 and above are errors with the answer in them, unless the service says otherwise")
    func validation() async throws {
        let bench = try EngineBench { _ in Answer(status: 404, body: "not here") }
        let error = await expectFailure(.http) { try await bench.get() }
        #expect(error?.response?.text == "not here")
        // Out of the cache it is the same.
        await expectFailure(.http) { try await bench.get() }
    }

    @Test(
        "N-090: what is repeated, and how often",
        arguments: [
            ("GET", 503, 3), ("GET", 408, 3), ("GET", 429, 3), ("GET", 502, 3), ("GET", 504, 3), ("GET", 500, 1),
            ("GET", 404, 1), ("POST", 503, 1), ("PUT", 503, 3), ("DELETE", 503, 3),
        ])
    func repeated(_ method: String, _ status: Int, _ expected: Int) async throws {
        let bench = try EngineBench(change: { $0.random = { 0 } }) { _ in Answer(status: status) }
        await expectFailure(.http) { try await bench.get(method: method) }
        #expect(bench.transport.count == expected)
    }

    @Test("N-090: a pause that the server asks for is kept, one over 120 s is an error with the number in it")
    func retryAfter() async throws {
        let bench = try EngineBench { _ in Answer(status: 503, headers: ["Retry-After": "121"]) }
        let error = await expectFailure(.retryAfter) { try await bench.get() }
        #expect(error?.retryAfter == 121 && error?.response?.status == 503 && bench.transport.count == 1)
        let policy = RetryPolicy()
        let now = receipt
        func verdict(_ value: String, attempt: Int = 0) -> RetryPolicy.Verdict {
            policy.verdict(503, ["Retry-After": value], attempt: attempt, random: 1, now: now)
        }
        #expect(verdict("7") == .retry(after: 7))
        #expect(verdict(httpDate(9)) == .retry(after: 9))
        #expect(verdict("soon") == .retry(after: 0.5))
        #expect(verdict("0", attempt: 1) == .retry(after: 1))
        #expect(verdict("0", attempt: 2) == .giveUp)
    }

    @Test("N-087: a redirect asks for a body again only if it can be sent again")
    func redirectBody() async throws {
        let bench = try EngineBench { _ in Answer(status: 307, headers: ["Location": "/b"]) }
        var request = try NetworkRequest("http://h/a", method: "POST")
        request.body = .stream(length: 1, isReplayable: false) { DataReader(Data("x".utf8)) }
        await expectFailure(.redirectNeedsBody) { [request] in try await bench.engine.send(request) }
    }

    @Test("N-092, N-093: what can't be sent takes no slot and is not sent")
    func refused() async throws {
        let bench = try EngineBench { _ in Answer() }
        await expectFailure(.invalidHeader) { try await bench.get(headers: ["X": "a\r\nb"]) }
        #expect(bench.transport.count == 0 && bench.queue.operationCount == 0)
    }

    @Test("N-002: one engine serves 64 tasks at once", .timeLimit(.minutes(1)))
    func manyTasks() async throws {
        let bench = try EngineBench { request in Answer(headers: ["Cache-Control": "max-age=9"], body: request.url) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<64 {
                group.addTask { try await bench.get("http://h/\(index % 8)").text == "http://h/\(index % 8)" }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(bench.queue.operationCount == 0)
    }
}
