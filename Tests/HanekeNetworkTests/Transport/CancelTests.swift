import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Cancelling")
struct CancelTests {
    @Test("N-091: a task cancelled before the call sends nothing")
    func before() async throws {
        let server = try LoopbackServer { _ in .response() }
        let started = Gate()
        let task = Task {
            await started.opened()
            return try await get(server.urlString())
        }
        task.cancel()
        started.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.counts.connections == 0)
    }

    @Test("N-091: while the server is silent; its connection is closed")
    func waiting() async throws {
        let server = try LoopbackServer { _ in .stall() }
        let transport = makeTransport()
        let task = Task { try await get(server.urlString(), from: transport) }
        try await server.wait { $0.requests == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-091: in the middle of a body")
    func inBody() async throws {
        let server = try LoopbackServer { _ in .stall(after: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") }
        let transport = makeTransport()
        let (isReading, reading) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await NetworkClient(transport: transport).send(NetworkRequest(server.urlString())) { _ in
                reading.yield()
            }
        }
        for await _ in isReading { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-091: while the name is looked up, however long that takes")
    func lookup() async throws {
        let gate = Gate()
        let asked = Gate()
        let transport = makeTransport(lookup: { _ in
            asked.open()
            gate.waitOnThread()
            return ["127.0.0.1"]
        })
        let task = Task { try await get("http://stuck.test:1/", from: transport) }
        await asked.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!gate.isOpen)
        gate.open()
    }

    @Test("N-091: after the end it changes nothing")
    func after() async throws {
        let server = try LoopbackServer { _ in .response(body: "x") }
        let transport = makeTransport()
        let task = Task { try await get(server.urlString(), from: transport) }
        #expect(try await task.value.status == 200)
        task.cancel()
        #expect(try await task.value.status == 200)
        _ = try await get(server.urlString(), from: transport)
        #expect(server.counts.connections == 1)
    }

    @Test("N-091: the median cancel takes less than 50 ms")
    func latency() async throws {
        let server = try LoopbackServer { _ in .stall() }
        let transport = makeTransport()
        var latencies: [Duration] = []
        for number in 1...21 {
            let task = Task { try await get(server.urlString(), from: transport) }
            try await server.wait { $0.requests == number }
            let start = ContinuousClock.now
            task.cancel()
            _ = try? await task.value
            latencies.append(ContinuousClock.now - start)
        }
        #expect(latencies.sorted()[10] < .milliseconds(50))
    }

    @Test("N-100: releasing a body before its end cancels the exchange")
    func release() async throws {
        let server = try LoopbackServer { _ in .stall(after: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") }
        let transport = makeTransport()
        do {
            let exchange = try await transport.execute(TransportRequest(url: server.urlString()))
            #expect(exchange.head.status == 200)
        }
        try await server.wait { $0.openConnections == 0 }
    }

    @Test("N-091: a storm of cancels at random moments ends every task once", arguments: [1, 2, 3] as [UInt64])
    func storm(_ seed: UInt64) async throws {
        let server = try LoopbackServer { request in
            request.path.hasSuffix("3") ? .stall(after: "HTTP/1.1 200 OK\r\n\r\nabc") : .response(body: "x")
        }
        let transport = makeTransport()
        var state = seed
        var ends = 0
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let yields = Int(state >> 33) % 200
                group.addTask {
                    let task = Task { try await get(server.urlString("/\(number)"), from: transport) }
                    for _ in 0..<yields { await Task.yield() }
                    task.cancel()
                    switch await task.result {
                    case .success(let response): return response.status == 200
                    case .failure(let error): return error is CancellationError
                    }
                }
            }
            for try await isExpected in group {
                #expect(isExpected)
                ends += 1
            }
        }
        #expect(ends == 100)
        #expect(try await get(server.urlString("/end"), from: transport).status == 200)
    }
}
