import CHaneke
import Foundation
import TestSupport
import Testing

/// Several processes on one directory, some of them killed.
@Suite(.serialized, .enabled(if: Child.writer.isAvailable, "needs a C compiler"))
struct ProcessTests {
    private static let isLong = ProcessInfo.processInfo.environment["HANEKE_LONG"] != nil
    private static let rounds = isLong ? 50 : 20

    private static func open(_ path: String) throws -> (Store, Bucket) {
        let store = try Store(path) { $0.blob_threshold_bytes = 6_000 }
        let bucket = try store.bucket {
            $0.fields = HNK_FIELD_ENTRIES
            $0.entries_max = 100
        }
        return (store, bucket)
    }

    private static func key(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: (number % 150).littleEndian) { [UInt8]($0) }
    }

    private static func value(_ number: UInt64) -> [UInt8] {
        let word = withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
        let words = 1 + Int(number &* 2_654_435_761 % 1_500)
        return [UInt8]((0..<words).map { _ in word }.joined())
    }

    /// Whether a read gives what the child may have written: n, or the successor whose line it did not come to write.
    private static func isRight(_ answer: Answer, _ number: UInt64, last: UInt64) -> Bool {
        answer == .value(value(number)) || key(last + 1) == key(number) && answer == .value(value(last + 1))
    }

    @Test("after SIGKILL at any moment each value whose set had returned is there or was evicted by the rules")
    func killed() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("store")
        var generator = SeededGenerator(seed: 20)
        var written: [UInt64] = []
        for round in 0..<Self.rounds {
            let isShared = round.isMultiple(of: 2)
            let open = isShared ? try Self.open(path) : nil
            let first = written.last.map { $0 + 1 } ?? 0
            var reads = 0
            let numbers = try Child.writer.killed(
                ["write", path, "\(first)"], afterLines: Int.random(in: 1...200, using: &generator)
            ) {
                // The parent reads what is there while the child writes: whole values only.
                guard let (_, bucket) = open else { return }
                for number in 0..<UInt64(150) {
                    if case .value(let bytes) = bucket.get(Self.key(number), HNK_GET_QUIET) {
                        let version: UInt64 = bytes.integer(at: 0)
                        #expect(version % 150 == number && bytes == Self.value(version), "round \(round)")
                        reads += 1
                    }
                }
            }
            #expect(numbers == Array(first..<first + UInt64(numbers.count)), "round \(round)")
            written += numbers
            let last = try #require(written.last)
            if let (store, bucket) = open {
                for number in written.suffix(99) {
                    #expect(
                        Self.isRight(bucket.get(Self.key(number), HNK_GET_QUIET), number, last: last), "round \(round)")
                }
                let (_, found) = store.verify()
                #expect(
                    found.damaged_records + found.missing_blobs + found.slot_faults + found.accounting_faults
                        + found.limit_faults == 0, "round \(round): \(found.words)")
                #expect(found.orphan_blobs <= 2)
            }
        }
        let last = try #require(written.last)
        for _ in 0..<2 {
            let (store, bucket) = try Self.open(path)
            for number in written.suffix(99) {
                #expect(Self.isRight(bucket.get(Self.key(number), HNK_GET_QUIET), number, last: last), "\(number)")
            }
            store.expectSound()
            let blobs = bucket.list().count { $0.entry.flags & HNK_ENTRY_BLOB != 0 }
            #expect(Files.blobs(in: path).count == blobs)
            #expect(bucket.statistics().entries == 100)
        }
    }

    @Test("what one killed process of several left behind is swept at the next open, though the other closed cleanly")
    func leftBySeveral() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("store")
        do {
            let (store, bucket) = try Self.open(path)
            #expect(bucket.set("mine", sample(8_000)) == .ok)
            _ = try Child.writer.killed(["write", path, "0"], afterLines: 20) {}
            // As if it had been killed between placing a file and committing its record, and while writing one.
            let blob = try #require(Files.blobs(in: path).first)
            try FileManager.default.createDirectory(atPath: path + "/blobs/c8", withIntermediateDirectories: true)
            try Files.copy(blob, to: path + "/blobs/c8/000001-000000c8-00000000000fffff")
            try Files.copy(blob, to: path + "/blobs/new-0000000000000001")
            withExtendedLifetime(store) {}
        }
        #expect(try RawState(path).state == 4)
        let (store, bucket) = try Self.open(path)
        store.expectSound()
        let blobs = bucket.list().count { $0.entry.flags & HNK_ENTRY_BLOB != 0 }
        #expect(Files.blobs(in: path).count == blobs)
        #expect(bucket.get("mine") == .value(sample(8_000)))
    }

    @Test("handles inherited by fork are refused in the child, and the parent goes on")
    func fork() throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.writer.run(["fork", directory.path("store")])
        #expect(status == 0, "\(output)")
        let (store, bucket) = try Self.open(directory.path("store"))
        #expect(bucket.get("key") == .text("value"))
        store.expectSound()
    }

    @Test(
        "a limit of the file size is a full disk: no signal, no wrong byte, and writes go on when it is lifted",
        arguments: [100_000, 300_000, 2_000_000])
    func fileSizeLimit(bytes: Int) throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.writer.run(["limit", directory.path("store"), "\(bytes)"])
        #expect(status == 0, "\(output)")
        let store = try Store(directory.path("store"))
        #expect(try store.bucket("limited").get("after") == .text("all"))
        store.expectSound()
    }
}
