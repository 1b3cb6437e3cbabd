import Foundation
import HanekeStorage
import Synchronization
import Testing

@testable import Haneke

@Suite("Cache: what formats can be told", .timeLimit(.minutes(1)))
struct FormatOptionTests {
    @Test("H-103: the order of eviction is the bucket's, and can be changed")
    func eviction() throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f").with { $0.eviction = .sieve })
        #expect(try fixture.bucket("f").settings().eviction == .sieve)
        #expect(try fixture.bucket().settings().eviction == .leastRecentlyUsed)
        fixture.cache.addFormat(Format(name: "f"))
        #expect(try fixture.bucket("f").settings().eviction == .leastRecentlyUsed)
        #expect("\(EvictionOrder.lru) \(EvictionOrder.sieve)" == "lru sieve")
    }

    @Test("H-230: a sliding lifetime starts anew with each fetch from memory, and ends without one")
    func sliding() async throws {
        let clock = LifetimeTests.ManualClock()
        let fixture = try CacheFixture(String.self, clock: clock)
        fixture.cache.addFormat(
            Format(name: "f", diskCapacity: 0).with {
                $0.lifetime = .seconds(10)
                $0.slides = true
            })
        fixture.cache.set(value: "v", key: "k", formatName: "f")
        for _ in 0..<5 {
            clock.advance(by: .seconds(9))
            #expect(fixture.cache.contains(key: "k", formatName: "f") == .memory)
            #expect(fixture.cache.fetch(key: "k", formatName: "f").source == .memory)
        }
        clock.advance(by: .seconds(10))
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .none)
        #expect(
            await thrown { _ = try await fixture.cache.fetch(key: "k", formatName: "f").value }.map(\.hanekeCode)
                == .objectNotFound)
        #expect(try fixture.cache.storage("f").tier.values.count == 0)
    }

    @Test("H-230: a record on disk slides like its value in memory, and keeps doing so after a restart")
    func slidingOnDisk() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k", lifetime: .seconds(1_000), sliding: true)
        fixture.cache.set(value: "v", key: "fixed", lifetime: .seconds(1_000))
        await fixture.settle()
        #expect(try fixture.bucket().peek("k")?.isSliding == true)
        #expect(try fixture.bucket().peek("fixed")?.isSliding == false)
        let clock = LifetimeTests.ManualClock()
        let restarted = Cache<String>(name: "test", directory: fixture.directory.url, clock: clock)
        for key in ["k", "fixed"] { _ = try await restarted.fetch(key: key).value }
        for _ in 0..<2 {
            clock.advance(by: .seconds(900))
            #expect(restarted.fetch(key: "k").source == .memory)
        }
        #expect(restarted.contains(key: "fixed") == .disk)
    }

    @Test("H-235: statistics of a format tell its tiers apart, and those of the cache outlive it")
    func statistics() async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f").with { $0.memoryCountLimit = 1 })
        for key in ["a", "b"] { fixture.cache.set(value: Data(count: 100), key: key, formatName: "f") }
        await fixture.cache.flush()
        _ = try await fixture.cache.fetch(key: "b", formatName: "f").value
        _ = try await fixture.cache.fetch(key: "a", formatName: "f").value
        let statistics = try fixture.cache.statistics(formatName: "f")
        #expect(statistics.counts == CacheStatistics(memoryHits: 1, diskHits: 1, writes: 2))
        #expect(statistics.memoryEntries == 1)
        #expect(statistics.memoryBytes == 100)
        #expect(statistics.memoryEvictions == 2)
        #expect(statistics.disk?.entries == 2)
        #expect(try fixture.cache.statistics(formatName: "original").counts == CacheStatistics())
        #expect(fixture.cache.removeFormat("f"))
        #expect(fixture.cache.statistics.writes == 2)
        #expect(throws: HanekeError.self) { try fixture.cache.statistics(formatName: "f") }
    }

    @Test("H-155: a codable value is stored without being wrapped by hand")
    func codable() async throws {
        struct User: Codable, Sendable, Equatable { let name: String }
        let fixture = try CacheFixture(CodableValue<User>.self)
        let users: CodableCache<User> = fixture.cache
        users.set(User(name: "Ada"), key: "ada")
        await fixture.settle()
        #expect(try await users.fetch(key: "ada").value.name == "Ada")
    }

    @Test("a fetcher's reports reach all who wait, in order, before the end, also through a parent")
    func progress() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "parent") { $0 })
        fixture.cache.addFormat(Format(name: "child") { $0 }.with { $0.parent = "parent" })
        let seen = Recorder<Int64>()
        let go = Recorder<Int>()
        let fetch = fixture.cache.fetch(
            key: "k", formatName: "child",
            from: {
                await go.events(count: 1)
                for bytes in 1...3 {
                    ProgressReport.current?(TransferProgress(completedBytes: Int64(bytes), totalBytes: 3))
                }
                await seen.events(count: 3)
                return "v"
            })
        fetch.onProgress { seen.record($0.completedBytes) }.onSuccess { _ in seen.record(-1) }
        go.record(1)
        #expect(try await fetch.value == "v")
        #expect(await seen.events(count: 4).last == -1)
        #expect(seen.events == [1, 2, 3, -1])
        fixture.cache.fetch(key: "k", formatName: "child").onProgress { _ in seen.record(99) }
        #expect(seen.events.count == 4)
        #expect(ProgressReport.current == nil)
    }
}
