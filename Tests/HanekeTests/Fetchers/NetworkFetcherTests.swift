import Foundation
import HanekeNetwork
import TestSupport
import Testing

@testable import Haneke

@Suite("Network fetcher", .timeLimit(.minutes(1)))
struct NetworkFetcherTests {
    @Test("H-130: the key is the URL's text; a custom one may be given")
    func key() throws {
        let url = try #require(URL(string: "http://example.com/a?q=1#f"))
        #expect(NetworkFetcher<Data>(URL: url).key == "http://example.com/a?q=1#f")
        #expect(NetworkFetcher<Data>(URL: url).URL == url)
        #expect(NetworkFetcher<Data>(URL: url, key: "mine").key == "mine")
    }

    @Test("H-130, H-138: a user and password are no part of the key, unless asked for; headers never are")
    func keyWithoutCredentials() throws {
        let url = try #require(URL(string: "http://user:pass@example.com/a"))
        #expect(NetworkFetcher<Data>(URL: url, headers: ["Authorization": "x"]).key == "http://example.com/a")
        #expect(NetworkFetcher<Data>(URL: url, key: url.absoluteString).key == url.absoluteString)
    }

    @Test(
        "H-070, H-131: fetch(URL:) brings what the server answers, stores it, and asks only once",
        arguments: [200, 201, 203])
    func success(status: Int) async throws {
        let server = try LoopbackServer { _ in .response(status: status, body: "text") }
        let fixture = try CacheFixture(String.self)
        let fetch = fixture.cache.fetch(URL: server.url("/a"))
        #expect(try await fetch.value == "text")
        #expect(fetch.source == .network)
        #expect(try await fixture.cache.fetch(URL: server.url("/a")).value == "text")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: server.urlString("/a")).value == "text")
        #expect(server.requestCount == 1)
    }

    @Test("H-070: fetch(URL:) takes key, format, failure and success")
    func parameters() async throws {
        let server = try LoopbackServer { _ in .response(body: "text") }
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f") { $0 + "!" })
        let seen = Recorder<String>()
        fixture.cache.fetch(
            URL: server.url("/a?signature=1"), key: "a", formatName: "f", failure: { seen.record("\($0)") },
            success: { seen.record($0) })
        #expect(await seen.events(count: 1) == ["text!"])
        #expect(
            try await fixture.cache.fetch(URL: server.url("/a?signature=2"), key: "a", formatName: "f").value == "text!"
        )
        #expect(server.requestCount == 1)
    }

    @Test("H-131: 204 and 205 are empty data", arguments: [204, 205])
    func noContent(status: Int) async throws {
        let server = try LoopbackServer { _ in .response(status: status) }
        let fixture = try CacheFixture(Data.self)
        #expect(try await fixture.cache.fetch(URL: server.url()).value.isEmpty)
    }

    @Test("H-131: a part is a success only where a part was asked for")
    func partial() async throws {
        let server = try LoopbackServer { _ in
            .response(status: 206, headers: [("Content-Range", "bytes 0-3/9")], body: "part")
        }
        let fixture = try CacheFixture(String.self)
        let error = await thrown { _ = try await fixture.cache.fetch(URL: server.url()).value } as? HanekeError
        #expect(error?.code == .invalidStatusCode && error?.statusCode == 206)
        let asked = NetworkFetcher<String>(URL: server.url(), headers: ["Range": "bytes=0-3"])
        #expect(try await fixture.cache.fetch(fetcher: asked).value == "part")
    }

    @Test(
        "H-132: another status fails with -402, its text and its number, and nothing is cached",
        arguments: [
            (401, "unauthorized"), (402, "payment required"), (403, "forbidden"), (404, "not found"),
            (500, "internal server error"), (503, "service unavailable"), (599, "status 599"),
        ])
    func status(status: Int, text: String) async throws {
        let server = try LoopbackServer { _ in .response(status: status, body: "a page") }
        let fixture = try CacheFixture(String.self)
        let error = try #require(await thrown { _ = try await fixture.cache.fetch(URL: server.url()).value })
        #expect(error.hanekeCode == .invalidStatusCode)
        #expect("\(error)".contains(text))
        #expect((error as NSError).userInfo[HanekeError.statusCodeKey] as? Int == status)
        #expect(fixture.cache.contains(key: server.urlString()) == .none)
        #expect(try await fixture.cache.size == 0)
    }

    @Test("H-133: fewer bytes than announced fail with -401")
    func missingData() async throws {
        let server = try LoopbackServer { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfew") }
        let fixture = try CacheFixture(String.self)
        let error = await thrown { _ = try await fixture.cache.fetch(URL: server.url()).value }
        #expect(error.map(\.hanekeCode) == .missingData)
    }

    @Test("H-133: a body of unannounced length is accepted")
    func unknownLength() async throws {
        let server = try LoopbackServer { _ in .chunked([Data("some ".utf8), Data("pieces".utf8)]) }
        let fixture = try CacheFixture(String.self)
        #expect(try await fixture.cache.fetch(URL: server.url()).value == "some pieces")
    }

    @Test("H-134: bytes that do not decode fail with -400 and name the URL")
    func invalidData() async throws {
        let server = try LoopbackServer { _ in .response(body: "no JSON") }
        let fixture = try CacheFixture(JSON.self)
        let error = try #require(await thrown { _ = try await fixture.cache.fetch(URL: server.url("/bad")).value })
        #expect(error.hanekeCode == .invalidData)
        #expect("\(error)".contains(server.urlString("/bad")))
    }

    @Test("H-157: an error that a conversion throws lies beneath -400")
    func throwingConversion() async throws {
        let server = try LoopbackServer { _ in .response(body: "undecodable") }
        let fixture = try CacheFixture(SettingTests.Moody.self)
        let error = await thrown { _ = try await fixture.cache.fetch(URL: server.url()).value } as? HanekeError
        #expect(error?.code == .invalidData)
        #expect(error?.underlyingError as? TestFailure == TestFailure(2))
    }

    @Test("H-135: a file URL has no status; its bytes are the value, or the system's error is")
    func fileURL() async throws {
        let fixture = try CacheFixture(String.self)
        let path = try fixture.directory.file("a", Data("text".utf8))
        let fetch = fixture.cache.fetch(URL: URL(fileURLWithPath: path))
        #expect(try await fetch.value == "text")
        let missing = await thrown {
            _ = try await fixture.cache.fetch(URL: URL(fileURLWithPath: "/nowhere/at/all")).value
        }
        #expect((missing as? CocoaError)?.code == .fileReadNoSuchFile)
    }

    @Test("H-136: an error of the transport is delivered unchanged")
    func transportError() async throws {
        let fixture = try CacheFixture(String.self)
        let server = try LoopbackServer { _ in .raw("") }
        let error = await thrown { _ = try await fixture.cache.fetch(URL: server.url()).value }
        #expect((error as? NetworkError)?.code == .connectionLost)
    }

    @Test(
        "H-136, H-137: a fetch that is cancelled while the server thinks calls nothing, and the server sees the client leave"
    )
    func cancelMeanwhile() async throws {
        let left = Recorder<Int>()
        let arrived = Recorder<Int>()
        let server = try LoopbackServer { _ in
            arrived.record(1)
            return .script {
                $0.waitForClientToLeave()
                left.record(1)
            }
        }
        let fixture = try CacheFixture(String.self)
        let seen = Recorder<String>()
        let fetch = fixture.cache.fetch(
            URL: server.url(), failure: { seen.record("\($0)") }, success: { seen.record($0) })
        await arrived.events(count: 1)
        fetch.cancel()
        await left.events(count: 1)
        fixture.cache.callbackQueue.sync {}
        #expect(seen.events.isEmpty)
        #expect(await thrown { _ = try await fetch.value } is CancellationError)
    }

    @Test("H-137: cancelFetch before, during and after a fetch is safe")
    func cancelAnyTime() async throws {
        let server = try LoopbackServer { _ in .response(body: "text") }
        let fetcher = NetworkFetcher<String>(URL: server.url())
        let seen = Recorder<String>()
        fetcher.cancelFetch()
        fetcher.fetch(failure: { seen.record("\($0)") }, success: { seen.record($0) })
        await seen.events(count: 1)
        fetcher.cancelFetch()
        fetcher.fetch(failure: { _ in seen.record("cancelled") }, success: { _ in seen.record("cancelled") })
        fetcher.cancelFetch()
        fetcher.fetch(failure: { seen.record("\($0)") }, success: { seen.record($0) })
        #expect(await seen.events(count: 2).prefix(2) == ["text", "text"])
    }

    @Test("H-138: headers and method are per fetcher, the client per cache")
    func perFetcher() async throws {
        let server = try LoopbackServer { request in
            .response(
                body:
                    "\(request.method) \(request["X-Test"] ?? "none") \(String(decoding: request.body, as: UTF8.self))")
        }
        let directory = try TemporaryDirectory()
        let cache = Cache<String>(name: "c", directory: directory.url, client: NetworkClient())
        let get = NetworkFetcher<String>(URL: server.url("/get"), headers: ["X-Test": "7"], timeout: .seconds(50))
        #expect(try await cache.fetch(fetcher: get).value == "GET 7 ")
        let request = NetworkRequest(url: server.url("/post"), method: "POST", body: Data("body".utf8))
        #expect(try await cache.fetch(fetcher: NetworkFetcher<String>(request: request)).value == "POST none body")
    }

    @Test("H-139: reload asks the server again")
    func reload() async throws {
        let server = try LoopbackServer { _ in .response(body: "text") }
        let fixture = try CacheFixture(String.self)
        for _ in 0..<2 { _ = try await fixture.cache.fetch(URL: server.url(), policy: .reload).value }
        #expect(server.requestCount == 2)
    }

    @Test("H-065: many fetches of one URL at once are one request")
    func coalesced() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in LoopbackReply.response(body: "text").held(by: gate) }
        let fixture = try CacheFixture(String.self)
        let fetches = (0..<20).map { _ in fixture.cache.fetch(URL: server.url()) }
        gate.open()
        for fetch in fetches { #expect(try await fetch.value == "text") }
        #expect(server.requestCount == 1)
    }
}
