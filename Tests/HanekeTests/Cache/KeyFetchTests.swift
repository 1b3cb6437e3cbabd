import Foundation
import HanekeStorage
import Testing

@testable import Haneke

@Suite("Cache: fetch by key", .timeLimit(.minutes(1)))
struct KeyFetchTests {
    @Test("H-050: memory comes first, then pending writes, then the disk, then the fetcher")
    func order() async throws {
        let fixture = try CacheFixture(String.self)
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "pending", key: "k")
        #expect(fixture.cache.fetch(key: "k").source == .memory)
        fixture.cache.handleMemoryPressure()
        #expect(try await fixture.cache.fetch(key: "k").value == "pending")
        hold.resume()
        await fixture.settle()
        try fixture.bucket().set(Array("disk".utf8), forKey: "k")
        let fetch = fixture.cache.fetch(key: "k", value: "fetcher")
        #expect(try await fetch.value == "disk")
        #expect(fetch.source == .disk)
        let fetched = fixture.cache.fetch(key: "absent", value: "fetcher")
        #expect(try await fetched.value == "fetcher")
        #expect(fetched.source == .fetcher)
    }

    @Test("H-051: a miss without a fetcher fails with -100 in io.haneke and names the key")
    func miss() async throws {
        let fixture = try CacheFixture(String.self)
        let error = try #require(await thrown { _ = try await fixture.cache.fetch(key: "some key").value })
        #expect((error as NSError).code == -100)
        #expect((error as NSError).domain == "io.haneke")
        #expect("\(error)".contains("some key"))
        #expect(fixture.cache.statistics.misses == 1)
    }

    @Test("H-053: a disk hit is in memory before its callback runs")
    func diskHit() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.settle()
        let seen = Recorder<FetchSource?>()
        let cache = fixture.cache
        cache.fetch(key: "k") { _ in seen.record(cache.fetch(key: "k").source) }
        #expect(await seen.events(count: 1) == [.memory])
        #expect(cache.statistics.diskHits == 1)
    }

    /// A cache whose format "f" has room for two records of 100 bytes, a and b, both on disk.
    private func cacheWithTwoRecords() async throws -> CacheFixture<Data> {
        let fixture = try CacheFixture(Data.self)
        fixture.cache.set(value: Data(count: 100), key: "x")
        let recordSize = try await fixture.cache.size
        fixture.cache.removeAll()
        fixture.cache.addFormat(Format(name: "f", diskCapacity: UInt64(recordSize * 5 / 2)))
        fixture.cache.set(value: Data(count: 100), key: "a", formatName: "f")
        fixture.cache.set(value: Data(count: 100), key: "b", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").statistics().entries == 2)
        return fixture
    }

    @Test("H-054: a hit in memory refreshes the access time on disk")
    func memoryHitRefreshes() async throws {
        let fixture = try await cacheWithTwoRecords()
        #expect(fixture.cache.fetch(key: "a", formatName: "f").source == .memory)
        fixture.cache.set(value: Data(count: 100), key: "c", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").entries().map(\.key) == ["a", "c"])
    }

    @Test("H-054: uses of values that are still on their way count in their order")
    func memoryHitWhilePending() async throws {
        let fixture = try await cacheWithTwoRecords()
        fixture.cache.removeAll()
        let hold = try fixture.holdWrites()
        for key in ["a", "b"] { fixture.cache.set(value: Data(count: 100), key: key, formatName: "f") }
        _ = fixture.cache.fetch(key: "a", formatName: "f")
        fixture.cache.set(value: Data(count: 100), key: "c", formatName: "f")
        hold.resume()
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").entries().map(\.key) == ["a", "c"])
    }

    @Test("H-054: a hit in memory writes a record that has gone again")
    func memoryHitWritesAgain() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.cache.flush()
        try fixture.bucket().remove("k")
        #expect(fixture.cache.fetch(key: "k").source == .memory)
        await fixture.cache.flush()
        #expect(try fixture.bucket().bytes(forKey: "k") == Array("v".utf8))
    }

    @Test("H-054: a use of a value that was removed afterwards does not bring its record back")
    func useBeforeRemove() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.cache.flush()
        let hold = try fixture.holdWrites()
        _ = fixture.cache.fetch(key: "k")
        fixture.cache.remove(key: "k")
        hold.resume()
        await fixture.cache.flush()
        #expect(try !fixture.bucket().contains("k"))
    }

    @Test("H-055: a disk hit refreshes the access time")
    func diskHitRefreshes() async throws {
        let fixture = try await cacheWithTwoRecords()
        fixture.cache.handleMemoryPressure()
        _ = try await fixture.cache.fetch(key: "a", formatName: "f").value
        fixture.cache.set(value: Data(count: 100), key: "c", formatName: "f")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").entries().map(\.key) == ["a", "c"])
    }

    @Test("H-056: bytes that do not decode fail with -102, and the record goes")
    func undecodable() async throws {
        let fixture = try CacheFixture(String.self)
        try fixture.bucket().set([0xFF, 0xFE], forKey: "k")
        let error = await thrown { _ = try await fixture.cache.fetch(key: "k").value }
        #expect(error.map(\.hanekeCode) == .undecodableData)
        await fixture.cache.flush()
        #expect(try !fixture.bucket().contains("k"))
        #expect(fixture.cache.statistics.undecodable == 1)
    }

    @Test("H-056: with a fetcher, bytes that do not decode are fetched anew")
    func undecodableWithFetcher() async throws {
        let fixture = try CacheFixture(String.self)
        try fixture.bucket().set([0xFF, 0xFE], forKey: "k")
        #expect(try await fixture.cache.fetch(key: "k", value: "fresh").value == "fresh")
        await fixture.cache.flush()
        #expect(try fixture.bucket().bytes(forKey: "k") == Array("fresh".utf8))
    }

    @Test("H-157: an error that decoding throws is the underlying error")
    func decodingThrows() async throws {
        let fixture = try CacheFixture(SettingTests.Moody.self)
        try fixture.bucket().set(Array("undecodable".utf8), forKey: "k")
        let error = await thrown { _ = try await fixture.cache.fetch(key: "k").value } as? HanekeError
        #expect(error?.code == .undecodableData)
        #expect(error?.underlyingError as? TestFailure == TestFailure(2))
    }

    @Test("H-057: a disk that can't be read fails with the store's error beneath; with a fetcher it is fetched")
    func unreadable() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "v", key: "k")
        await fixture.settle()
        let bucket = try fixture.bucket()
        var leases = LeasePile()
        try leases.takeAll(of: bucket, key: "k")
        let error = await thrown { _ = try await fixture.cache.fetch(key: "k").value } as? HanekeError
        #expect(error?.code == .diskReadFailed)
        #expect((error?.underlyingError as? StoreError)?.code == .readersFull)
        #expect(try await fixture.cache.fetch(key: "k", value: "fetched").value == "fetched")
        withExtendedLifetime(leases) {}
    }

    @Test("H-058: without a disk capacity values live in memory alone")
    func noDisk() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f", diskCapacity: 0))
        fixture.cache.set(value: "v", key: "k", formatName: "f")
        #expect(fixture.cache.fetch(key: "k", formatName: "f").source == .memory)
        await fixture.settle()
        let error = await thrown { _ = try await fixture.cache.fetch(key: "k", formatName: "f").value }
        #expect(error.map(\.hanekeCode) == .objectNotFound)
        #expect(fixture.cache.statistics.failedWrites == 0)
    }

    @Test("H-059: a cache whose directory can't be opened works from memory and says so")
    func noDirectory() async throws {
        Reports.start()
        let directory = try TemporaryDirectory()
        _ = try directory.file("test", Data("a file".utf8))
        let cache = Cache<String>(name: "test", directory: directory.url)
        #expect(cache.diskError?.code == .diskUnavailable)
        #expect(cache.diskError?.underlyingError is StoreError)
        cache.set(value: "v", key: "k")
        #expect(try await cache.fetch(key: "k").value == "v")
        await cache.flush()
        #expect(try await cache.size == 0)
        #expect(try await cache.entries().isEmpty)
        let done = Recorder<Int>()
        cache.removeAll { done.record(1) }
        #expect(await done.events(count: 1) == [1])
        #expect(await thrown { _ = try await cache.fetch(key: "k").value }.map(\.hanekeCode) == .objectNotFound)
        #expect(cache.addFormat(Format(name: "f") { $0 + "!" }) == nil)
        #expect(try await cache.set(value: "v", key: "k", formatName: "f").value == "v!")
        #expect(Reports.containing(directory.url.lastPathComponent).count == 1)
    }

    @Test("H-179, H-183: an empty or over-long key fails with -104 before fetch and set return")
    func invalidKeys() async throws {
        let fixture = try CacheFixture(String.self)
        for key in ["", String(repeating: "é", count: 32_769)] {
            let fetch = fixture.cache.fetch(key: key, value: "v")
            #expect(fetch.hasFailed)
            #expect(await thrown { _ = try await fetch.value }.map(\.hanekeCode) == .invalidKey)
            #expect(
                await thrown { _ = try await fixture.cache.set(value: "v", key: key).value }.map(\.hanekeCode)
                    == .invalidKey)
            fixture.cache.remove(key: key)
            #expect(fixture.cache.contains(key: key) == .none)
        }
        #expect(try await fixture.cache.size == 0)
    }

    @Test("H-179: the longest key is stored under")
    func longestKey() async throws {
        let fixture = try CacheFixture(String.self)
        let keys = ["a", "b"].map { String(repeating: "é", count: 32_767) + $0 + "x" }
        for key in keys { fixture.cache.set(value: "value of \(key.suffix(2))", key: key) }
        await fixture.settle()
        for key in keys { #expect(try await fixture.cache.fetch(key: key).value == "value of \(key.suffix(2))") }
    }
}

/// Leases held until no more are given.
private struct LeasePile: ~Copyable {
    private final class Box {
        let lease: Lease
        init(_ lease: consuming Lease) { self.lease = lease }
    }

    private var boxes: [Box] = []

    mutating func takeAll(of bucket: Bucket, key: String) throws(StoreError) {
        while true {
            do throws(StoreError) {
                guard let lease = try bucket.lease(forKey: key) else { return }
                boxes.append(Box(lease))
            } catch {
                guard error.code == .readersFull else { throw error }
                return
            }
        }
    }
}
