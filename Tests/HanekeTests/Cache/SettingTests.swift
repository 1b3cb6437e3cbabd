import Foundation
import HanekeStorage
import TestSupport
import Testing

@testable import Haneke

@Suite("Cache: set", .timeLimit(.minutes(1)))
struct SettingTests {
    @Test("H-030: a new cache has the format original, without a transform")
    func originalFormat() throws {
        let fixture = try CacheFixture(String.self)
        #expect(HanekeGlobals.Cache.OriginalFormatName == "original")
        #expect(fixture.cache.formats.map(\.name) == ["original"])
        #expect(fixture.cache.formats.first?.isIdentity == true)
    }

    @Test("H-031: with an identity format success has run when set returns")
    func identity() throws {
        let fixture = try CacheFixture(String.self)
        let seen = Recorder<String>()
        fixture.cache.set(value: "v", key: "k") { seen.record($0) }
        #expect(seen.events == ["v"])
    }

    @Test("H-032: with a transform success comes later, off the caller's thread, with the transformed value")
    func transformed() async throws {
        let fixture = try CacheFixture(String.self)
        let gate = Gate()
        fixture.cache.addFormat(
            Format(name: "f") { value in
                gate.waitOnThread()
                return value + "!"
            })
        let seen = Recorder<String>()
        fixture.cache.set(value: "v", key: "k", formatName: "f") { seen.record($0) }
        #expect(seen.events == [])
        gate.open()
        #expect(await seen.events(count: 1) == ["v!"])
    }

    @Test("H-033: memory and disk hold the transformed value")
    func storesTransformed() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f") { $0 + "!" })
        let stored = try await fixture.cache.set(value: "v", key: "k", formatName: "f").value
        #expect(stored == "v!")
        let fetch = fixture.cache.fetch(key: "k", formatName: "f")
        #expect(fetch.source == .memory)
        #expect(try await fetch.value == "v!")
        await fixture.settle()
        #expect(try fixture.bucket("f").bytes(forKey: "k") == Array("v!".utf8))
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "v!")
    }

    @Test("H-034: after set returns the value is in memory")
    func readable() throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        #expect(fixture.cache.fetch(key: "k").source == .memory)
    }

    @Test("H-032, H-034: who fetches a key whose set is still being transformed gets the set value")
    func readableWhileTransforming() async throws {
        let fixture = try CacheFixture(String.self)
        let gate = Gate()
        fixture.cache.addFormat(
            Format(name: "f") { value in
                gate.waitOnThread()
                return value + "!"
            })
        fixture.cache.set(value: "v", key: "k", formatName: "f")
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetches = [
            fixture.cache.fetch(key: "k", formatName: "f"),
            fixture.cache.fetch(key: "k", formatName: "f", policy: .cacheOnly),
            fixture.cache.fetch(fetcher: fetcher, formatName: "f"),
        ]
        gate.open()
        for fetch in fetches { #expect(try await fetch.value == "v!") }
        #expect(fetcher.runCount == 0)
    }

    @Test("H-035: a value that memory has dropped before the disk has it is still found")
    func throughTheQueue() async throws {
        let fixture = try CacheFixture(String.self)
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "v", key: "k")
        fixture.cache.handleMemoryPressure()
        #expect(fixture.cache.contains(key: "k") == .disk)
        let fetch = fixture.cache.fetch(key: "k")
        #expect(try await fetch.value == "v")
        #expect(fetch.source == .disk)
        #expect(fixture.cache.fetch(key: "k").source == .memory)
        hold.resume()
    }

    @Test("H-035: another cache object of the directory sees what is still on its way, as its own type")
    func throughTheQueueAsAnotherType() async throws {
        let fixture = try CacheFixture(String.self)
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "v", key: "k")
        let other = Cache<Data>(name: "test", directory: fixture.directory.url)
        #expect(try await other.fetch(key: "k").value == Data("v".utf8))
        fixture.cache.remove(key: "k")
        other.handleMemoryPressure()
        #expect(await thrown { _ = try await other.fetch(key: "k").value }.map(\.hanekeCode) == .objectNotFound)
        hold.resume()
    }

    @Test("H-036: an unknown format fails, for closures and for await")
    func unknownFormat() async throws {
        let fixture = try CacheFixture(String.self)
        let seen = Recorder<HanekeError.Code?>()
        fixture.cache.set(value: "v", key: "k", formatName: "nowhere").onFailure { seen.record($0.hanekeCode) }
        #expect(seen.events == [.formatNotFound])
        let error = await thrown { _ = try await fixture.cache.set(value: "v", key: "k", formatName: "nowhere").value }
        #expect(error.map(\.hanekeCode) == .formatNotFound)
    }

    @Test("H-037: a new value replaces the old one in both tiers, and only it counts")
    func replaces() async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.set(value: Data(count: 2_000), key: "k")
        let before = try await fixture.cache.size
        fixture.cache.set(value: Data(count: 1_000), key: "k")
        #expect(try await fixture.cache.fetch(key: "k").value.count == 1_000)
        #expect(try await fixture.cache.payloadSize == 1_000)
        #expect(try await fixture.cache.size < before)
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k").value.count == 1_000)
    }

    @Test("H-038: writes of a key reach the disk in call order: the last set wins")
    func lastWins() async throws {
        let fixture = try CacheFixture(String.self)
        let hold = try fixture.holdWrites()
        for number in 0..<10 { fixture.cache.set(value: "\(number)", key: "k") }
        fixture.cache.remove(key: "k")
        fixture.cache.set(value: "last", key: "k")
        fixture.cache.set(value: "x", key: "gone")
        fixture.cache.remove(key: "gone")
        hold.resume()
        await fixture.settle()
        #expect(try fixture.bucket().bytes(forKey: "k") == Array("last".utf8))
        #expect(try !fixture.bucket().contains("gone"))
    }

    @Test("H-038: of two sets with a transform the later one wins, however long each takes")
    func lastTransformWins() async throws {
        let fixture = try CacheFixture(String.self)
        let gate = Gate()
        fixture.cache.addFormat(
            Format(name: "f") { value in
                if value == "slow" { gate.waitOnThread() }
                return value
            })
        let slow = fixture.cache.set(value: "slow", key: "k", formatName: "f")
        #expect(try await fixture.cache.set(value: "fast", key: "k", formatName: "f").value == "fast")
        gate.open()
        #expect(try await slow.value == "slow")
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "fast")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "fast")
    }

    @Test("H-038: sets from many threads leave memory and disk with the same value", arguments: 0..<10)
    func tiersAgree(round: Int) async throws {
        let fixture = try CacheFixture(String.self)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    if number.isMultiple(of: 5) {
                        fixture.cache.remove(key: "k")
                    } else {
                        fixture.cache.set(value: "\(number)", key: "k")
                    }
                }
            }
        }
        let inMemory = fixture.cache.contains(key: "k") == .memory
        let value = inMemory ? try await fixture.cache.fetch(key: "k").value : nil
        await fixture.cache.flush()
        #expect(try fixture.bucket().bytes(forKey: "k") == value.map { Array($0.utf8) })
    }

    /// A value without a form as bytes, when `text` is "shapeless"; that throws, when it is "throwing".
    struct Moody: DataConvertible, DataRepresentable, Sendable, Equatable {
        let text: String
        static func convertFromData(_ data: Data) throws -> Moody? {
            let text = String(decoding: data, as: UTF8.self)
            if text == "undecodable" { throw TestFailure(2) }
            return Moody(text: text)
        }
        func asData() throws -> Data? {
            if text == "throwing" { throw TestFailure(1) }
            return text == "shapeless" ? nil : Data(text.utf8)
        }
    }

    @Test(
        "H-039, H-157: without a form as bytes the old record goes, memory keeps the value, await throws",
        arguments: ["shapeless", "throwing"], [false, true])
    func shapeless(text: String, transforms: Bool) async throws {
        let fixture = try CacheFixture(Moody.self)
        let name = transforms ? "f" : "original"
        if transforms { fixture.cache.addFormat(Format(name: "f") { $0 }) }
        _ = try await fixture.cache.set(value: Moody(text: "old"), key: "k", formatName: name).value
        await fixture.cache.flush()
        let error = await thrown {
            _ = try await fixture.cache.set(value: Moody(text: text), key: "k", formatName: name).value
        }
        #expect(error.map(\.hanekeCode) == .diskWriteFailed)
        #expect((error as? HanekeError)?.underlyingError as? TestFailure == (text == "throwing" ? TestFailure(1) : nil))
        #expect(try await fixture.cache.fetch(key: "k", formatName: name).value.text == text)
        await fixture.cache.flush()
        #expect(try !fixture.bucket(name).contains("k"))
        #expect(try await fixture.cache.size == 0)
        #expect(fixture.cache.statistics.failedWrites == 1)
        fixture.cache.handleMemoryPressure()
        #expect(
            await thrown { _ = try await fixture.cache.fetch(key: "k", formatName: name).value }.map(\.hanekeCode)
                == .objectNotFound)
    }

    @Test("H-039: a value without a form as bytes is not tried again on each hit in memory")
    func shapelessStaysOff() async throws {
        let fixture = try CacheFixture(Moody.self)
        fixture.cache.set(value: Moody(text: "shapeless"), key: "k")
        await fixture.cache.flush()
        for _ in 0..<3 { _ = fixture.cache.fetch(key: "k") }
        await fixture.cache.flush()
        #expect(fixture.cache.statistics.failedWrites == 1)
    }

    @Test("H-102: convertToData is used in place of asData")
    func convertToData() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f").with { $0.convertToData = { Data($0.utf8.reversed()) } })
        fixture.cache.set(value: "abc", key: "k", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").bytes(forKey: "k") == Array("cba".utf8))
    }

    @Test("H-040: a refused write is counted, the old record is gone, and the size does not grow")
    func refusedWrite() async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f", diskCapacity: 20_000))
        fixture.cache.set(value: Data(count: 100), key: "k", formatName: "f")
        await fixture.cache.flush()
        fixture.cache.set(value: Data(count: 100_000), key: "k", formatName: "f")
        #expect(try await fixture.cache.size == 0)
        #expect(fixture.cache.statistics.failedWrites == 1)
        #expect(fixture.cache.statistics.writes == 1)
        #expect(Reports.containing(fixture.directory.url.lastPathComponent).count == 1)
        #expect(try !fixture.bucket("f").contains("k"))
    }

    @Test("H-040: a write to a bucket that was dropped from outside is counted, and the next one makes it anew")
    func droppedBucket() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "a")
        await fixture.cache.flush()
        try fixture.store().removeBucket(named: "original")
        fixture.cache.set(value: "v", key: "b")
        await fixture.cache.flush()
        fixture.cache.set(value: "v", key: "c")
        await fixture.cache.flush()
        #expect(fixture.cache.statistics.failedWrites == 1)
        #expect(try fixture.bucket().contains("c"))
        #expect(try await fixture.cache.fetch(key: "b").value == "v")
    }

    @Test("H-041: keys and formats never see each other's values")
    func apart() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f"))
        fixture.cache.set(value: "1", key: "a")
        fixture.cache.set(value: "2", key: "b")
        fixture.cache.set(value: "3", key: "a", formatName: "f")
        for _ in 0..<2 {
            #expect(try await fixture.cache.fetch(key: "a").value == "1")
            #expect(try await fixture.cache.fetch(key: "b").value == "2")
            #expect(try await fixture.cache.fetch(key: "a", formatName: "f").value == "3")
            await fixture.settle()
        }
    }

    @Test("H-042: after flush everything is on disk")
    func flush() async throws {
        let fixture = try CacheFixture(String.self)
        for number in 0..<1_000 { fixture.cache.set(value: "\(number)", key: "\(number)") }
        for number in 0..<500 { fixture.cache.remove(key: "\(number)") }
        await fixture.cache.flush()
        #expect(try fixture.bucket().statistics().entries == 500)
        #expect(try fixture.bucket().bytes(forKey: "999") == Array("999".utf8))
    }

    @Test("H-043: awaiting set waits while the queue of writes is full")
    func boundedQueue() async throws {
        let fixture = try CacheFixture(Data.self)
        let writes = try #require(fixture.cache.disk).writes
        let hold = try fixture.holdWrites()
        fixture.cache.pendingWritesCapacity = 1_000
        _ = try await fixture.cache.set(value: Data(count: 600), key: "a").value
        let seen = Recorder<Int>()
        let cache = fixture.cache
        let task = Task {
            let count = try await cache.set(value: Data(count: 600), key: "b").value.count
            seen.record(count)
        }
        while writes.tasksWaitingForRoom == 0 { await Task.yield() }
        #expect(seen.events == [])
        #expect(writes.pendingBytes == 1_200)
        #expect(cache.fetch(key: "b").source == .memory)
        hold.resume()
        try await task.value
        #expect(seen.events == [600])
        await cache.flush()
        #expect(writes.pendingBytes == 0)
    }

    @Test("H-043: what a fetcher brings waits for room, too")
    func boundedQueueForFetches() async throws {
        let fixture = try CacheFixture(Data.self)
        let cache = fixture.cache
        let writes = try #require(cache.disk).writes
        let hold = try fixture.holdWrites()
        cache.pendingWritesCapacity = 1_000
        cache.set(value: Data(count: 1_000), key: "a")
        let fetch = cache.fetch(key: "b", value: Data(count: 600))
        while writes.tasksWaitingForRoom == 0 { await Task.yield() }
        #expect(!fetch.hasSucceeded)
        #expect(writes.pendingBytes == 1_000)
        hold.resume()
        #expect(try await fetch.value.count == 600)
    }

    @Test("H-043: a value of unknown size counts what it takes as bytes, once it is encoded")
    func recounted() async throws {
        let fixture = try CacheFixture(JSON.self)
        let hold = try fixture.holdWrites()
        let text = JSON.array([.string(String(repeating: "x", count: 10_000))])
        _ = try await fixture.cache.set(value: text, key: "k").value
        #expect(fixture.cache.disk?.writes.pendingBytes == 10_004)
        hold.resume()
        await fixture.cache.flush()
        #expect(fixture.cache.disk?.writes.pendingBytes == 0)
    }

    @Test("H-043: what a later set has made needless takes no room")
    func replacedTakesNoRoom() async throws {
        let fixture = try CacheFixture(Data.self)
        let hold = try fixture.holdWrites()
        for _ in 0..<100 { fixture.cache.set(value: Data(count: 600), key: "a") }
        #expect(fixture.cache.disk?.writes.pendingBytes == 600)
        hold.resume()
    }
}
