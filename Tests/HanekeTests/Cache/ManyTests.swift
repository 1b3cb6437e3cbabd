import Foundation
import HanekeStorage
import TestSupport
import Testing

@testable import Haneke

@Suite("Cache: many at once", .timeLimit(.minutes(1)))
struct ManyTests {
    @Test("H-234: setAll stores all in one commit, and one that fails keeps none of the others from it")
    func setAll() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(
            Format(name: "f") {
                if $0 == "bad" { throw TestFailure(4) }
                return $0 + "!"
            })
        // More than the queue otherwise puts in a batch.
        var values = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ("\($0)", "v\($0)") })
        values["bad"] = "bad"
        values[""] = "no key"
        let results = await fixture.cache.setAll(values, formatName: "f")
        #expect(results.count == 1_002)
        #expect(try results["7"]?.get() == "v7!")
        #expect(throws: TestFailure(4)) { try results["bad"]?.get() }
        #expect(throws: HanekeError.self) { try results[""]?.get() }
        #expect(fixture.cache.contains(key: "999", formatName: "f") == .memory)
        await fixture.settle()
        #expect(try fixture.bucket("f").statistics().entries == 1_000)
        let unknown = await fixture.cache.setAll(["k": "v"], formatName: "nowhere")
        #expect(throws: HanekeError.self) { try unknown["k"]?.get() }
    }

    @Test("H-234: what setAll adds is in one batch, however many they are")
    func oneBatch() async throws {
        let fixture = try CacheFixture(String.self)
        let writes = try #require(fixture.cache.disk).writes
        let hold = WritesHold(writes)
        fixture.cache.set(value: "before", key: "before")
        let values = Dictionary(uniqueKeysWithValues: (0..<700).map { ("\($0)", "v") })
        _ = await fixture.cache.setAll(values)
        fixture.cache.set(value: "after", key: "after")
        #expect(writes.batchSizesAhead() == [701, 1])
        hold.resume()
        await fixture.settle()
        #expect(try fixture.bucket().statistics().entries == 702)
    }

    @Test("H-234: a value that has no form as bytes fails alone")
    func unencodable() async throws {
        let fixture = try CacheFixture(JSON.self)
        let results = await fixture.cache.setAll(["good": [.number(1)], "bad": [.number(.nan)]])
        #expect(throws: Never.self) { try results["good"]?.get() }
        #expect(throws: HanekeError.self) { try results["bad"]?.get() }
    }

    @Test("H-234, H-038: a set that comes after setAll wins, however long the transform of setAll takes")
    func order() async throws {
        let fixture = try CacheFixture(String.self)
        let (began, gate) = (Gate(), Gate())
        fixture.cache.addFormat(
            Format(name: "f") { value in
                if value == "old" {
                    began.open()
                    gate.waitOnThread()
                }
                return value + "!"
            })
        let all = Task { await fixture.cache.setAll(["k": "old", "l": "old"], formatName: "f") }
        await began.opened()
        #expect(try await fixture.cache.set(value: "new", key: "k", formatName: "f").value == "new!")
        gate.open()
        #expect(try await all.value["k"]?.get() == "old!")
        for _ in 0..<2 {
            #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "new!")
            #expect(try await fixture.cache.fetch(key: "l", formatName: "f").value == "old!")
            await fixture.settle()
        }
    }

    @Test("H-234: what setAll stores stays when a fetch ends that was under way before it")
    func olderFetch() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        fixture.cache.addFormat(Format(name: "f") { $0 + "!" })
        let before = fixture.cache.fetch(fetcher: fetcher, formatName: "f")
        await fetcher.starts.events(count: 1)
        #expect(try await fixture.cache.setAll(["k": "v"], formatName: "f")["k"]?.get() == "v!")
        fetcher.succeed("older")
        #expect(try await before.value == "older!")
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "v!")
    }

    @Test("H-234: fetchAll gives a result for each key, and fetches one that is named twice once")
    func fetchAll() async throws {
        let fixture = try CacheFixture(String.self)
        await fixture.cache.setAll(["a": "1", "b": "2"])
        await fixture.settle()
        let results = await fixture.cache.fetchAll(keys: ["a", "b", "absent", "a"])
        #expect(results.count == 3)
        #expect(try results["a"]?.get() == "1")
        #expect(try results["b"]?.get() == "2")
        #expect(throws: HanekeError.self) { try results["absent"]?.get() }
        #expect(fixture.cache.statistics.diskHits == 2)
    }

    @Test("H-233: prefetch brings values to disk alone, and not those that are there")
    func prefetch() async throws {
        let fixture = try CacheFixture(String.self)
        let files = try (0..<10).map { URL(fileURLWithPath: try fixture.directory.file("\($0)", Data("v\($0)".utf8))) }
        let absent = fixture.directory.url.appendingPathComponent("absent")
        fixture.cache.set(value: "mine", key: files[0].absoluteString)
        let failures = await fixture.cache.prefetch(files + [absent] + files)
        #expect(failures.keys.map(\.self) == [absent])
        #expect(fixture.cache.contains(key: files[0].absoluteString) == .memory)
        #expect(fixture.cache.contains(key: files[5].absoluteString) == .disk)
        #expect(try fixture.cache.statistics(formatName: "original").memoryEntries == 1)
        #expect(fixture.cache.statistics.loads == 10)
        let fetch = fixture.cache.fetch(URL: files[5])
        #expect(try await fetch.value == "v5")
        #expect(fetch.source == .disk)
    }

    @Test("H-233: a fetch that joins a prefetch has the value in memory")
    func joined() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let storage = try fixture.cache.storage("original")
        let prefetch = storage.fetch(
            CacheKey("k"),
            FlightRequest(
                loader: Loader(fetcher), policy: .cacheFirst, registry: fixture.cache.registry, wantsMemory: false),
            callbackQueue: fixture.cache.callbackQueue)
        await fetcher.starts.events(count: 1)
        let fetch = fixture.cache.fetch(key: "k")
        fetcher.succeed("v")
        #expect(try await fetch.value == "v")
        #expect(try await prefetch.value() == "v")
        #expect(fixture.cache.contains(key: "k") == .memory)
    }
}
