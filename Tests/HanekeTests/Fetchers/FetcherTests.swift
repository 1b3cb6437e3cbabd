import Foundation
import TestSupport
import Testing

@testable import Haneke

@Suite("Fetchers", .timeLimit(.minutes(1)))
struct FetcherTests {
    @Test("H-120: a fetcher that does not override fetch fails with -200")
    func notImplemented() async throws {
        let fixture = try CacheFixture(String.self)
        let error = await thrown { _ = try await fixture.cache.fetch(fetcher: Fetcher<String>(key: "k")).value }
        #expect(error.map(\.hanekeCode) == .notImplemented)
    }

    struct Lookup: AsyncFetcher {
        let key: String
        func fetch() async throws -> String { "value of \(key)" }
    }

    @Test("H-120: an async fetcher is a protocol of one function")
    func asyncFetcher() async throws {
        let fixture = try CacheFixture(String.self)
        let fetch = fixture.cache.fetch(fetcher: Lookup(key: "k"))
        #expect(try await fetch.value == "value of k")
        #expect(fetch.source == .fetcher)
        let seen = Recorder<String>()
        fixture.cache.fetch(fetcher: Lookup(key: "l")) { seen.record($0) }
        #expect(await seen.events(count: 1) == ["value of l"])
    }

    @Test("H-121: only a fetcher's first answer counts; further ones are ignored and reported")
    func extraAnswers() async throws {
        let fixture = try CacheFixture(String.self)
        let key = fixture.directory.url.lastPathComponent
        let fetcher = ScriptedFetcher<String>(key: key)
        let fetch = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        fetcher.answerRepeatedly(["first", "second"], then: TestFailure())
        #expect(try await fetch.value == "first")
        #expect(try await fixture.cache.fetch(key: key).value == "first")
        #expect(Reports.containing(key).count == 2)
    }

    @Test("H-121: a fetcher that lets go of its closures without a call fails with -201")
    func abandoned() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        fetcher.abandon()
        #expect(await thrown { _ = try await fetch.value }.map(\.hanekeCode) == .fetcherAbandoned)
    }

    @Test("H-121: a fetcher may answer from any thread", arguments: 0..<5)
    func anyThread(round: Int) async throws {
        final class Threaded: Fetcher<String>, @unchecked Sendable {
            // Sendable: no state of its own.
            override func fetch(
                failure fail: @escaping @Sendable (any Error) -> Void,
                success succeed: @escaping @Sendable (String) -> Void
            ) {
                for number in 0..<4 { Thread.detachNewThread { succeed("\(number)") } }
            }
        }
        let fixture = try CacheFixture(String.self)
        let value = try await fixture.cache.fetch(fetcher: Threaded(key: "k")).value
        #expect(["0", "1", "2", "3"].contains(value))
        #expect(try await fixture.cache.fetch(key: "k").value == value)
    }

    @Test("H-122: what a cancelled fetcher still answers reaches nobody")
    func answerAfterCancel() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let seen = Recorder<String>()
        let fetch = fixture.cache.fetch(
            fetcher: fetcher, failure: { seen.record("\($0)") }, success: { seen.record($0) })
        await fetcher.starts.events(count: 1)
        fetch.cancel()
        await fetcher.cancels.events(count: 1)
        fetcher.succeed("late")
        fixture.cache.callbackQueue.sync {}
        #expect(seen.events.isEmpty)
        #expect(fixture.cache.contains(key: "k") == .none)
    }

    @Test("H-123: a simple fetcher evaluates on fetch, not on init, and answers before fetch returns")
    func simple() {
        let events = Recorder<String>()
        @Sendable func value() -> String {
            events.record("evaluated")
            return "v"
        }
        let fetcher = SimpleFetcher(key: "k", value: value())
        #expect(events.events.isEmpty)
        fetcher.cancelFetch()
        fetcher.fetch(failure: { events.record("\($0)") }, success: { events.record($0) })
        #expect(events.events == ["evaluated", "v"])
        fetcher.cancelFetch()
    }

    @Test("H-124: a fetcher may be used again after finishing, and after being cancelled")
    func again() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a", Data("text".utf8))
        let fetcher = DiskFetcher<String>(path: path)
        let seen = Recorder<String>()
        for number in 1...2 {
            fetcher.fetch(failure: { seen.record("\($0)") }, success: { seen.record($0) })
            await seen.events(count: number)
        }
        fetcher.cancelFetch()
        fetcher.fetch(failure: { seen.record("\($0)") }, success: { seen.record($0) })
        #expect(await seen.events(count: 3) == ["text", "text", "text"])
    }

    // MARK: Disk

    @Test("H-140: the key of a disk fetcher is the path; its closures are called off the caller's thread")
    func disk() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a", Data("text".utf8))
        let fetcher = DiskFetcher<String>(path: path)
        #expect(fetcher.key == path && fetcher.path == path)
        let seen = Recorder<String>()
        fetcher.fetch(failure: { seen.record("\($0)") }, success: { seen.record($0) })
        #expect(await seen.events(count: 1) == ["text"])
    }

    @Test("H-141: a missing file fails with the system's error 260 unchanged")
    func missingFile() async throws {
        let fixture = try CacheFixture(String.self)
        let error = await thrown { _ = try await fixture.cache.fetch(path: "/nowhere/at/all").value }
        #expect((error as? CocoaError)?.code == .fileReadNoSuchFile)
        #expect(error.map { ($0 as NSError).code } == 260)
    }

    @Test("H-142: a file whose bytes do not decode fails with -500 and names the path")
    func undecodableFile() async throws {
        let fixture = try CacheFixture(String.self)
        let path = try fixture.directory.file("bad", Data([0xFF]))
        let error = try #require(await thrown { _ = try await fixture.cache.fetch(path: path).value })
        #expect(error.hanekeCode == .invalidFileData)
        #expect("\(error)".contains(path))
    }

    @Test("H-157: an error that a conversion throws lies beneath -500")
    func throwingConversion() async throws {
        let fixture = try CacheFixture(SettingTests.Moody.self)
        let path = try fixture.directory.file("bad", Data("undecodable".utf8))
        let error = await thrown { _ = try await fixture.cache.fetch(path: path).value } as? HanekeError
        #expect(error?.code == .invalidFileData)
        #expect(error?.underlyingError as? TestFailure == TestFailure(2))
    }

    /// A value that decodes when its gate is open.
    struct Gated: DataConvertible, DataRepresentable, Sendable {
        static let started = Recorder<Int>()
        static let gate = Gate()
        static func convertFromData(_ data: Data) -> Gated? {
            started.record(1)
            gate.waitOnThread()
            return nil
        }
        func asData() -> Data? { nil }
    }

    @Test("H-142, H-143: a fetch that is cancelled meanwhile calls nothing, even if the bytes do not decode")
    func cancelledWhileDecoding() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a", Data("text".utf8))
        let fetcher = DiskFetcher<Gated>(path: path)
        let seen = Recorder<String>()
        fetcher.cancelFetch()
        fetcher.fetch(failure: { seen.record("\($0)") }, success: { _ in seen.record("success") })
        await Gated.started.events(count: 1)
        fetcher.cancelFetch()
        Gated.gate.open()
        // A later fetch of the same fetcher ends after the cancelled one could have called.
        fetcher.fetch(failure: { _ in seen.record("second") }, success: { _ in seen.record("success") })
        #expect(await seen.events(count: 1) == ["second"])
    }

    @Test("H-122, H-143: a disk fetcher that is cancelled by hand leaves its fetch cancelled, silently")
    func cancelledByHand() async throws {
        let fixture = try CacheFixture(Gated2.self)
        let path = try fixture.directory.file("a", Data("text".utf8))
        let fetcher = DiskFetcher<Gated2>(path: path)
        let seen = Recorder<String>()
        let fetch = fixture.cache.fetch(
            fetcher: fetcher, failure: { seen.record("\($0)") }, success: { _ in seen.record("success") })
        await Gated2.started.events(count: 1)
        fetcher.cancelFetch()
        Gated2.gate.open()
        #expect(await thrown { _ = try await fetch.value } is CancellationError)
        fixture.cache.callbackQueue.sync {}
        #expect(seen.events.isEmpty)
    }

    /// As ``Gated``, for another test.
    struct Gated2: DataConvertible, DataRepresentable, Sendable {
        static let started = Recorder<Int>()
        static let gate = Gate()
        static func convertFromData(_ data: Data) -> Gated2? {
            started.record(1)
            gate.waitOnThread()
            return nil
        }
        func asData() -> Data? { nil }
    }
}
