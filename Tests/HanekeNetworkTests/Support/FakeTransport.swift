import Foundation
import HanekeStorage
import Synchronization
import TestSupport

@testable import HanekeNetwork

/// A transport that answers as a closure says, without a network.
final class FakeTransport: Transport {
    struct Answer: Sendable {
        var status = 200
        var headers: HTTPHeaders = [:]
        var body = ""
    }

    private let seen = Mutex<[TransportRequest]>([])
    private let answer: @Sendable (TransportRequest) async throws -> Answer

    init(_ answer: @escaping @Sendable (TransportRequest) async throws -> Answer) { self.answer = answer }

    var requests: [TransportRequest] { seen.withLock { $0 } }
    var count: Int { requests.count }

    func execute(_ request: TransportRequest) async throws -> TransportExchange {
        try Task.checkCancellation()
        seen.withLock { $0.append(request) }
        let answer = try await answer(request)
        let hasBody = request.method != "HEAD" && answer.status != 304
        return TransportExchange(
            head: ResponseHead(status: answer.status, headers: answer.headers),
            body: FakeBody(hasBody ? Data(answer.body.utf8) : Data()))
    }
}

private final class FakeBody: TransportBody {
    private let rest: Mutex<Data>

    init(_ data: Data) { rest = Mutex(data) }

    func next() async throws -> TransportBodyPart {
        let data = rest.withLock { rest in
            defer { rest = Data() }
            return rest
        }
        return data.isEmpty ? .end(trailers: [:], metrics: TransferMetrics()) : .bytes(data)
    }

    func cancel() { rest.withLock { $0 = Data() } }
}

/// An engine with everything under control: transport, clock, cache and chance.
struct EngineBench {
    let clock = ManualClock()
    let transport: FakeTransport
    let cache: HTTPCache
    let queue: NetworkQueue
    let engine: NetworkEngine
    private let directory: TemporaryDirectory

    init(
        capacityBytes: UInt64 = HTTPCache.defaultCapacityBytes, change: (inout EngineConfiguration) -> Void = { _ in },
        _ answer: @escaping @Sendable (TransportRequest) async throws -> FakeTransport.Answer
    ) throws {
        directory = try TemporaryDirectory()
        transport = FakeTransport(answer)
        cache = try HTTPCache(store: DiskStore(directory: directory.path), capacityBytes: capacityBytes)
        queue = NetworkQueue(monitor: nil, clock: clock, activity: NetworkActivity(clock: clock))
        var configuration = EngineConfiguration()
        configuration.transport = transport
        configuration.queue = queue
        configuration.cache = cache
        configuration.clock = clock
        configuration.random = { 1 }
        change(&configuration)
        engine = try NetworkEngine(hostName: "h", configuration: configuration)
    }

    func get(
        _ url: String = "http://h/a", method: String = "GET", headers: HTTPHeaders = [:],
        policy: CachePolicy = .cacheElseNetwork
    ) async throws -> HTTPResponse {
        try await engine.send(NetworkRequest(url, method: method, headers: headers), policy: policy)
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}
