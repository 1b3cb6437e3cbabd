import Dispatch
import Foundation
import HanekeStorage
import Synchronization
import Testing

@testable import Haneke

/// A failure that a test makes.
struct TestFailure: Error, Equatable {
    let number: Int

    init(_ number: Int = 1) { self.number = number }
}

/// A cache in a directory of its own.
struct CacheFixture<T: DataConvertible & DataRepresentable & Sendable> {
    let directory: TemporaryDirectory
    let cache: Cache<T>

    init(
        _ type: T.Type = T.self, name: String = "test", clock: any MemoryCacheClock = SystemMemoryCacheClock(),
        pressure: MemoryPressureSource = .shared
    ) throws {
        Reports.start()
        directory = try TemporaryDirectory()
        cache = Cache(name: name, directory: directory.url, clock: clock, pressure: pressure)
        try #require(cache.diskError == nil)
    }

    /// Another cache object of the same directory.
    func sibling(named name: String = "test") -> Cache<T> {
        Cache(name: name, directory: directory.url)
    }

    /// The bucket of a format, to look at or to meddle with.
    func bucket(_ name: String = "original") throws -> Bucket {
        try store().bucket(named: name)
    }

    func store() throws -> DiskStore {
        try DiskStore(directory: cache.directory.path)
    }

    /// Everything on disk, nothing in memory.
    func settle() async {
        await cache.flush()
        cache.handleMemoryPressure(.critical)
    }

    /// Holds back what is to be written, until `resume` is called or the result is let go of.
    func holdWrites() throws -> WritesHold {
        WritesHold(try #require(cache.disk).writes)
    }
}

/// Holds a queue of writes back, until it is resumed or let go of.
final class WritesHold: Sendable {
    private let writes: WriteQueue
    private let isHeld = Atomic(true)

    init(_ writes: WriteQueue) {
        self.writes = writes
        writes.suspend()
    }

    deinit { resume() }

    func resume() {
        if isHeld.exchange(false, ordering: .acquiringAndReleasing) { writes.resume() }
    }
}

/// What the library reports while the tests run.
enum Reports {
    private static let recorder: Recorder<String> = {
        let recorder = Recorder<String>()
        Diagnostics.setHandler { recorder.record($0) }
        return recorder
    }()

    /// Starts recording, if nobody has.
    static func start() { _ = recorder }

    /// The reports that contain `text`.
    static func containing(_ text: String) -> [String] { recorder.events.filter { $0.contains(text) } }
}

extension Error {
    /// The code of a ``HanekeError``; nil for others.
    var hanekeCode: HanekeError.Code? { (self as? HanekeError)?.code }
}

/// The error that `body` throws; nil if it throws none.
func thrown(by body: () async throws -> Void) async -> (any Error)? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}
