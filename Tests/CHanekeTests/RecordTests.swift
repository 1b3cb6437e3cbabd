import CHaneke
import TestSupport
import Testing

@Suite struct RecordTests {
    /// Around nothing, LMDB's border between leaf and overflow pages (for a key of three bytes), whole pages, and the
    /// blob threshold.
    static let valueSizes: [Int] =
        [0, 1, 2, 100] + Array(1_946...1_960) + [4_007, 4_008, 4_009, 8_104, 8_105]
        + [65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 5_000_000]

    @Test("a value of any size comes back as it was, and is charged by the formula", arguments: valueSizes)
    func sizes(size: Int) throws {
        let fixture = try Fixture()
        let value = sample(size)
        #expect(fixture.bucket.set("key", value) == .ok)
        #expect(fixture.bucket.get("key") == .value(value))
        let entry = try fixture.bucket.lease("key").entry
        let isBlob = size > 262_144
        #expect(entry.value_bytes == UInt64(size))
        #expect(entry.flags == (isBlob ? HNK_ENTRY_BLOB : 0))
        #expect(entry.charged_bytes == Charge.of(keyBytes: 3, valueBytes: size, isBlob: isBlob))
        let statistics = fixture.bucket.statistics()
        #expect(statistics.bytes == entry.charged_bytes && statistics.payload_bytes == UInt64(size))
        #expect(Files.blobs(in: fixture.directory.path).count == (isBlob ? 1 : 0))
        fixture.store.expectSound()
    }

    @Test("an empty value has an address, so that it differs from none")
    func emptyValue() throws {
        let fixture = try Fixture()
        #expect(lend([1]) { hnk_bucket_set(fixture.bucket.raw, $0, hnk_bytes(data: nil, size: 0), nil) } == .ok)
        let lease = try #require(fixture.bucket.lease([1]).1)
        let value = hnk_lease_value(lease.raw)
        #expect(value.data != nil && value.size == 0)
        #expect(fixture.bucket.get([1]) == .value([]))
    }

    @Test("overwriting small, large, blob and back leaves no trace of the old")
    func overwrites() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 10_000 }
        for (round, size) in [10, 5_000, 10_001, 50_000, 10_000, 0, 20_000, 3].enumerated() {
            let value = sample(size, seed: UInt64(round))
            #expect(fixture.bucket.set("key", value) == .ok)
            #expect(fixture.bucket.get("key") == .value(value))
            #expect(Files.blobs(in: fixture.directory.path).count == (size > 10_000 ? 1 : 0))
            let charge = Charge.of(keyBytes: 3, valueBytes: size, isBlob: size > 10_000)
            #expect(fixture.bucket.statistics().bytes == charge)
            #expect(fixture.bucket.statistics().entries == 1)
            fixture.store.expectSound("round \(round)")
        }
        #expect(fixture.bucket.statistics().writes == 8 && fixture.bucket.statistics().evictions == 0)
    }

    @Test("metadata up to 64 KiB and the caller's flags come back; more is refused", arguments: [0, 1, 65_536])
    func metadata(size: Int) throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 100 }
        for value in [sample(10), sample(1_000)] {
            let metadata = sample(size, seed: 9)
            #expect(fixture.bucket.set([1, 2], value, metadata: metadata, userFlags: 0xDEAD_BEEF) == .ok)
            let lease = try #require(fixture.bucket.lease([1, 2]).1)
            #expect(lease.metadata == metadata && lease.value == value)
            #expect(lease.entry.user_flags == 0xDEAD_BEEF && lease.entry.metadata_bytes == UInt64(size))
            #expect(
                lease.entry.charged_bytes
                    == Charge.of(
                        keyBytes: 2, metadataBytes: size, valueBytes: value.count, isBlob: value.count > 100))
            #expect(fixture.bucket.set([1, 2], [5], metadata: sample(65_537)) == .metadataSize)
            #expect(fixture.bucket.get([1, 2]) == .value(value))
            fixture.store.expectSound()
        }
    }

    @Test("reading into a buffer tells the size when it is too small, and touches nothing past the value")
    func intoBuffer() throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.set("key", "value") == .ok)
        var buffer = [UInt8](repeating: 0xAA, count: 8)
        var size = 0
        let key = Array("key".utf8)
        #expect(lend(key) { hnk_bucket_read(fixture.bucket.raw, $0, 0, nil, 0, &size) } == .bufferSize)
        #expect(size == 5)
        size = 0
        #expect(lend(key) { hnk_bucket_read(fixture.bucket.raw, $0, 0, &buffer, 4, &size) } == .bufferSize)
        #expect(size == 5 && buffer == [UInt8](repeating: 0xAA, count: 8))
        #expect(lend(key) { hnk_bucket_read(fixture.bucket.raw, $0, 0, &buffer, 8, &size) } == .ok)
        #expect(size == 5 && buffer == Array("value".utf8) + [0xAA, 0xAA, 0xAA])
        size = 99
        #expect(lend([9]) { hnk_bucket_read(fixture.bucket.raw, $0, 0, &buffer, 8, &size) } == .notFound)
        #expect(size == 99)
    }

    @Test("everything is there after closing and opening again")
    func reopened() throws {
        let directory = try Fixture.closed({ $0.blob_threshold_bytes = 5_000 }) { bucket in
            for size in [0, 10, 3_000, 6_000] {
                #expect(bucket.set([UInt8(size % 251)], sample(size), metadata: [1, 2, 3]) == .ok)
            }
        }
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        for size in [0, 10, 3_000, 6_000] { #expect(bucket.get([UInt8(size % 251)]) == .value(sample(size))) }
        store.expectSound()
    }
}
