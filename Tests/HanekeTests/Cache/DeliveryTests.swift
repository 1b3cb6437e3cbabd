import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Haneke

@Suite("Delivery of results", .timeLimit(.minutes(1)))
struct DeliveryTests {
    @Test("H-001: callbacks run on the cache's own queue, which is not the main queue")
    func ownQueue() async throws {
        let fixture = try CacheFixture(String.self)
        let key = DispatchSpecificKey<Bool>()
        fixture.cache.callbackQueue.setSpecific(key: key, value: true)
        let seen = Recorder<Bool>()
        fixture.cache.fetch(key: "k", value: "v") { _ in
            seen.record(DispatchQueue.getSpecific(key: key) == true && !Thread.isMainThread)
        }
        #expect(await seen.events(count: 1) == [true])
    }

    @Test("H-001: a queue can be given to the cache and to a call")
    func givenQueue() async throws {
        let (own, other) = (DispatchQueue(label: "own"), DispatchQueue(label: "other"))
        let key = DispatchSpecificKey<String>()
        own.setSpecific(key: key, value: "own")
        other.setSpecific(key: key, value: "other")
        let directory = try TemporaryDirectory()
        let cache = Cache<String>(name: "c", directory: directory.url, callbackQueue: own)
        let seen = Recorder<String?>()
        cache.fetch(key: "a", value: "v") { _ in seen.record(DispatchQueue.getSpecific(key: key)) }
        await seen.events(count: 1)
        cache.fetch(key: "b", callbackQueue: other).onFailure { _ in seen.record(DispatchQueue.getSpecific(key: key)) }
        #expect(await seen.events(count: 2) == ["own", "other"])
    }

    @Test("H-001: a program without a run loop gets its callbacks")
    func noRunLoop() throws {
        let fixture = try CacheFixture(String.self)
        let done = DispatchSemaphore(value: 0)
        fixture.cache.fetch(key: "k", value: "v") { _ in done.signal() }
        #expect(done.wait(timeout: .now() + 50) == .success)
    }

    @Test("H-002: a value in memory has been delivered on the caller's thread when fetch returns")
    func memoryHit() throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        let seen = Recorder<String>()
        let caller = ObjectIdentifier(Thread.current)
        let fetch = fixture.cache.fetch(key: "k") {
            seen.record(ObjectIdentifier(Thread.current) == caller ? $0 : "another thread")
        }
        #expect(seen.events == ["v"])
        #expect(fetch.hasSucceeded)
        #expect(fetch.source == .memory)
    }

    @Test("H-003: a disk hit is pending when fetch returns, and delivered on the callback queue")
    func diskHit() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.settle()
        let seen = Recorder<String>()
        fixture.cache.callbackQueue.suspend()
        let fetch = fixture.cache.fetch(key: "k") { seen.record($0) }
        #expect(!fetch.hasSucceeded && seen.events.isEmpty)
        fixture.cache.callbackQueue.resume()
        #expect(await seen.events(count: 1) == ["v"])
        #expect(fetch.source == .disk)
    }

    @Test("H-003: a disk miss is pending when fetch returns")
    func diskMiss() async throws {
        let fixture = try CacheFixture(String.self)
        let seen = Recorder<HanekeError.Code?>()
        fixture.cache.callbackQueue.suspend()
        let fetch = fixture.cache.fetch(
            key: "k", failure: { seen.record($0.hanekeCode) }, success: { _ in seen.record(nil) })
        #expect(!fetch.hasFailed && seen.events.isEmpty)
        fixture.cache.callbackQueue.resume()
        #expect(await seen.events(count: 1) == [.objectNotFound])
    }

    @Test("H-004, H-052: an unknown format has failed when fetch returns, and the description names it")
    func unknownFormat() throws {
        let fixture = try CacheFixture(String.self)
        let seen = Recorder<any Error>()
        let fetch = fixture.cache.fetch(
            key: "k", formatName: "nowhere", failure: { seen.record($0) }, success: { _ in })
        #expect(fetch.hasFailed)
        #expect(seen.events.map(\.hanekeCode) == [.formatNotFound])
        #expect("\(try #require(seen.events.first))".contains("nowhere"))
    }

    @Test("H-005: await gives the value, and throws what onFailure receives")
    func asyncForm() async throws {
        let fixture = try CacheFixture(String.self)
        #expect(try await fixture.cache.fetch(key: "k", value: "v").value == "v")
        let fetch = fixture.cache.fetch(key: "absent")
        let seen = Recorder<HanekeError.Code?>()
        fetch.onFailure { seen.record($0.hanekeCode) }
        let error = await thrown { _ = try await fetch.value }
        #expect(error.map(\.hanekeCode) == .objectNotFound)
        #expect(await seen.events(count: 1) == [.objectNotFound])
    }

    @Test("H-006: of the success and failure closures one runs, once", arguments: [true, false])
    func exactlyOne(succeeds: Bool) async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let seen = Recorder<String>()
        fixture.cache.fetch(
            fetcher: fetcher, failure: { _ in seen.record("failure") }, success: { _ in seen.record("success") })
        await fetcher.starts.events(count: 1)
        if succeeds { fetcher.succeed("v") } else { fetcher.fail(TestFailure()) }
        await seen.events(count: 1)
        fixture.cache.callbackQueue.sync {}
        #expect(seen.events == [succeeds ? "success" : "failure"])
    }

    @Test("H-007: a callback may use the same cache, whether it runs at once or later")
    func reentrant() async throws {
        let fixture = try CacheFixture(String.self)
        let cache = fixture.cache
        let seen = Recorder<String>()
        @Sendable func use(_ value: String) {
            cache.set(value: value + "!", key: "other")
            cache.fetch(key: "other") { seen.record($0) }
            cache.remove(key: "k")
            cache.addFormat(Format(name: "added"))
            cache.handleMemoryPressure()
            cache.removeAll()
            cache.fetch(key: "k") { _ in }
        }
        cache.set(value: "at once", key: "k") { use($0) }
        cache.fetch(key: "k", value: "later") { use($0) }
        #expect(await seen.events(count: 2) == ["at once!", "later!"])
    }

    @Test("H-007: a value's deinit may use the cache, even when it leaves by eviction")
    func deinitUsesCache() throws {
        let fixture = try CacheFixture(Tattler.self)
        let seen = Recorder<Int>()
        fixture.cache.addFormat(
            Format(name: "small").with {
                $0.memoryCountLimit = 1; $0.diskCapacity = 0
            })
        let cache = fixture.cache
        for number in 0..<3 {
            let tattler = Tattler { [weak cache] in
                cache?.remove(key: "whatever", formatName: "small")
                seen.record(number)
            }
            cache.set(value: tattler, key: "\(number)", formatName: "small")
        }
        #expect(seen.events == [0, 1])
    }

    /// Tells when it goes.
    final class Tattler: DataConvertible, DataRepresentable, Sendable {
        private let onEnd: @Sendable () -> Void
        init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }
        static func convertFromData(_ data: Data) -> Tattler? { nil }
        func asData() -> Data? { nil }
    }
}

extension Format {
    /// The format with some members changed.
    func with(_ change: (inout Format) -> Void) -> Format {
        var format = self
        change(&format)
        return format
    }
}
