import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Client")
struct NetworkClientTests {
    /// A transport that plays a script: no network at all.
    private struct ScriptedTransport: Transport {
        final class Body: TransportBody {
            private let parts: Mutex<[Data]>

            init(_ parts: [Data]) { self.parts = Mutex(parts) }

            func next() async throws -> TransportBodyPart {
                let part = parts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                return part.map { .bytes($0) } ?? .end(trailers: ["T": "1"], metrics: TransferMetrics())
            }

            func cancel() {}
        }

        let head: ResponseHead
        let parts: [Data]
        var bodyIsDecoded = false

        func execute(_ request: TransportRequest) async throws -> TransportExchange {
            TransportExchange(head: head, bodyIsDecoded: bodyIsDecoded, body: Body(parts))
        }
    }

    @Test("N-100: a client runs on any transport")
    func scripted() async throws {
        let transport = ScriptedTransport(
            head: ResponseHead(status: 418, headers: ["X": "y"]), parts: [Data("ab".utf8), Data("c".utf8)])
        let response = try await NetworkClient(transport: transport).send(NetworkRequest("http://nowhere.test/x#f"))
        #expect(response.status == 418)
        #expect(response.body == Data("abc".utf8))
        #expect(response.trailers["t"] == "1")
        #expect(response.url.absoluteString == "http://nowhere.test/x")
    }

    @Test("N-097: what a transport has unpacked is not unpacked again")
    func decodedByTransport() async throws {
        let transport = ScriptedTransport(
            head: ResponseHead(status: 200, headers: ["Content-Encoding": "gzip"]), parts: [Data("plain".utf8)],
            bodyIsDecoded: true)
        let response = try await NetworkClient(transport: transport).send(NetworkRequest("http://nowhere.test/"))
        #expect(response.body == Data("plain".utf8))
    }

    @Test("N-021: progress never falls, is sparse, and ends at the total")
    func progress() async throws {
        let size = 4 * 1024 * 1024
        let server = try LoopbackServer { request in
            request.path == "/chunked"
                ? .chunked([Data(count: 10)]) : .response(body: Data(count: request.path == "/empty" ? 0 : size))
        }
        func reports(_ path: String) async throws -> [TransferProgress] {
            let reports = Reports()
            _ = try await NetworkClient(transport: makeTransport()).send(NetworkRequest(server.urlString(path))) {
                reports.append($0)
            }
            return reports.all
        }
        let start = ContinuousClock.now
        let large = try await reports("/large")
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        #expect(large.map(\.completedBytes) == large.map(\.completedBytes).sorted())
        #expect(large.last == TransferProgress(completedBytes: Int64(size), totalBytes: Int64(size)))
        #expect(Double(large.count) <= 20 * seconds + 2)
        #expect(try await reports("/chunked").last == TransferProgress(completedBytes: 10, totalBytes: nil))
        #expect(try await reports("/empty") == [TransferProgress(completedBytes: 0, totalBytes: 0)])
    }

    @Test("N-009: default fields are added, and can be replaced")
    func defaults() async throws {
        let server = try LoopbackServer { _ in .response() }
        _ = try await get(server.urlString())
        _ = try await get(server.urlString()) { $0.headers = ["user-agent": "me", "accept-encoding": "identity"] }
        #expect(server.requests[0]["User-Agent"]?.hasSuffix("Haneke") == true)
        #expect(server.requests[1]["User-Agent"] == "me")
        #expect(
            server.requests[1].headers.filter { $0.name.lowercased() == "accept-encoding" }.map(\.value) == ["identity"]
        )
    }

    @Test("N-101: the shared transport serves the client that names none")
    func shared() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        #expect(try await NetworkClient().send(NetworkRequest(url: server.url("/a"))).status == 200)
    }

    @Test("N-092: nothing is sent for a request that may not be sent")
    func nothingSent() async throws {
        let server = try LoopbackServer { _ in .response() }
        await expectFailure(.invalidHeader) { try await get(server.urlString()) { $0.headers["X"] = "a\r\nY: b" } }
        await expectFailure(.invalidHeader) { try await get(server.urlString()) { $0.method = "GET /\r\n" } }
        await expectFailure(.bodyNotAllowed) { try await get(server.urlString()) { $0.body = .data(Data("x".utf8)) } }
        #expect(server.counts.connections == 0)
    }
}

/// Collects reports from a callback.
private final class Reports: Sendable {
    private let list = Mutex<[TransferProgress]>([])
    var all: [TransferProgress] { list.withLock { $0 } }
    func append(_ report: TransferProgress) { list.withLock { $0.append(report) } }
}
