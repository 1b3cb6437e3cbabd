import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("The HTTP cache")
struct HTTPCacheTests {
    private typealias Answer = FakeTransport.Answer

    /// Numbers its bodies; answers a condition with 304.
    private func numbered(_ headers: HTTPHeaders, status: Int = 200) throws -> EngineBench {
        let count = Counter()
        return try EngineBench { request in
            if request.headers.contains("If-None-Match") { return Answer(status: 304, headers: headers) }
            return Answer(status: status, headers: headers, body: "\(count.next())")
        }
    }

    @Test("N-029, N-033: a fresh answer comes out of the cache, with its source and age")
    func fresh() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10", "X": "1"])
        let first = try await bench.get()
        #expect(first.source == .network && first.text == "1")
        bench.clock.advance(by: .seconds(4))
        let second = try await bench.get()
        #expect(second.source == .cacheFresh && second.text == "1" && second.age == 4)
        #expect(second.headers["Age"] == "4" && second.headers["X"] == "1" && !second.headers.contains("Warning"))
        #expect(bench.transport.count == 1)
    }

    @Test("N-051, N-052: a stale answer is asked about, and 304 makes it good again")
    func validation() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        _ = try await bench.get()
        bench.clock.advance(by: .seconds(11))
        let second = try await bench.get()
        #expect(second.source == .validated && second.notModified && second.status == 200 && second.text == "1")
        #expect(bench.transport.requests.last?.headers["If-None-Match"] == "\"a\"")
        #expect(try await bench.get().source == .cacheFresh)
        #expect(bench.transport.count == 2)
    }

    @Test("N-029: networkOnly reads nothing, sends no condition, and stores")
    func networkOnly() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        _ = try await bench.get()
        #expect(try await bench.get(policy: .networkOnly).text == "2")
        #expect(try await bench.get().text == "2")
    }

    @Test("N-029, N-048: cacheOnly gives what is there, however old, but nothing that must be checked")
    func cacheOnly() async throws {
        let bench = try numbered(["Cache-Control": "max-age=1"])
        await expectFailure(.cacheMiss) { try await bench.get(policy: .cacheOnly) }
        _ = try await bench.get()
        bench.clock.advance(by: .seconds(1_000_000))
        #expect(try await bench.get(policy: .cacheOnly).source == .cacheStale)
        let strict = try numbered(["Cache-Control": "max-age=1, must-revalidate"])
        _ = try await strict.get()
        strict.clock.advance(by: .seconds(2))
        await expectFailure(.mustRevalidate) { try await strict.get(policy: .cacheOnly) }
    }

    @Test("N-049: only-if-cached gives 504 on a miss and never asks; no-store neither reads nor writes")
    func directives() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10"])
        let error = await expectFailure(.http) { try await bench.get(headers: ["Cache-Control": "only-if-cached"]) }
        #expect(error?.response?.status == 504 && bench.transport.count == 0)
        _ = try await bench.get(headers: ["Cache-Control": "no-store"])
        #expect(try await bench.get().text == "2")
        #expect(try await bench.get(headers: ["Cache-Control": "no-store"]).text == "3")
        #expect(try await bench.get(headers: ["Cache-Control": "only-if-cached"]).text == "2")
    }

    @Test("N-030, N-031: the stored answer first, then the network's, in this order")
    func cacheThenNetwork() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        func all() async throws -> [HTTPResponse] {
            var result: [HTTPResponse] = []
            for try await response in try bench.engine.responses(for: NetworkRequest("http://h/a")) {
                result.append(response)
            }
            return result
        }
        #expect(try await all().map(\.source) == [.network])
        bench.clock.advance(by: .seconds(100))
        let both = try await all()
        #expect(both.map(\.source) == [.cacheStale, .validated])
        #expect(both.map(\.isFinal) == [false, true])
        #expect(both.map(\.text) == ["1", "1"])
    }

    @Test("N-030: a fresh immutable answer is final, without contact")
    func immutable() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10, immutable"])
        _ = try await bench.get()
        #expect(try await bench.get(policy: .cacheThenNetwork).source == .cacheFresh)
        #expect(bench.transport.count == 1)
    }

    @Test("N-050: a stale answer is given at once and refreshed behind it", .timeLimit(.minutes(1)))
    func staleWhileRevalidate() async throws {
        let count = Counter()
        let refreshed = Gate()
        let bench = try EngineBench { _ in
            let number = count.next()
            if number == 2 { refreshed.open() }
            return Answer(headers: ["Cache-Control": "max-age=1, stale-while-revalidate=9"], body: "\(number)")
        }
        _ = try await bench.get()
        bench.clock.advance(by: .seconds(5))
        #expect(try await bench.get().source == .cacheStale)
        await refreshed.opened()
        var latest = try await bench.get()
        while latest.text != "2" {
            await Task.yield()
            latest = try await bench.get()
        }
        #expect(latest.source == .cacheFresh && bench.transport.count == 2)
    }

    @Test("N-029, N-054: a stale answer stands in for an error only where that is permitted", arguments: [500, 0])
    func staleIfError(_ status: Int) async throws {
        let count = Counter()
        let bench = try EngineBench { _ in
            guard count.next() > 1 else { return Answer(headers: ["Cache-Control": "max-age=1"], body: "good") }
            if status == 0 { throw NetworkError(.tls, "scripted") }
            return Answer(status: status)
        }
        _ = try await bench.get()
        bench.clock.advance(by: .seconds(10))
        #expect(try await bench.get(policy: .staleIfError()).text == "good")
        await expectFailure(status == 0 ? .tls : .http) { try await bench.get() }
        #expect(try await bench.get(policy: .cacheOnly).text == "good")
        bench.clock.advance(by: .seconds(90_000))
        await expectFailure(status == 0 ? .tls : .http) { try await bench.get(policy: .staleIfError()) }
    }

    @Test("N-053: a 304 that matches nothing is asked again once without a condition, then malformed")
    func foreign304() async throws {
        let count = Counter()
        let bench = try EngineBench { _ in
            count.next() == 1
                ? Answer(headers: ["Cache-Control": "max-age=0", "ETag": "\"a\""], body: "1")
                : Answer(status: 304, headers: ["ETag": "\"b\""])
        }
        _ = try await bench.get()
        await expectFailure(.malformedResponse) { try await bench.get() }
        #expect(bench.transport.count == 3)
        #expect(bench.transport.requests.last?.headers.contains("If-None-Match") == false)
    }

    @Test("N-053: a caller's own condition goes past the cache, and its 304 comes as it is")
    func ownCondition() async throws {
        let bench = try numbered(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        _ = try await bench.get()
        #expect(try await bench.get(headers: ["If-None-Match": "\"a\""]).status == 304)
    }

    @Test("N-055: an unsafe request removes all variants, also of Location; a failed one removes nothing")
    func invalidation() async throws {
        let count = Counter()
        let bench = try EngineBench { request in
            switch request.method {
            case "GET": Answer(headers: ["Cache-Control": "max-age=100"], body: "\(count.next())")
            case "PUT": Answer(status: 500)
            default: Answer(headers: ["Location": "/b", "Content-Location": "http://other/a"])
            }
        }
        for url in ["http://h/a", "http://h/b", "http://other/a"] { _ = try await bench.get(url) }
        await expectFailure(.http) { try await bench.get(method: "PUT") }
        #expect(try await bench.get().text == "1")
        _ = try await bench.get(method: "PURGE")
        #expect(try await bench.get().text == "4")
        #expect(try await bench.get("http://h/b").text == "5")
        #expect(try await bench.get("http://other/a").text == "3")
    }

    @Test("N-055: what was asked before an unsafe request and answered after it is not stored as fresh")
    func race() async throws {
        let count = Counter()
        let (asked, gate) = (Gate(), Gate())
        let bench = try EngineBench { request in
            guard request.method == "GET" else { return Answer() }
            let number = count.next()
            if number == 1 {
                asked.open()
                await gate.opened()
            }
            return Answer(headers: ["Cache-Control": "max-age=100"], body: "\(number)")
        }
        async let old = bench.get()
        await asked.opened()
        _ = try await bench.get(method: "DELETE")
        gate.open()
        #expect(try await old.text == "1")
        #expect(try await bench.get().text == "2")
    }

    @Test("N-056: a fresh entry answers HEAD; a HEAD that differs makes the entry stale")
    func head() async throws {
        let bench = try EngineBench { request in
            Answer(
                headers: ["Cache-Control": "max-age=100", "ETag": request.method == "GET" ? "\"a\"" : "\"b\""],
                body: "x")
        }
        _ = try await bench.get()
        let head = try await bench.get(method: "HEAD")
        #expect(head.source == .cacheFresh && head.text.isEmpty)
        _ = try await bench.get(method: "HEAD", policy: .networkOnly)
        #expect(bench.transport.count == 2)
        _ = try await bench.get()
        #expect(bench.transport.count == 3)
    }

    @Test("N-057: a range goes to the server untouched and is not stored")
    func range() async throws {
        let bench = try numbered(["Cache-Control": "max-age=100", "ETag": "\"a\""])
        _ = try await bench.get()
        #expect(try await bench.get(headers: ["Range": "bytes=0-1"]).text == "2")
        #expect(bench.transport.requests.last?.headers.contains("If-None-Match") == false)
        #expect(try await bench.get().text == "1")
    }

    @Test("N-037: a later no-store answer leaves the entry, but makes it doubtful")
    func noStoreLater() async throws {
        let count = Counter()
        let bench = try EngineBench { _ in
            let number = count.next()
            return Answer(
                headers: ["Cache-Control": number == 2 ? "no-store" : "max-age=100", "ETag": "\"\(number)\""],
                body: "\(number)")
        }
        _ = try await bench.get()
        #expect(try await bench.get(headers: ["Cache-Control": "no-cache"]).text == "2")
        #expect(try await bench.get().text == "3")
        #expect(bench.transport.requests.last?.headers["If-None-Match"] == "\"1\"")
    }

    @Test("N-038: who asks with other credentials gets another answer, and no secret is in a key")
    func partitions() async throws {
        let bench = try numbered(["Cache-Control": "max-age=100"])
        #expect(try await bench.get(headers: ["Authorization": "Bearer one"]).text == "1")
        #expect(try await bench.get(headers: ["Authorization": "Bearer two"]).text == "2")
        #expect(try await bench.get().text == "3")
        #expect(try await bench.get(headers: ["Authorization": "Bearer one"]).text == "1")
        #expect(!bench.cache.partition(["Authorization": "Bearer one"]).contains("one"))
        #expect(bench.cache.partition([:]).isEmpty)
    }

    @Test("N-040: variants lie side by side, at most twenty")
    func variants() async throws {
        let bench = try numbered(["Cache-Control": "max-age=100", "Vary": "Accept"])
        for type in ["a", "b"] { _ = try await bench.get(headers: ["Accept": type]) }
        #expect(try await bench.get(headers: ["Accept": "a"]).text == "1")
        #expect(try await bench.get(headers: ["Accept": "b"]).text == "2")
        for type in 0..<25 { _ = try await bench.get(headers: ["Accept": "t\(type)"]) }
        #expect(bench.cache.variants(url: try WebURL("http://h/a"), partition: "").count == 20)
    }

    @Test("N-042: a body over a tenth of the capacity is delivered and not kept")
    func tooLarge() async throws {
        let bench = try EngineBench(capacityBytes: 100_000) { _ in
            Answer(headers: ["Cache-Control": "max-age=100"], body: String(repeating: "x", count: 10_001))
        }
        for _ in 0..<2 { #expect(try await bench.get().source == .network) }
    }

    @Test("N-010: what is emptied can't be read, nor come back by what was asked before")
    func emptied() async throws {
        let bench = try numbered(["Cache-Control": "max-age=100"])
        _ = try await bench.get()
        try bench.engine.emptyCache()
        #expect(try await bench.get().text == "2")
    }

    @Test("N-087: each hop of a redirect is an entry of its own")
    func redirects() async throws {
        let bench = try EngineBench { request in
            request.url.hasSuffix("/a")
                ? Answer(status: 301, headers: ["Location": "/b"], body: "moved")
                : Answer(headers: ["Cache-Control": "max-age=1"], body: "end")
        }
        #expect(try await bench.get().text == "end")
        bench.clock.advance(by: .seconds(2))
        #expect(try await bench.get().url.path == "/b")
        #expect(bench.transport.requests.map(\.url) == ["http://h/a", "http://h/b", "http://h/a", "http://h/b"])
    }

    @Test(
        "N-038: SHA-256 and HMAC give the values of FIPS 180 and RFC 4231",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func digests(_ text: String, _ expected: String) {
        #expect(SHA256Digest.hash(text.utf8).hexadecimal == expected)
        let mac = SHA256Digest.hmac("what do ya want for nothing?".utf8, key: Array("Jefe".utf8))
        #expect(mac.hexadecimal == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}
