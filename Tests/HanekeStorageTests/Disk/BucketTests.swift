import HanekeStorage
import TestSupport
import Testing

@Suite struct BucketTests {
    private static func bucket(_ options: Bucket.Options = Bucket.Options()) throws -> (TemporaryDirectory, Bucket) {
        let directory = try TemporaryDirectory()
        return (directory, try DiskStore(directory: directory.path).bucket(named: "test", options: options))
    }

    @Test("what is set is read, peeked at, touched and removed")
    func roundTrip() throws {
        let (directory, bucket) = try Self.bucket()
        try bucket.set([1, 2, 3], forKey: "key", metadata: [4], lifetime: .seconds(100), sliding: true, userFlags: 5)
        #expect(try bucket.bytes(forKey: "key") == [1, 2, 3])
        #expect(try bucket.contains("key") && bucket.touch("key"))
        let entry = try #require(try bucket.peek("key"))
        #expect(entry.keyBytes.isEmpty && entry.valueBytes == 3 && entry.metadataBytes == 1 && entry.userFlags == 5)
        #expect(entry.isSliding && !entry.isBlob && !entry.isExpired && entry.chargedBytes > 0)
        #expect(try bucket.remove("key") && !bucket.remove("key"))
        #expect(try bucket.bytes(forKey: "key") == nil && bucket.peek("key") == nil)
        #expect(try !bucket.contains("key") && !bucket.touch("key"))
        withExtendedLifetime(directory) {}
    }

    @Test("an empty value is a value")
    func empty() throws {
        let (directory, bucket) = try Self.bucket()
        try bucket.set([], forKey: "key")
        #expect(try bucket.bytes(forKey: "key") == [])
        let lease = try Self.lease(bucket, "key")
        let counts = [lease.count, lease.withBytes { $0.byteCount }, lease.withMetadata { $0.byteCount }]
        #expect(counts == [0, 0, 0])
        withExtendedLifetime(directory) {}
    }

    @Test("a lease shows the value in place, and outlives its overwriting, its bucket and its store")
    func lease() throws {
        let directory = try TemporaryDirectory()
        let lease = try Self.leased(directory)
        let again = try DiskStore(directory: directory.path).bucket(named: "test")
        try again.set([9], forKey: "key")
        let key = lease.entry().keyBytes
        #expect(key == Array("key".utf8))
        let (count, bytes, metadata) = (lease.count, lease.bytes(), lease.metadata())
        #expect(count == 4 && bytes == [1, 2, 3, 4] && metadata == [5])
        let spanned = lease.withBytes { span in
            (0..<span.byteCount).map { span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        }
        let sum = lease.withUnsafeBytes { $0.reduce(0) { $0 + Int($1) } }
        let inPlace = lease.withMetadata { span in
            (0..<span.byteCount).map { span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        }
        #expect(inPlace == metadata)
        #expect(spanned == bytes && sum == 10)
        #expect(try again.store.statistics().leases == 1)
        Self.release(lease)
        #expect(try again.store.statistics().leases == 0)
    }

    private static func leased(_ directory: TemporaryDirectory) throws -> Lease {
        let bucket = try DiskStore(directory: directory.path).bucket(named: "test")
        try bucket.set([1, 2, 3, 4], forKey: "key", metadata: [5])
        return try lease(bucket, "key")
    }

    private static func lease(_ bucket: Bucket, _ key: String) throws -> Lease {
        guard let lease = try bucket.lease(forKey: key) else { throw Missing() }
        return lease
    }

    private static func release(_ lease: consuming Lease) {}

    private struct Missing: Error {}

    @Test("what the body of a read throws comes out as it is")
    func bodyThrows() throws {
        let (directory, bucket) = try Self.bucket()
        try bucket.set([1], forKey: "key")
        let lease = try Self.lease(bucket, "key")
        do throws(Missing) {
            try lease.withBytes { (_: RawSpan) throws(Missing) in throw Missing() }
            Issue.record("it did not throw")
        } catch {}
        withExtendedLifetime(directory) {}
    }

    @Test("expired entries are misses, and given to those who ask")
    func expired() throws {
        let (directory, bucket) = try Self.bucket()
        for lifetime in [Duration.zero, .seconds(-5), .nanoseconds(-1)] {
            try bucket.set([1], forKey: "old", lifetime: lifetime)
            #expect(try bucket.bytes(forKey: "old") == nil)
        }
        #expect(try bucket.bytes(forKey: "old", options: .includingExpired) == [1])
        #expect(try bucket.peek("old")?.isExpired == true)
        #expect(try !bucket.contains("old") && !bucket.touch("old"))
        try bucket.set([1], forKey: "new", lifetime: .seconds(Int64.max))
        #expect(try bucket.peek("new")?.expiresAt == nil)
        #expect(try bucket.removeExpired() == 1 && bucket.entries().map(\.key) == ["new"])
        withExtendedLifetime(directory) {}
    }

    @Test("a quiet read is no use: neither counted nor recent")
    func quiet() throws {
        let (directory, bucket) = try Self.bucket(Bucket.Options(entriesMax: 2))
        try bucket.set([1], forKey: "a")
        try bucket.set([1], forKey: "b")
        #expect(try bucket.bytes(forKey: "a", options: .quiet) == [1])
        #expect(try bucket.statistics().hits == 0)
        try bucket.set([1], forKey: "c")
        #expect(try bucket.entries(order: .access).map(\.key) == ["b", "c"])
        withExtendedLifetime(directory) {}
    }

    @Test("limits hold, and are changed while the bucket is open")
    func limits() throws {
        let (directory, bucket) = try Self.bucket(Bucket.Options(capacityBytes: 100_000, lifetime: .seconds(60)))
        for number in 0..<100 { try bucket.set([UInt8](repeating: 1, count: 3_000), forKey: "k\(number)") }
        var counted = try bucket.statistics()
        #expect(counted.bytes <= 100_000 && counted.capacityBytes == 100_000 && counted.evictions > 0)
        #expect(try bucket.entries().allSatisfy { $0.expiresAt == $0.writtenAt + 60_000 })
        try bucket.configure(Bucket.Options(entriesMax: 3))
        counted = try bucket.statistics()
        #expect(counted.entries == 3 && counted.writes == 100)
        let error = #expect(throws: StoreError.self) {
            try bucket.set([UInt8](repeating: 1, count: 200_000), forKey: "k99")
        }
        #expect(error?.code == .valueTooLarge && error?.key == "k99")
        #expect(try bucket.bytes(forKey: "k99") == nil && bucket.statistics().refused == 1)
        withExtendedLifetime(directory) {}
    }

    @Test("what a bucket is set to can be read, stays where nothing is said, and lasts")
    func settings() throws {
        let directory = try TemporaryDirectory()
        do {
            let store = try DiskStore(directory: directory.path)
            let made = try store.bucket(named: "test").settings()
            #expect(
                made
                    == Bucket.Options(
                        capacityBytes: .max, entriesMax: 0, lifetime: .seconds(Int64.max), eviction: .leastRecentlyUsed)
            )
            let bucket = try store.bucket(
                named: "test", options: Bucket.Options(entriesMax: 9, lifetime: .milliseconds(1_500), eviction: .sieve))
            try bucket.configure(Bucket.Options(capacityBytes: 1 << 20))
        }
        let store = try DiskStore(directory: directory.path)
        let bucket = try store.bucket(named: "test", options: Bucket.Options(mustExist: true))
        let expected = Bucket.Options(
            capacityBytes: 1 << 20, entriesMax: 9, lifetime: .milliseconds(1_500), eviction: .sieve)
        #expect(try bucket.settings() == expected)
        try bucket.configure(expected)
        #expect(try bucket.settings() == expected)
        #expect(try store.removeBucket(named: "test"))
        #expect(#expect(throws: StoreError.self) { try bucket.settings() }?.code == .notFound)
    }

    @Test("by SIEVE what was read stays and the others go in order of insertion; back to LRU it is the order of use")
    func eviction() throws {
        let (directory, bucket) = try Self.bucket(Bucket.Options(entriesMax: 3, eviction: .sieve))
        for key in ["a", "b", "c"] { try bucket.set([1], forKey: key) }
        #expect(try bucket.bytes(forKey: "a") == [1])
        for key in ["d", "e"] { try bucket.set([1], forKey: key) }
        #expect(try bucket.entries().map(\.key) == ["a", "d", "e"])
        try bucket.configure(Bucket.Options(eviction: .leastRecentlyUsed))
        try bucket.set([1], forKey: "f")
        #expect(try bucket.entries().map(\.key) == ["d", "e", "f"])
        withExtendedLifetime(directory) {}
    }

    @Test("a policy has a name; one that the library does not know is refused")
    func policies() throws {
        let (directory, bucket) = try Self.bucket()
        let policies: [Bucket.EvictionPolicy] = [.leastRecentlyUsed, .sieve, Bucket.EvictionPolicy(rawValue: 99)]
        #expect(policies.map(\.description) == ["leastRecentlyUsed", "sieve", "EvictionPolicy(99)"])
        let error = #expect(throws: StoreError.self) {
            try bucket.configure(Bucket.Options(eviction: policies[2]))
        }
        #expect(error?.code == .argument)
        #expect(try bucket.settings().eviction == .leastRecentlyUsed)
        withExtendedLifetime(directory) {}
    }

    @Test("entries are listed by key and access, by prefix, and a walk may stop")
    func listing() throws {
        let (directory, bucket) = try Self.bucket()
        for key in ["b2", "a", "b1", "c"] { try bucket.set([UInt8](key.utf8), forKey: key, metadata: [1]) }
        #expect(try bucket.entries().map(\.key) == ["a", "b1", "b2", "c"])
        #expect(try bucket.entries(order: .access).map(\.key) == ["b2", "a", "b1", "c"])
        #expect(try bucket.entries(prefix: "b", order: .access).map(\.key) == ["b2", "b1"])
        var seen: [String] = []
        try bucket.forEachEntry {
            seen.append($0.key); return seen.count < 2
        }
        #expect(seen == ["a", "b1"])
        func walk(_ prefix: String, after: String, _ order: Bucket.Order = .key) throws -> [String] {
            var keys: [String] = []
            try bucket.forEachEntry(prefix: prefix, after: after, order: order) {
                keys.append($0.key); return true
            }
            return keys
        }
        #expect(try walk("", after: "b1") == ["b2", "c"])
        #expect(try walk("b", after: "b1") == ["b2"])
        #expect(try walk("", after: "b") == ["b1", "b2", "c"])
        #expect(try walk("b", after: "c").isEmpty)
        #expect(try walk("b", after: "", .access) == ["b2", "b1"])
        #expect(try bucket.entries().allSatisfy { $0.accessedAt != nil && $0.metadataBytes == 1 })
        #expect(try bucket.removeAll(withPrefix: "b") == 2)
        try bucket.removeAll()
        #expect(try bucket.entries().isEmpty)
        withExtendedLifetime(directory) {}
    }
}
