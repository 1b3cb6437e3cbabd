import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Back-pressure")
struct BackPressureTests {
    @Test(
        "N-100: a reader that asks for nothing leaves the server blocked; reading on frees it", .timeLimit(.minutes(1)))
    func slowReader() async throws {
        let (total, piece) = (64 * 1024 * 1024, Data(repeating: 7, count: 64 * 1024))
        let gate = Gate()
        let server = try LoopbackServer { _ in
            .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
                guard try connection.sendUntilBlocked(piece, limit: total) else { return }
                gate.waitOnThread()
                try connection.sendUntilBlocked(piece, limit: 8 * 1024 * 1024, patience: .seconds(20))
            }
        }
        let exchange = try await makeTransport().execute(TransportRequest(url: server.urlString()))
        #expect(try await exchange.body.next().bytes?.isEmpty == false)
        try await server.wait { $0.blockedSends == 1 }
        // What the system buffers on both ends, and what the transport may hold.
        let sentBeforeReading = server.counts.bytesSent
        #expect(sentBeforeReading < total / 2)
        gate.open()
        while server.counts.bytesSent <= sentBeforeReading + 4 * 1024 * 1024 { _ = try await exchange.body.next() }
    }

    @Test("N-100: a body far larger than the buffer arrives whole and in order", .timeLimit(.minutes(1)))
    func whole() async throws {
        let size = 8 * 1024 * 1024
        let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) })
        let server = try LoopbackServer { _ in .response(body: bytes) }
        let exchange = try await makeTransport().execute(TransportRequest(url: server.urlString()))
        var received = Data()
        while case .bytes(let piece) = try await exchange.body.next() {
            #expect(piece.count <= TransferMailbox.bufferBytesMax)
            received.append(piece)
            await Task.yield()
        }
        #expect(received == bytes)
    }

    @Test("N-100: one paused transfer does not hold up another")
    func neighbours() async throws {
        let piece = Data(repeating: 7, count: 64 * 1024)
        let server = try LoopbackServer { request in
            guard request.path == "/big" else { return .response(body: "x") }
            return .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                try connection.sendUntilBlocked(piece, limit: 64 * 1024 * 1024)
                connection.waitForClientToLeave()
            }
        }
        let transport = makeTransport()
        let exchange = try await transport.execute(TransportRequest(url: server.urlString("/big")))
        try await server.wait { $0.blockedSends == 1 }
        #expect(try await get(server.urlString("/small"), from: transport).status == 200)
        exchange.body.cancel()
    }
}
