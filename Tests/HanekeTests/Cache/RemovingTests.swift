import Foundation
import HanekeStorage
import Testing

@testable import Haneke

@Suite("Cache: remove, removeAll, size, memory pressure", .timeLimit(.minutes(1)))
struct RemovingTests {
    @Test("H-080: remove takes the key from memory at once and from disk by flush, in the named format only")
    func remove() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f"))
        for name in ["original", "f"] { fixture.cache.set(value: "v", key: "k", formatName: name) }
        await fixture.cache.flush()
        fixture.cache.remove(key: "k")
        #expect(fixture.cache.contains(key: "k") == .none)
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .memory)
        await fixture.cache.flush()
        #expect(try !fixture.bucket().contains("k"))
        #expect(try fixture.bucket("f").contains("k"))
        fixture.cache.remove(key: "k", formatName: "f")
        await fixture.cache.flush()
        #expect(try !fixture.bucket("f").contains("k"))
    }

    @Test("H-080: a removed key is not found while its removal is still on its way")
    func removePending() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.cache.flush()
        let hold = try fixture.holdWrites()
        fixture.cache.remove(key: "k")
        #expect(fixture.cache.contains(key: "k") == .none)
        #expect(await thrown { _ = try await fixture.cache.fetch(key: "k").value }.map(\.hanekeCode) == .objectNotFound)
        hold.resume()
    }

    @Test("H-081, H-176: removing an unknown key, or from an unknown format, does nothing")
    func removeUnknown() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        let size = try await fixture.cache.size
        fixture.cache.remove(key: "absent")
        fixture.cache.remove(key: "k", formatName: "nowhere")
        #expect(try await fixture.cache.size == size)
        #expect(fixture.cache.statistics.failedWrites == 0)
    }

    @Test("H-082: fromAllFormats also removes from formats on disk that were not added")
    func removeFromAll() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f"))
        try fixture.bucket("not added").set([1], forKey: "k")
        try fixture.bucket("not added").set([1], forKey: "other")
        for name in ["original", "f"] { fixture.cache.set(value: "v", key: "k", formatName: name) }
        fixture.cache.remove(key: "k", fromAllFormats: true)
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .none)
        await fixture.cache.flush()
        for name in ["original", "f", "not added"] { #expect(try !fixture.bucket(name).contains("k")) }
        #expect(try fixture.bucket("not added").contains("other"))
        fixture.cache.set(value: "v", key: "k", formatName: "f")
        fixture.cache.remove(key: "k", fromAllFormats: false)
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .memory)
    }

    @Test(
        "H-083: removeAll empties the memory at once; its completion runs once, on the callback queue, with the disk empty"
    )
    func removeAll() async throws {
        let fixture = try CacheFixture(String.self)
        for number in 0..<100 { fixture.cache.set(value: "v", key: "\(number)") }
        await fixture.cache.flush()
        let key = DispatchSpecificKey<Bool>()
        fixture.cache.callbackQueue.setSpecific(key: key, value: true)
        let bucket = try fixture.bucket()
        let seen = Recorder<Int>()
        let hold = try fixture.holdWrites()
        fixture.cache.removeAll {
            let isOnQueue = DispatchQueue.getSpecific(key: key) == true
            seen.record(isOnQueue ? (try? bucket.statistics().entries) ?? -1 : -2)
        }
        #expect(fixture.cache.contains(key: "5") == .none)
        #expect(seen.events.isEmpty)
        hold.resume()
        #expect(await seen.events(count: 1) == [0])
        await fixture.cache.flush()
        fixture.cache.callbackQueue.sync {}
        #expect(seen.events.count == 1)
    }

    @Test("H-084: after removeAll every format is usable at once")
    func usableAfterwards() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f"))
        fixture.cache.removeAll()
        for name in ["original", "f"] { fixture.cache.set(value: name, key: "k", formatName: name) }
        fixture.cache.handleMemoryPressure()
        for name in ["original", "f"] {
            #expect(try await fixture.cache.fetch(key: "k", formatName: name).value == name)
        }
        await fixture.settle()
        for name in ["original", "f"] {
            #expect(try await fixture.cache.fetch(key: "k", formatName: name).value == name)
        }
    }

    @Test("H-085: removeAll also empties formats on disk that were not added")
    func removeAllOthers() async throws {
        let fixture = try CacheFixture(String.self)
        try fixture.bucket("not added").set([1], forKey: "k")
        fixture.cache.removeAll()
        #expect(try await fixture.cache.size == 0)
        #expect(try !fixture.bucket("not added").contains("k"))
    }

    @Test("H-086: removeAll of an empty cache completes, and touches no other cache")
    func removeAllEmpty() async throws {
        let fixture = try CacheFixture(String.self)
        let other = fixture.sibling(named: "other")
        other.set(value: "v", key: "k")
        await other.flush()
        let seen = Recorder<Int>()
        fixture.cache.removeAll { seen.record(1) }
        await seen.events(count: 1)
        other.handleMemoryPressure()
        #expect(try await other.fetch(key: "k").value == "v")
    }

    @Test("H-087: a set before removeAll is removed, one after it stays, whatever is still on its way")
    func order() async throws {
        let fixture = try CacheFixture(String.self)
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "before", key: "a")
        fixture.cache.set(value: "before", key: "b")
        fixture.cache.removeAll()
        fixture.cache.set(value: "after", key: "b")
        hold.resume()
        await fixture.settle()
        #expect(fixture.cache.contains(key: "a") == .none)
        #expect(try await fixture.cache.fetch(key: "b").value == "after")
    }

    @Test("H-087: a transform that ends after removeAll does not bring its value back")
    func transformDuringRemoveAll() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        fixture.cache.addFormat(Format(name: "f") { $0 + "!" })
        let fetch = fixture.cache.fetch(fetcher: fetcher, formatName: "f")
        await fetcher.starts.events(count: 1)
        fixture.cache.removeAll()
        fetcher.succeed("v")
        #expect(try await fetch.value == "v!")
        #expect(try await fixture.cache.size == 0)
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .none)
    }

    @Test("H-088: size is the sum over the formats, with pending writes applied; payloadSize the sum of lengths")
    func size() async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f"))
        #expect(try await fixture.cache.size == 0)
        fixture.cache.set(value: Data(count: 1_000), key: "a")
        fixture.cache.set(value: Data(count: 500), key: "a", formatName: "f")
        #expect(try await fixture.cache.payloadSize == 1_500)
        #expect(try await fixture.cache.size > 1_500)
        let sum = try fixture.bucket().statistics().bytes + fixture.bucket("f").statistics().bytes
        #expect(try await fixture.cache.size == sum)
        fixture.cache.remove(key: "a")
        #expect(try await fixture.cache.payloadSize == 500)
    }

    @Test(
        "H-089: memory pressure empties the memory tiers and leaves the disk",
        arguments: [
            MemoryPressureLevel.warning, .critical,
        ])
    func pressure(level: MemoryPressureLevel) async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f"))
        for name in ["original", "f"] { fixture.cache.set(value: name, key: "k", formatName: name) }
        await fixture.cache.flush()
        fixture.cache.handleMemoryPressure(.normal)
        #expect(fixture.cache.contains(key: "k") == .memory)
        fixture.cache.handleMemoryPressure(level)
        for name in ["original", "f"] {
            #expect(fixture.cache.contains(key: "k", formatName: name) == .disk)
            let fetch = fixture.cache.fetch(key: "k", formatName: name)
            #expect(try await fetch.value == name)
            #expect(fetch.source == .disk)
        }
    }

    private struct NoSignals: MemoryPressureSignals {
        func start(_ report: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Bool { false }
    }

    @Test("H-089: what the source of pressure reports empties the memory tiers of all formats and leaves the disk")
    func pressureOfTheSystem() async throws {
        let source = MemoryPressureSource(signals: NoSignals())
        let fixture = try CacheFixture(String.self, pressure: source)
        fixture.cache.addFormat(Format(name: "f"))
        for name in ["original", "f"] { fixture.cache.set(value: name, key: "k", formatName: name) }
        await fixture.cache.flush()
        source.report(.normal)
        for name in ["original", "f"] { #expect(fixture.cache.contains(key: "k", formatName: name) == .memory) }
        source.report(.warning)
        for name in ["original", "f"] {
            #expect(fixture.cache.contains(key: "k", formatName: name) == .disk)
            #expect(try await fixture.cache.fetch(key: "k", formatName: name).value == name)
        }
    }

    @Test("H-089: a cache listens to the system's own source of pressure")
    func sharedSource() throws {
        let directory = try TemporaryDirectory()
        #expect(Cache<String>(name: "test", directory: directory.url).pressure === MemoryPressureSource.shared)
    }

    @Test("H-090: the pending writes of a cache that is let go of still reach the disk")
    func released() async throws {
        let directory = try TemporaryDirectory()
        var cache: Cache<String>? = Cache(name: "test", directory: directory.url)
        let hold = WritesHold(try #require(cache?.disk).writes)
        let done = Recorder<Int>()
        cache?.set(value: "v", key: "k")
        cache?.disk?.writes.whenDone { done.record(1) }
        weak let released = cache
        cache = nil
        #expect(released == nil)
        hold.resume()
        await done.events(count: 1)
        let other = Cache<String>(name: "test", directory: directory.url)
        #expect(try await other.fetch(key: "k").value == "v")
    }
}
