import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Exchanges over libcurl")
struct CurlTransportTests {
    @Test(
        "N-100: every status is a value, also without a body", arguments: [200, 201, 204, 304, 404, 410, 500, 503, 599])
    func statuses(_ status: Int) async throws {
        let server = try LoopbackServer { _ in .response(status: status, headers: [("X-A", "b")], body: "body") }
        let response = try await get(server.urlString())
        #expect(response.status == status)
        #expect(response.headers["x-a"] == "b")
        #expect(response.version == "HTTP/1.1")
        #expect(response.body == Data(status == 204 || status == 304 ? "".utf8 : "body".utf8))
        #expect(response.isSuccess == (status < 300))
    }

    @Test("N-100: the request arrives as it was given, with nothing of libcurl's own")
    func request() async throws {
        let server = try LoopbackServer { _ in .response() }
        let exchange = try await makeTransport().execute(
            TransportRequest(
                url: server.urlString("/a/../b?q=%20"), method: "PUT",
                headers: ["X-One": "1", "x-one": "2", "X-Empty": "", "Content-Type": "text/x"], body: Data("hello".utf8)
            ))
        _ = try await exchange.body.all()
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT")
        #expect(request.target == "/a/../b?q=%20")
        #expect(request.body == Data("hello".utf8))
        let lines = request.headers.map { "\($0.name): \($0.value)" }
        #expect(
            Set(lines) == [
                "Host: 127.0.0.1:\(server.port)", "X-One: 1", "x-one: 2", "X-Empty: ", "Content-Type: text/x",
                "Content-Length: 5",
            ])
    }

    @Test("N-100: a method of one's own, and POST without a body")
    func methods() async throws {
        let server = try LoopbackServer { .response(body: $0.method) }
        for method in ["DELETE", "OPTIONS", "PROPFIND", "PATCH", "POST"] {
            let response = try await get(server.urlString()) { $0.method = method }
            #expect(response.body == Data(method.utf8))
        }
        #expect(server.requests.last?["Content-Length"] == "0")
        let head = try await get(server.urlString()) { $0.method = "HEAD" }
        #expect(head.body.isEmpty)
        #expect(head.headers["Content-Length"] == "4")
    }

    @Test("N-100: a body of several MiB goes up whole")
    func upload() async throws {
        let server = try LoopbackServer { .response(body: "\($0.body.count)") }
        let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0) })
        let response = try await get(server.urlString()) {
            $0.method = "POST"
            $0.body = .data(bytes)
        }
        #expect(response.body == Data("3000000".utf8))
        #expect(server.requests.first?.body == bytes)
        #expect(response.metrics.sentBytes == 3_000_000)
    }

    @Test("N-100: interim heads, chunks, trailers and metrics come with the exchange")
    func parts() async throws {
        let server = try LoopbackServer { _ in
            .raw(
                "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-Sum: 7\r\n\r\n")
        }
        let exchange = try await makeTransport().execute(TransportRequest(url: server.urlString()))
        #expect(exchange.interimHeads.map(\.status) == [103])
        #expect(exchange.head.status == 200)
        var body = Data()
        while true {
            let part = try await exchange.body.next()
            if case .bytes(let bytes) = part { body.append(bytes) }
            if case .end(let trailers, let metrics) = part {
                #expect(trailers["x-sum"] == "7")
                #expect(metrics.receivedBytes == 11)
                #expect(metrics.total > .zero)
                #expect(!metrics.reusedConnection)
                break
            }
        }
        #expect(body == Data("hello world".utf8))
        #expect(try await exchange.body.next().bytes == nil, "after the end comes the end")
    }

    @Test("N-101: a connection is used again")
    func reuse() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        let transport = makeTransport()
        for _ in 0..<5 { _ = try await get(server.urlString(), from: transport) }
        let last = try await get(server.urlString(), from: transport)
        #expect(server.counts.connections == 1)
        #expect(last.metrics.reusedConnection)
    }

    @Test("N-090: a kept connection that the server has closed is replaced without an error")
    func staleConnection() async throws {
        let server = try LoopbackServer { _ in
            .script { try $0.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
        }
        let transport = makeTransport()
        for number in 1...3 {
            _ = try await get(server.urlString(), from: transport)
            try await server.wait { $0.openConnections == 0 && $0.requests == number }
        }
        #expect(server.counts.connections == 3)
    }

    @Test("N-101: 200 requests at once are all answered, each with its own body")
    func parallel() async throws {
        let server = try LoopbackServer { .response(body: $0.target) }
        let transport = makeTransport()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let response = try await get(server.urlString("/\(number)"), from: transport)
                    #expect(response.body == Data("/\(number)".utf8))
                }
            }
            try await group.waitForAll()
        }
        #expect(server.requestCount == 200)
    }

    @Test("N-101: a refused connection is an error of its own")
    func refused() async throws {
        let error = await expectFailure(.connect) { try await get("http://127.0.0.1:1/") }
        #expect(error?.isTransient == true)
        #expect(error?.underlying != nil)
    }

    @Test("N-084: a server that speaks no TLS is a TLS error, not a response")
    func noTLS() async throws {
        let server = try LoopbackServer { _ in .response() }
        let error = await expectFailure(.tls) { try await get("https://127.0.0.1:\(server.port)/") }
        #expect(error?.isTransient == false)
    }

    @Test("N-102: libcurl connects to the address that the lookup gave")
    func lookup() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        let transport = makeTransport(lookup: { $0.hasPrefix("known.test") ? ["127.0.0.1"] : [] })
        for host in ["known.test", "KNOWN.test", "known.test."] {
            let response = try await get("http://\(host):\(server.port)/", from: transport)
            #expect(response.body == Data("x".utf8))
        }
        #expect(server.requests.first?["Host"] == "known.test:\(server.port)")
    }

    @Test("N-088: a proxy gets the whole URL, its name is looked up and the target's is not")
    func proxy() async throws {
        let proxy = try LoopbackServer { _ in .response(body: "by proxy") }
        let resolver = HostResolver(lookup: { host in
            guard host == "proxy.test" else { throw HostResolver.LookupFailure(description: host) }
            return ["127.0.0.1"]
        })
        let transport = CurlTransport(
            resolver: resolver, environment: ["http_proxy": "http://proxy.test:\(proxy.port)"])
        let response = try await get("http://target.test/a?b", from: transport)
        #expect(response.body == Data("by proxy".utf8))
        #expect(proxy.requests.first?.target == "http://target.test/a?b")

        let direct = try LoopbackServer { _ in .response(body: "direct") }
        #expect(try await get(direct.urlString(), from: transport).body == Data("direct".utf8))
    }

    @Test("N-102: the second address is tried when the first does not answer")
    func secondAddress() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        let transport = makeTransport(lookup: { _ in ["::1", "127.0.0.1"] })
        let response = try await get("http://two.test:\(server.port)/", from: transport)
        #expect(response.status == 200)
    }

    @Test("N-102: an address that refused is looked up again")
    func refusedAddress() async throws {
        let count = Mutex(0)
        let transport = makeTransport(lookup: { _ in
            count.withLock { $0 += 1 }
            return ["127.0.0.1"]
        })
        for _ in 0..<2 { await expectFailure(.connect) { try await get("http://a.test:1/", from: transport) } }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("N-102: a name without an address is a lookup error")
    func noSuchName() async throws {
        let transport = makeTransport(lookup: { _ in throw HostResolver.LookupFailure(description: "no such name") })
        let error = await expectFailure(.dns) { try await get("http://nowhere.test/", from: transport) }
        #expect(error?.reason.contains("nowhere.test") == true)
    }

    @Test("N-102: a lookup that never ends delays nobody else")
    func stuckLookup() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        let gate = Gate()
        let asked = Gate()
        let transport = makeTransport(lookup: { host in
            if host == "stuck.test" {
                asked.open()
                gate.waitOnThread()
            }
            return ["127.0.0.1"]
        })
        let stuck = Task { try await get("http://stuck.test:\(server.port)/", from: transport) }
        await asked.opened()
        let other = try await get("http://other.test:\(server.port)/", from: transport)
        #expect(other.status == 200)
        #expect(server.requestCount == 1)
        gate.open()
        #expect(try await stuck.value.status == 200)
    }

    @Test("N-101: releasing the transport ends its thread and closes its connections")
    func release() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        _ = try await get(server.urlString(), from: makeTransport())
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-101: shutdown ends what is in flight, and later requests")
    func shutdown() async throws {
        let server = try LoopbackServer { $0.path == "/head" ? .stall(after: "HTTP/1.1 200 OK\r\n\r\n") : .stall() }
        let transport = makeTransport()
        let exchange = try await transport.execute(TransportRequest(url: server.urlString("/head")))
        let waiting = Task { try await get(server.urlString("/none"), from: transport) }
        try await server.wait { $0.requests == 2 }
        transport.shutdown()
        await expectFailure(.transportClosed) { try await exchange.body.next() }
        await expectFailure(.transportClosed) { try await waiting.value }
        await expectFailure(.transportClosed) { try await get(server.urlString(), from: transport) }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-101: a body keeps its transport alive")
    func bodyKeepsTransport() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in
            .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                gate.waitOnThread()
                try connection.send("hello")
            }
        }
        let exchange = try await makeTransport().execute(TransportRequest(url: server.urlString()))
        gate.open()
        #expect(try await exchange.body.all() == Data("hello".utf8))
    }
}
