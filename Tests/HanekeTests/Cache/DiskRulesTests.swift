import Foundation
import HanekeStorage
import Testing

@testable import Haneke

@Suite("Cache: the disk tier", .timeLimit(.minutes(1)))
struct DiskRulesTests {
    @Test("H-170: what is on disk is counted when a cache opens")
    func counted() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        let size = try await fixture.cache.size
        #expect(size > 0)
        #expect(try await fixture.sibling().size == size)
    }

    /// A format "f" with room for `count` records of 100 bytes, and not a byte more.
    private func fixture(records count: Int) async throws -> CacheFixture<Data> {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f"))
        for number in 0..<count { fixture.cache.set(value: Data(count: 100), key: "\(number)", formatName: "f") }
        let size = try await fixture.cache.size
        fixture.cache.addFormat(Format(name: "f", diskCapacity: UInt64(size)))
        #expect(try fixture.bucket("f").statistics().entries == count)
        return fixture
    }

    @Test("H-172: the least recently used goes first: written, fetched and touched alike", arguments: [false, true])
    func order(inMemory: Bool) async throws {
        let fixture = try await fixture(records: 3)
        if !inMemory { fixture.cache.handleMemoryPressure() }
        for key in ["1", "0"] { _ = try await fixture.cache.fetch(key: key, formatName: "f").value }
        for (new, left) in [("a", ["0", "1", "a"]), ("b", ["0", "a", "b"]), ("c", ["a", "b", "c"])] {
            fixture.cache.set(value: Data(count: 100), key: new, formatName: "f")
            await fixture.cache.flush()
            #expect(try fixture.bucket("f").entries().map(\.key) == left)
        }
    }

    @Test("H-172: among values never used again the first written goes first")
    func ties() async throws {
        let fixture = try await fixture(records: 4)
        for number in 4..<8 { fixture.cache.set(value: Data(count: 100), key: "\(number)", formatName: "f") }
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").entries().map(\.key) == ["4", "5", "6", "7"])
    }

    @Test("H-173: a size equal to the capacity evicts nobody, one more record does")
    func exactCapacity() async throws {
        let fixture = try await fixture(records: 3)
        fixture.cache.set(value: Data(count: 100), key: "0", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").statistics().entries == 3)
        fixture.cache.set(value: Data(count: 1), key: "x", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").entries().map(\.key) == ["0", "2", "x"])
    }

    @Test("H-174: a value over the capacity is refused, nobody goes for it but the key's old record; memory keeps it")
    func tooLarge() async throws {
        let fixture = try await fixture(records: 3)
        fixture.cache.set(value: Data(count: 100_000), key: "1", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").entries().map(\.key) == ["0", "2"])
        #expect(fixture.cache.fetch(key: "1", formatName: "f").source == .memory)
        #expect(fixture.cache.statistics.failedWrites == 1)
        await fixture.cache.flush()
        #expect(fixture.cache.statistics.failedWrites == 1)
    }

    @Test("H-174: who waits for a set of a value over the capacity is told, and so is who sets many")
    func tooLargeIsTold() async throws {
        let fixture = try await fixture(records: 1)
        let large = Data(count: 100_000)
        let error = await thrown { _ = try await fixture.cache.set(value: large, key: "l", formatName: "f").value }
        #expect(error.map(\.hanekeCode) == .valueTooLarge)
        let results = await fixture.cache.setAll(["m": large], formatName: "f")
        #expect(throws: HanekeError.self) { try results["m"]?.get() }
        await fixture.cache.flush()
        #expect(fixture.cache.contains(key: "l", formatName: "f") == .memory)
        #expect(try fixture.bucket("f").entries().map(\.key) == ["0"])
    }

    @Test("H-174: a value whose record alone is over the capacity is refused later, and reported as too large")
    func recordTooLarge() async throws {
        let fixture = try await fixture(records: 1)
        let capacity = try #require(fixture.cache.formats.first { $0.name == "f" }).diskCapacity
        let key = UUID().uuidString
        _ = try await fixture.cache.set(value: Data(count: Int(capacity)), key: key, formatName: "f").value
        await fixture.cache.flush()
        #expect(Reports.containing("the value of \"\(key)\" is kept in memory alone").count == 1)
        #expect(fixture.cache.contains(key: key, formatName: "f") == .memory)
    }

    @Test("H-175: replacing subtracts the old size")
    func replacing() async throws {
        let fixture = try CacheFixture(Data.self)
        for count in [10, 5_000, 300_000, 0, 10] {
            fixture.cache.set(value: Data(count: count), key: "k")
            #expect(try await fixture.cache.payloadSize == count)
        }
        fixture.cache.remove(key: "k")
        #expect(try await fixture.cache.size == 0)
    }

    @Test("H-177, H-180: any text is a key; keys are compared by their bytes, in both tiers")
    func anyKey() async throws {
        let fixture = try CacheFixture(String.self)
        let keys = [
            "/", ":", "%", "\\", " ", "\0", "a\0", "a", "🎬", "../../etc/passwd", "\u{E9}", "e\u{301}", "%2F",
            String(repeating: "long", count: 1_000), String(repeating: "long", count: 1_000) + "er",
        ]
        for (number, key) in keys.enumerated() { fixture.cache.set(value: "\(number)", key: key) }
        for source in [FetchSource.memory, .disk] {
            for (number, key) in keys.enumerated() {
                let fetch = fixture.cache.fetch(key: key)
                #expect(try await fetch.value == "\(number)")
                #expect(fetch.source == source)
            }
            await fixture.settle()
        }
        #expect(try await Set(fixture.cache.entries().map { Array($0.key.utf8) }) == Set(keys.map { Array($0.utf8) }))
    }

    @Test("H-181: a directory that is deleted while open makes no crash, and reads from memory go on")
    func deleted() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.cache.flush()
        try FileManager.default.removeItem(at: fixture.cache.directory)
        fixture.cache.set(value: "w", key: "l")
        await fixture.cache.flush()
        #expect(fixture.cache.fetch(key: "l").source == .memory)
        fixture.cache.handleMemoryPressure()
        _ = try? await fixture.cache.fetch(key: "l").value
        fixture.cache.removeAll()
        await fixture.cache.flush()
    }

    @Test("H-182: a listing has keys, sizes and dates, by prefix, and is no use of the values")
    func listing() async throws {
        let fixture = try CacheFixture(Data.self)
        let start = Date()
        fixture.cache.set(value: Data(count: 10), key: "a/1", lifetime: .seconds(1_000))
        fixture.cache.set(value: Data(count: 20), key: "a/2")
        fixture.cache.set(value: Data(count: 30), key: "b")
        let all = try await fixture.cache.entries()
        #expect(all.map(\.key) == ["a/1", "a/2", "b"])
        #expect(all.map(\.payloadBytes) == [10, 20, 30])
        #expect(all.allSatisfy { $0.bytes >= $0.payloadBytes })
        #expect(all.allSatisfy { abs($0.writtenAt.timeIntervalSince(start)) < 60 })
        #expect(abs(try #require(all[0].expiresAt).timeIntervalSince(start) - 1_000) < 60)
        #expect(all[1].expiresAt == nil)
        #expect(try await fixture.cache.entries(prefix: "a/").map(\.key) == ["a/1", "a/2"])
        #expect(try await fixture.cache.entries().map(\.accessedAt) == all.map(\.accessedAt))
        #expect(
            await thrown { _ = try await fixture.cache.entries(formatName: "nowhere") }.map(\.hanekeCode)
                == .formatNotFound)
    }
}
