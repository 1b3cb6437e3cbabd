import CHaneke
import Foundation
import TestSupport
import Testing

@Suite struct WriterTests {
    private static func begin(
        _ bucket: Bucket, _ key: [UInt8] = [1], metadata: [UInt8] = []
    ) throws -> OpaquePointer {
        var writer: OpaquePointer?
        let status = lend(metadata) { metadata in
            var options = hnk_set_options()
            options.struct_size = UInt32(MemoryLayout<hnk_set_options>.size)
            options.metadata = metadata
            options.user_flags = 3
            return lend(key) { hnk_writer_begin(bucket.raw, $0, &options, &writer) }
        }
        guard status == .ok, let writer else { throw Failure(status) }
        return writer
    }

    private static func setFile(_ bucket: Bucket, _ key: [UInt8], _ path: String) -> (hnk_status, hnk_error) {
        var error = hnk_error()
        let status = lend(key) { hnk_bucket_set_file(bucket.raw, $0, path, nil, &error) }
        return (status, error)
    }

    @Test("a file becomes a value, whatever its length", arguments: [0, 1, 1_000, 1_001, 262_144, 700_000])
    func file(size: Int) throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        let elsewhere = try TemporaryDirectory()
        try Files.write(sample(size), to: elsewhere.path("file"))
        #expect(Self.setFile(fixture.bucket, [1], elsewhere.path("file")).0 == .ok)
        #expect(fixture.bucket.get([1]) == .value(sample(size)))
        #expect(try Files.read(elsewhere.path("file")) == sample(size))
        fixture.store.expectSound()
    }

    @Test("what is no file is told by its path, and the key stays as it was")
    func noFile() throws {
        let fixture = try Fixture(capacity: 100_000)
        let elsewhere = try TemporaryDirectory()
        let (missing, pipe, large) = (elsewhere.path("missing"), elsewhere.path("pipe"), elsewhere.path("large"))
        #expect(mkfifo(pipe, 0o600) == 0)
        try Files.write(sample(500_000), to: large)
        #expect(fixture.bucket.set([1], "old") == .ok)
        for (path, expected) in [(missing, hnk_status.notFound), (pipe, .io), (elsewhere.path, .io)] {
            var (status, error) = Self.setFile(fixture.bucket, [1], path)
            let message = withUnsafeBytes(of: &error.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            #expect(status == expected && error.status == expected && message.contains(path))
            #expect(fixture.bucket.get([1]) == .text("old"))
        }
        #expect(Self.setFile(fixture.bucket, [], missing).0 == .notFound)
        #expect(Self.setFile(fixture.bucket, [], large).0 == .keySize)
        #expect(Self.setFile(fixture.bucket, [1], large).0 == .valueTooLarge)
        #expect(fixture.bucket.get([1]) == .status(.notFound))
        fixture.store.expectSound()
    }

    @Test(
        "pieces make one value: a row up to the threshold, a blob above it",
        arguments: [0, 1, 999, 1_000, 1_001, 40_000])
    func pieces(size: Int) throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set([1], "old") == .ok)
        let value = sample(size)
        let writer = try Self.begin(fixture.bucket, metadata: [7, 8])
        for start in stride(from: 0, to: size, by: 777) {
            #expect(lend(Array(value[start..<min(size, start + 777)])) { hnk_writer_append(writer, $0) } == .ok)
        }
        #expect(lend([]) { hnk_writer_append(writer, $0) } == .ok)
        #expect(fixture.bucket.get([1]) == .text("old"))
        #expect(hnk_writer_commit(writer) == .ok)
        let lease = try #require(fixture.bucket.lease([1]).1)
        #expect(lease.value == value && lease.metadata == [7, 8] && lease.entry.user_flags == 3)
        #expect((lease.entry.flags & HNK_ENTRY_BLOB != 0) == (size > 1_000))
        #expect(Files.blobs(in: fixture.directory.path).count == (size > 1_000 ? 1 : 0))
        fixture.store.expectSound()
    }

    @Test("aborting leaves nothing", arguments: [10, 40_000])
    func abort(size: Int) throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set([1], "old") == .ok)
        let writer = try Self.begin(fixture.bucket)
        #expect(lend(sample(size)) { hnk_writer_append(writer, $0) } == .ok)
        #expect(Files.blobs(in: fixture.directory.path).count == 1)
        hnk_writer_abort(writer)
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        #expect(fixture.bucket.get([1]) == .text("old") && fixture.bucket.statistics().writes == 1)
        hnk_writer_abort(nil)
        fixture.store.expectSound()
    }

    @Test("key and metadata are checked at the start")
    func checked() throws {
        let bucket = try Fixture().bucket
        var writer: OpaquePointer?
        #expect(lend([]) { hnk_writer_begin(bucket.raw, $0, nil, &writer) } == .keySize)
        #expect(lend(sample(65_537)) { hnk_writer_begin(bucket.raw, $0, nil, &writer) } == .keySize)
        #expect(throws: Failure.self) { try Self.begin(bucket, metadata: sample(65_537)) }
        #expect(writer == nil)
    }

    @Test("a value over the capacity is refused at the commit, the old one goes, nothing is evicted")
    func tooLarge() throws {
        let fixture = try Fixture(capacity: 20_000) { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set([1], "old") == .ok && fixture.bucket.set([2], "other") == .ok)
        let writer = try Self.begin(fixture.bucket)
        #expect(lend(sample(40_000)) { hnk_writer_append(writer, $0) } == .ok)
        #expect(hnk_writer_commit(writer) == .valueTooLarge)
        #expect(fixture.bucket.get([1]) == .status(.notFound) && fixture.bucket.get([2]) == .text("other"))
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        fixture.store.expectSound()
    }

    @Test(
        "a writer of a bucket that was dropped meanwhile answers not found and leaves nothing", arguments: [10, 40_000])
    func dropped(size: Int) throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        let writer = try Self.begin(fixture.bucket)
        #expect(lend(sample(size)) { hnk_writer_append(writer, $0) } == .ok)
        #expect(fixture.store.drop("test") == .ok)
        #expect(hnk_writer_commit(writer) == .notFound)
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        fixture.store.expectSound()
    }

    @Test("two writers of one key: the later commit stays")
    func two() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 10 }
        let (first, second) = (try Self.begin(fixture.bucket), try Self.begin(fixture.bucket))
        #expect(lend(sample(100)) { hnk_writer_append(first, $0) } == .ok)
        #expect(lend(sample(200)) { hnk_writer_append(second, $0) } == .ok)
        #expect(hnk_writer_commit(second) == .ok && hnk_writer_commit(first) == .ok)
        #expect(fixture.bucket.get([1]) == .value(sample(100)))
        #expect(Files.blobs(in: fixture.directory.path).count == 1)
        fixture.store.expectSound()
    }

    @Test("eviction of a blob removes its file")
    func evictedBlobs() throws {
        let unit = Charge.of(keyBytes: 1, valueBytes: 5_000, isBlob: true)
        let fixture = try Fixture(capacity: 5 * unit) { $0.blob_threshold_bytes = 1_000 }
        for number in 0..<20 {
            #expect(fixture.bucket.set([UInt8(number)], sample(5_000, seed: UInt64(number))) == .ok)
        }
        #expect(fixture.bucket.keys() == (15..<20).map { [UInt8($0)] })
        #expect(Files.blobs(in: fixture.directory.path).count == 5)
        fixture.store.expectSound()
    }
}
