import Foundation
import Testing

@testable import Haneke

@Suite("Cache: formats", .timeLimit(.minutes(1)))
struct CacheFormatsTests {
    @Test("H-103: each format has a memory tier, a bucket and limits of its own")
    func ownTiers() async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f", diskCapacity: 30_000).with { $0.memoryCountLimit = 1 })
        for key in ["a", "b"] {
            fixture.cache.set(value: Data(count: 100), key: key)
            fixture.cache.set(value: Data(count: 100), key: key, formatName: "f")
        }
        #expect(fixture.cache.contains(key: "a") == .memory)
        #expect(fixture.cache.contains(key: "a", formatName: "f") == .disk)
        #expect(fixture.cache.contains(key: "b", formatName: "f") == .memory)
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").statistics().capacityBytes == 30_000)
        #expect(try fixture.bucket().statistics().capacityBytes == .max)
    }

    @Test("H-104: a format added again keeps its values and memory, and takes on transform, conversion and capacity")
    func replaced() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f") { $0 + "1" })
        _ = try await fixture.cache.set(value: "v", key: "k", formatName: "f").value
        fixture.cache.addFormat(
            Format(name: "f", diskCapacity: 50_000) { $0 + "2" }.with { $0.convertToData = { Data(($0 + "#").utf8) } })
        #expect(fixture.cache.fetch(key: "k", formatName: "f").source == .memory)
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "v1")
        #expect(try await fixture.cache.set(value: "w", key: "l", formatName: "f").value == "w2")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "v1")
        #expect(try await fixture.cache.fetch(key: "l", formatName: "f").value == "w2#")
        #expect(try fixture.bucket("f").statistics().capacityBytes == 50_000)
        #expect(fixture.cache.formats.map(\.name) == ["f", "original"])
    }

    @Test(
        "H-105, H-170, H-171: a capacity under the bucket's size evicts the least recently used at once",
        arguments: [
            false, true,
        ])
    func smallerCapacity(reopened: Bool) async throws {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.addFormat(Format(name: "f"))
        for key in ["a", "b", "c", "d"] { fixture.cache.set(value: Data(count: 100), key: key, formatName: "f") }
        await fixture.settle()
        let quarter = try fixture.bucket("f").statistics().bytes / 4
        let cache = reopened ? fixture.sibling() : fixture.cache
        let capacity = UInt64(quarter * 5 / 2)
        cache.addFormat(Format(name: "f", diskCapacity: capacity))
        #expect(try fixture.bucket("f").entries().map(\.key) == ["c", "d"])
        cache.addFormat(Format(name: "f", diskCapacity: 0))
        #expect(try fixture.bucket("f").statistics().entries == 0)
        cache.addFormat(Format(name: "f"))
        cache.set(value: Data(count: 100), key: "e", formatName: "f")
        await cache.flush()
        #expect(try fixture.bucket("f").contains("e"))
    }

    @Test("H-106: formats may be read and added from any thread, and check-then-add is one step")
    func threads() async throws {
        let fixture = try CacheFixture(String.self)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    fixture.cache.addFormat(Format(name: "f", diskCapacity: UInt64(100_000 + number)), replacing: false)
                    fixture.cache.set(value: "\(number)", key: "\(number)", formatName: "f")
                    _ = fixture.cache.formats
                }
            }
        }
        #expect(fixture.cache.formats.map(\.name) == ["f", "original"])
        let capacity = try #require(fixture.cache.formats.first).diskCapacity
        #expect(try fixture.bucket("f").statistics().capacityBytes == capacity)
        for number in 0..<32 {
            #expect(try await fixture.cache.fetch(key: "\(number)", formatName: "f").value == "\(number)")
        }
    }

    @Test(
        "H-107: any name is a format's name, and stays in the cache's directory",
        arguments: ["", "a/b", "..", "../../x", "nul\0nul", "é", "e\u{301}", String(repeating: "n", count: 255)])
    func names(name: String) async throws {
        let fixture = try CacheFixture(String.self)
        #expect(fixture.cache.addFormat(Format(name: name)) == nil)
        fixture.cache.set(value: "v", key: "k", formatName: name)
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k", formatName: name).value == "v")
        #expect(fixture.cache.contains(key: "k") == .none)
        let content = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.url.path)
        #expect(content == ["test"])
    }

    @Test("H-107: a name that is too long for the disk is told, and its format works from memory")
    func longName() throws {
        let fixture = try CacheFixture(String.self)
        let name = String(repeating: "n", count: 256)
        #expect(fixture.cache.addFormat(Format(name: name))?.code == .diskUnavailable)
        fixture.cache.set(value: "v", key: "k", formatName: name)
        #expect(fixture.cache.fetch(key: "k", formatName: name).source == .memory)
    }

    @Test("H-108: removeFormat drops values and bucket, also those still on their way")
    func removeFormat() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f"))
        fixture.cache.set(value: "v", key: "disk", formatName: "f")
        await fixture.cache.flush()
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "v", key: "pending", formatName: "f")
        #expect(fixture.cache.removeFormat("f"))
        hold.resume()
        await fixture.cache.flush()
        #expect(try fixture.store().bucketNames() == ["original"])
        #expect(fixture.cache.fetch(key: "disk", formatName: "f").hasFailed)
        #expect(fixture.cache.statistics.failedWrites == 0)
        fixture.cache.addFormat(Format(name: "f"))
        #expect(fixture.cache.contains(key: "disk", formatName: "f") == .none)
        fixture.cache.set(value: "w", key: "k", formatName: "f")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "w")
    }

    @Test("H-108: the original format and unknown ones are not removed")
    func removeRefused() throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        #expect(!fixture.cache.removeFormat("original"))
        #expect(!fixture.cache.removeFormat("nowhere"))
        #expect(fixture.cache.contains(key: "k") == .memory)
    }
}
