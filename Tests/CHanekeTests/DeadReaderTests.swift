import CHaneke
import Foundation
import TestSupport
import Testing

/// A process that is killed while it holds a lease: its snapshot must not keep pages for ever.
///
/// LMDB itself clears a dead reader's place when somebody asks it to, and never by the way.
@Suite(.enabled(if: Child.reader.isAvailable, "needs a C compiler"))
struct DeadReaderTests {
    private static let capacity: UInt64 = 4 << 20

    /// Has a process take a lease of "held", and kills it.
    private static func leaveDeadReader(in path: String, held: Int) throws {
        #expect(try Child.reader.killed([path], afterLines: 1) {} == [UInt64(held)])
    }

    /// Sets random keys until `bytes` are written; the largest that the directory was on the disk.
    private static func churn(_ store: Store, _ bucket: Bucket, bytes: UInt64, seed: UInt64) throws -> UInt64 {
        var random = SeededGenerator(seed: seed)
        var (written, number, largest) = (UInt64(0), 0, UInt64(0))
        while written < bytes {
            let value = sample(Int.random(in: 200...20_000, using: &random), seed: UInt64(number))
            try #require(bucket.set("\(random.next())", value) == .ok)
            written += UInt64(value.count)
            number += 1
            if number % 64 == 0 { largest = max(largest, store.statistics().disk_bytes) }
        }
        return largest
    }

    @Test("a process that goes on writing keeps the directory in its bounds after a reader was killed with its lease")
    func bounded() throws {
        let fixture = try Fixture(capacity: Self.capacity)
        let (store, bucket) = (fixture.store, fixture.bucket)
        #expect(bucket.set("held", sample(3_000)) == .ok)
        _ = try Self.churn(store, bucket, bytes: Self.capacity, seed: 1)
        #expect(bucket.set("held", sample(3_000)) == .ok)
        try Self.leaveDeadReader(in: fixture.directory.path, held: 3_000)
        let largest = try Self.churn(store, bucket, bytes: 10 * Self.capacity, seed: 2)
        let bound = Self.capacity / 4 * 5 + (1 << 20)
        #expect(store.statistics().disk_bytes <= bound)
        #expect(largest <= bound, "while writing, the directory took \(largest)")
        store.expectSound()
    }

    @Test("a file without a capacity stops growing after a reader was killed with its lease")
    func unlimited() throws {
        let fixture = try Fixture()
        let (store, bucket) = (fixture.store, fixture.bucket)
        let data = fixture.directory.path("data.mdb")
        #expect(bucket.set("held", sample(3_000)) == .ok)
        func replaceAll(_ rounds: Range<Int>) {
            for round in rounds {
                for key in 0..<64 { #expect(bucket.set([UInt8(key)], sample(3_000, seed: UInt64(round))) == .ok) }
            }
        }
        replaceAll(0..<4)
        let before = Files.size(data)
        try Self.leaveDeadReader(in: fixture.directory.path, held: 3_000)
        replaceAll(0..<20)
        let grown = Files.size(data)
        replaceAll(20..<80)
        #expect(Files.size(data) == grown, "from \(before) to \(grown) and on")
        store.expectSound()
    }

    @Test("readers that were killed with their leases leave their places to others")
    func places() throws {
        let fixture = try Fixture { $0.readers_max = 8 }
        let bucket = fixture.bucket
        #expect(bucket.set("held", sample(100)) == .ok)
        func hold(_ readers: Int) throws {
            guard readers > 0 else { return }
            let lines = try Child.reader.killed([fixture.directory.path], afterLines: 1) {
                #expect(throws: Never.self) { try hold(readers - 1) }
            }
            #expect(lines == [100])
        }
        try hold(6)
        do {
            let leases = try (0..<8).map { _ in try bucket.lease("held") }
            #expect(leases.allSatisfy { $0.value == sample(100) })
        }
        #expect(bucket.set("after", "all") == .ok)
        fixture.store.expectSound()
    }

    @Test("a process with two leases at a time takes no more places than that from other processes")
    func idlePlaces() throws {
        let fixture = try Fixture { $0.readers_max = 8 }
        #expect(fixture.bucket.set("held", sample(100)) == .ok)
        for _ in 0..<20 {
            let leases = [try fixture.bucket.lease("held"), try fixture.bucket.lease("held")]
            #expect(leases.allSatisfy { $0.value == sample(100) })
        }
        try Self.leaveDeadReader(in: fixture.directory.path, held: 100)
    }

    @Test("a reader that lives keeps its value whole, whatever is written meanwhile, and its pages come back after it")
    func living() throws {
        let fixture = try Fixture(capacity: Self.capacity)
        let (store, bucket) = (fixture.store, fixture.bucket)
        #expect(bucket.set("held", sample(3_000)) == .ok)
        try Child.reader.beside([fixture.directory.path]) {
            _ = try Self.churn(store, bucket, bytes: 2 * Self.capacity, seed: 3)
        }
        _ = try Self.churn(store, bucket, bytes: 4 * Self.capacity, seed: 4)
        #expect(store.statistics().disk_bytes <= Self.capacity / 4 * 5 + (1 << 20))
        store.expectSound()
    }
}
