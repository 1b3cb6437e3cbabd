import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

// The servers here never answer, so that a short limit always runs out.
@Suite("Time limits")
struct TimeoutTests {
    private let brief = Duration.milliseconds(40)

    private func expectTimeout(
        _ phase: NetworkTimeouts.Phase, _ url: String, from transport: CurlTransport = makeTransport(),
        _ change: (inout NetworkTimeouts) -> Void
    ) async {
        var timeouts = NetworkTimeouts()
        change(&timeouts)
        let error = await expectFailure(.timeout) {
            try await get(url, from: transport) { $0.timeouts = timeouts }
        }
        #expect(error?.phase == phase)
        #expect(error?.isTransient == true)
    }

    @Test("N-089: a name lookup counts as connecting")
    func lookup() async throws {
        let gate = Gate()
        defer { gate.open() }
        let transport = makeTransport(lookup: { _ in
            gate.waitOnThread()
            return []
        })
        await expectTimeout(.connect, "http://stuck.test/", from: transport) { $0.connect = brief }
    }

    @Test("N-089: a server that takes the connection and never answers")
    func firstByte() async throws {
        let server = try LoopbackServer { _ in .stall() }
        await expectTimeout(.firstByte, server.urlString()) { $0.firstByte = brief }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test(
        "N-089: a server that falls silent in the head or the body",
        arguments: [
            "HTTP/1.1 200 OK\r\nX-A:", "HTTP/1.1 200 OK\r\nX-A: b\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        ])
    func idle(_ start: String) async throws {
        let server = try LoopbackServer { _ in .stall(after: start) }
        await expectTimeout(.idle, server.urlString()) {
            $0.idle = brief
        }
    }

    @Test("N-089: a response that drips")
    func slow() async throws {
        let server = try LoopbackServer { _ in
            .script { connection in
                try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                while true {
                    try connection.send("x")
                    usleep(2_000)
                }
            }
        }
        await expectTimeout(.slow, server.urlString()) {
            $0.slow = .milliseconds(200)
            $0.slowBytesPerSecond = 1_000_000
        }
    }

    @Test("N-089: the attempt as a whole")
    func attempt() async throws {
        let server = try LoopbackServer { _ in .stall(after: "HTTP/1.1 200 OK\r\n\r\n") }
        await expectTimeout(.attempt, server.urlString()) { $0.attempt = brief }
    }

    @Test("N-089: a timed-out transfer leaves its neighbours alone")
    func neighbours() async throws {
        let gate = Gate()
        let server = try LoopbackServer { $0.path == "/never" ? .stall() : .response(body: "x").held(by: gate) }
        let transport = makeTransport()
        let neighbour = Task { try await get(server.urlString("/later"), from: transport) }
        try await server.wait { $0.requests == 1 }
        await expectTimeout(.firstByte, server.urlString("/never"), from: transport) { $0.firstByte = brief }
        gate.open()
        #expect(try await neighbour.value.status == 200)
    }
}
