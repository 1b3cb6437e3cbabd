import Foundation
import HanekeStorage
import TestSupport
import Testing

@Suite struct ValueWriterTests {
    private static let threshold = 10_000

    private static func bucket(_ options: Bucket.Options = Bucket.Options()) throws -> (TemporaryDirectory, Bucket) {
        let directory = try TemporaryDirectory()
        var storeOptions = DiskStore.Options()
        storeOptions.blobThresholdBytes = threshold
        let store = try DiskStore(directory: directory.path, options: storeOptions)
        return (directory, try store.bucket(named: "test", options: options))
    }

    private static func sample(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    /// The files of values, finished or not, in a store's directory.
    private static func blobs(_ directory: TemporaryDirectory) -> [String] {
        let files = FileManager.default.enumerator(atPath: directory.path("blobs"))
        return files?.compactMap { $0 as? String }.filter { $0.contains("-") } ?? []
    }

    @Test(
        "pieces become one value: a row up to the blob threshold, a file above it",
        arguments: [0, 1, threshold, threshold + 1, 1 << 20])
    func pieces(count: Int) throws {
        let (directory, bucket) = try Self.bucket()
        let value = Self.sample(count)
        try bucket.set([1], forKey: "key")
        var writer = try bucket.writer(
            forKey: "key", metadata: [4, 5], lifetime: .seconds(100), sliding: true, userFlags: 6)
        try writer.append(Array(value[..<(count / 3)]))
        try value[(count / 3)..<(count / 2)].withUnsafeBytes { try writer.append($0) }
        try writer.append(Array(value[(count / 2)...]).span.bytes)
        #expect(try bucket.bytes(forKey: "key") == [1])
        try writer.commit()
        let entry = try #require(try bucket.peek("key"))
        #expect(entry.valueBytes == count && entry.metadataBytes == 2 && entry.userFlags == 6 && entry.isSliding)
        #expect(try #require(entry.expiresAt) > entry.writtenAt)
        #expect(try bucket.bytes(forKey: "key") == value)
        #expect(entry.isBlob == (count > Self.threshold))
        #expect(Self.blobs(directory).count == (count > Self.threshold ? 1 : 0))
        #expect(try bucket.store.verify().isSound)
    }

    @Test("dropping a writer leaves the old value and no file")
    func dropped() throws {
        let (directory, bucket) = try Self.bucket()
        try bucket.set([1], forKey: "key")
        try Self.append(Self.sample(50_000), to: bucket.writer(forKey: "key")) {
            #expect(Self.blobs(directory).count == 1)
        }
        #expect(Self.blobs(directory).isEmpty)
        #expect(try bucket.bytes(forKey: "key") == [1])
        #expect(try bucket.store.verify().isSound)
    }

    /// Appends, and drops the writer.
    private static func append(
        _ bytes: [UInt8], to writer: consuming ValueWriter, beforeDrop: () -> Void
    ) throws(StoreError) {
        try writer.append(bytes)
        beforeDrop()
    }

    @Test("a key or metadata of a wrong size is refused at once, and no file is left")
    func refused() throws {
        let (directory, bucket) = try Self.bucket()
        let long = String(repeating: "k", count: 65_537)
        for (key, metadata, code) in [
            ("", 0, StoreError.Code.keySize), (long, 0, .keySize), ("k", 65_537, .metadataSize),
        ] {
            let error = #expect(throws: StoreError.self) {
                _ = try bucket.writer(forKey: key, metadata: Self.sample(metadata))
            }
            #expect(error?.code == code)
        }
        #expect(Self.blobs(directory).isEmpty)
    }

    @Test("a value over the capacity is refused by the commit, named, and the old value is gone")
    func tooLarge() throws {
        let (directory, bucket) = try Self.bucket(Bucket.Options(capacityBytes: 100_000))
        try bucket.set([1], forKey: "other")
        try bucket.set([1], forKey: "key")
        var writer = try bucket.writer(forKey: "key")
        try writer.append(Self.sample(100_001))
        let error = Self.failure(of: writer)
        #expect(error?.code == .valueTooLarge && error?.key == "key")
        #expect(try bucket.bytes(forKey: "key") == nil && bucket.contains("other"))
        #expect(try bucket.statistics().refused == 1 && Self.blobs(directory).isEmpty)
    }

    @Test("a writer keeps the store open; in a bucket that was removed its commit fails", arguments: [10, 50_000])
    func outlives(count: Int) throws {
        let directory = try TemporaryDirectory()
        let value = Self.sample(count)
        var writer = try DiskStore(directory: directory.path).bucket(named: "test").writer(forKey: "key")
        try writer.append(value)
        try writer.commit()
        let store = try DiskStore(directory: directory.path)
        #expect(try store.bucket(named: "test").bytes(forKey: "key") == value)

        writer = try store.bucket(named: "test").writer(forKey: "key")
        try writer.append(value)
        try store.removeBucket(named: "test")
        #expect(Self.failure(of: writer)?.code == .notFound)
        #expect(try store.verify().isSound && Self.blobs(directory).isEmpty)
    }

    /// What a commit throws.
    private static func failure(of writer: consuming ValueWriter) -> StoreError? {
        do {
            try writer.commit()
            return nil
        } catch {
            return error
        }
    }
}
