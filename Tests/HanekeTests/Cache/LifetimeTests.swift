import Foundation
import HanekeStorage
import Synchronization
import Testing

@testable import Haneke

@Suite("Cache: lifetimes, contains and statistics", .timeLimit(.minutes(1)))
struct LifetimeTests {
    /// A clock that the test moves.
    final class ManualClock: MemoryCacheClock {
        private let time = Mutex(Duration.zero)
        var now: Duration { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 += duration } }
    }

    @Test("H-230: a lifetime of zero or less is over at once, in both tiers", arguments: [Duration.zero, .seconds(-5)])
    func over(lifetime: Duration) async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k", lifetime: lifetime)
        for _ in 0..<2 {
            #expect(fixture.cache.contains(key: "k") == .none)
            #expect(
                await thrown { _ = try await fixture.cache.fetch(key: "k").value }.map(\.hanekeCode) == .objectNotFound)
            await fixture.settle()
        }
        #expect(try await fixture.cache.removeExpired() == 1)
        #expect(try await fixture.cache.size == 0)
    }

    @Test("H-230: a value lasts as long as it was told, and access does not extend that")
    func lasts() async throws {
        let clock = ManualClock()
        let fixture = try CacheFixture(String.self, clock: clock)
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "v", key: "k", lifetime: .seconds(10))
        clock.advance(by: .seconds(9))
        #expect(fixture.cache.fetch(key: "k").source == .memory)
        fixture.cache.handleMemoryPressure()
        #expect(try await fixture.cache.fetch(key: "k").value == "v")
        #expect(fixture.cache.contains(key: "k") == .memory)
        clock.advance(by: .seconds(1))
        #expect(fixture.cache.contains(key: "k") == .none)
        #expect(await thrown { _ = try await fixture.cache.fetch(key: "k").value }.map(\.hanekeCode) == .objectNotFound)
        hold.resume()
    }

    @Test("H-230: what comes from disk lasts no longer in memory than on disk")
    func fromDisk() async throws {
        let clock = ManualClock()
        let fixture = try CacheFixture(String.self, clock: clock)
        fixture.cache.set(value: "v", key: "k", lifetime: .seconds(1_000))
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k").value == "v")
        clock.advance(by: .seconds(1_001))
        let fetch = fixture.cache.fetch(key: "k")
        #expect(try await fetch.value == "v")
        #expect(fetch.source == .disk)
    }

    @Test("H-230: a format's lifetime is that of its values, unless one has its own")
    func ofFormat() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f").with { $0.lifetime = .zero })
        fixture.cache.set(value: "v", key: "k", formatName: "f")
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .none)
        _ = try await fixture.cache.fetch(key: "l", value: "v", formatName: "f").value
        #expect(fixture.cache.contains(key: "l", formatName: "f") == .none)
        fixture.cache.set(value: "v", key: "m", formatName: "f", lifetime: .seconds(Int64.max))
        #expect(fixture.cache.contains(key: "m", formatName: "f") == .memory)
        await fixture.settle()
        #expect(fixture.cache.contains(key: "m", formatName: "f") == .disk)
    }

    @Test("H-231: contains tells the tier, without decoding or touching")
    func contains() async throws {
        let fixture = try CacheFixture(String.self)
        #expect(fixture.cache.contains(key: "k") == .none)
        #expect(fixture.cache.contains(key: "k", formatName: "nowhere") == .none)
        fixture.cache.set(value: "v", key: "k")
        #expect(fixture.cache.contains(key: "k") == .memory)
        await fixture.settle()
        #expect(fixture.cache.contains(key: "k") == .disk)
        #expect(fixture.cache.contains(key: "k") == .disk)
        try fixture.bucket().set([0xFF], forKey: "undecodable")
        #expect(fixture.cache.contains(key: "undecodable") == .disk)
        #expect(fixture.cache.statistics.memoryHits == 0)
    }

    @Test("H-232: a format's memory is limited by count and by cost; the disk serves the rest")
    func memoryLimits() async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f").with { $0.memoryCapacity = 1_000 })
        for key in ["a", "b"] { fixture.cache.set(value: Data(count: 600), key: key, formatName: "f") }
        #expect(fixture.cache.contains(key: "a", formatName: "f") == .disk)
        #expect(fixture.cache.contains(key: "b", formatName: "f") == .memory)
        fixture.cache.set(value: Data(count: 2_000), key: "large", formatName: "f")
        #expect(fixture.cache.contains(key: "large", formatName: "f") == .disk)
        #expect(try await fixture.cache.fetch(key: "large", formatName: "f").value.count == 2_000)
    }

    @Test("H-232: a value of unknown cost counts what it takes as bytes, once that is known")
    func learntCost() async throws {
        let fixture = try CacheFixture(JSON.self)
        fixture.cache.set(value: [.string(String(repeating: "x", count: 10_000))], key: "k")
        await fixture.cache.flush()
        #expect(try fixture.cache.storage("original").tier.values.totalCost == 10_004)
        fixture.cache.handleMemoryPressure()
        _ = try await fixture.cache.fetch(key: "k").value
        #expect(try fixture.cache.storage("original").tier.values.totalCost == 10_004)
    }

    @Test("H-235: hits by tier, misses, fetcher runs, writes and failures are counted")
    func statistics() async throws {
        let fixture = try CacheFixture(String.self)
        _ = try await fixture.cache.fetch(key: "k", value: "v").value
        _ = try await fixture.cache.fetch(key: "k").value
        await fixture.settle()
        _ = try await fixture.cache.fetch(key: "k").value
        _ = try? await fixture.cache.fetch(key: "absent").value
        let expected = CacheStatistics(memoryHits: 1, diskHits: 1, misses: 2, loads: 1, writes: 1)
        #expect(fixture.cache.statistics == expected)
    }
}
