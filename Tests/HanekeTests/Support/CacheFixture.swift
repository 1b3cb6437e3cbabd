import Dispatch
import Foundation
import HanekeStorage
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

    init(_ type: T.Type = T.self, name: String = "test", clock: any MemoryCacheClock = SystemMemoryCacheClock()) throws
    {
        directory = try TemporaryDirectory()
        cache = Cache(name: name, directory: directory.url, clock: clock)
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

    /// Holds back what is to be written, until the result is let go or `resume` is called.
    func holdWrites() throws -> WritesHold {
        WritesHold(try #require(cache.disk).writes)
    }
}

/// Holds a queue of writes back.
final class WritesHold: Sendable {
    private let writes: WriteQueue

    init(_ writes: WriteQueue) {
        self.writes = writes
        writes.suspend()
    }

    func resume() { writes.resume() }
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
