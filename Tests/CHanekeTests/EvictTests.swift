import CHaneke
import Foundation
import TestSupport
import Testing

@Suite struct EvictTests {
    /// What an entry with a two-byte key and a value of 100 bytes is charged.
    private static let unit = Charge.of(keyBytes: 2, valueBytes: 100)
    private static let value = sample(100)

    private static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    @Test("a value over the capacity is refused: nothing is evicted, the key's old value goes")
    func tooLarge() throws {
        let fixture = try Fixture(capacity: 10 * Self.unit) { $0.blob_threshold_bytes = 8_000 }
        for number in 0..<5 { #expect(fixture.bucket.set(Self.key(number), Self.value) == .ok) }
        for (key, size) in [(Self.key(2), 4_000), (Self.key(9), 4_000), (Self.key(3), 1_000_000)] {
            #expect(fixture.bucket.set(key, sample(size)) == .valueTooLarge)
            #expect(fixture.bucket.get(key) == .status(.notFound))
        }
        let counted = fixture.bucket.statistics()
        #expect(counted.entries == 3 && counted.evictions == 0 && counted.refused == 3 && counted.writes == 5)
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        fixture.store.expectSound()
    }

    @Test("exactly at the capacity nothing goes; one byte less and the least recently used one does")
    func exactly() throws {
        let fixture = try Fixture(capacity: 10 * Self.unit)
        for number in 0..<10 { #expect(fixture.bucket.set(Self.key(number), Self.value) == .ok) }
        var counted = fixture.bucket.statistics()
        #expect(counted.bytes == counted.capacity_bytes && counted.evictions == 0 && counted.entries == 10)
        #expect(fixture.bucket.set(Self.key(10), Self.value) == .ok)
        counted = fixture.bucket.statistics()
        #expect(counted.entries == 10 && counted.evictions == 1)
        #expect(fixture.bucket.get(Self.key(0)) == .status(.notFound))
        let lowered = fixture.bucket.configure {
            $0.fields = HNK_FIELD_CAPACITY
            $0.capacity_bytes = 10 * Self.unit - 1
        }
        #expect(lowered == .ok)
        #expect(fixture.bucket.statistics().entries == 9)
        #expect(fixture.bucket.get(Self.key(1)) == .status(.notFound))
        fixture.store.expectSound()
    }

    @Test("a value as large as the capacity is taken, and everything else goes for it")
    func asLarge() throws {
        let whole = Charge.of(keyBytes: 2, valueBytes: 20_000)
        let fixture = try Fixture(capacity: whole)
        for number in 0..<20 { #expect(fixture.bucket.set(Self.key(number), Self.value) == .ok) }
        #expect(fixture.bucket.set(Self.key(100), sample(20_000)) == .ok)
        let counted = fixture.bucket.statistics()
        #expect(counted.entries == 1 && counted.bytes == whole && counted.evictions == 20)
        #expect(fixture.bucket.set(Self.key(101), sample(20_000 + 4_096)) == .valueTooLarge)
        #expect(fixture.bucket.get(Self.key(100)) == .value(sample(20_000)))
        fixture.store.expectSound()
    }

    @Test("the least recently used goes first, by the order of sets, gets and touches")
    func order() throws {
        let fixture = try Fixture(entriesMax: 4)
        let bucket = fixture.bucket
        for key in ["a", "b", "c", "d"] { #expect(bucket.set(key, "1") == .ok) }
        #expect(bucket.get("a") == .text("1"))
        #expect(bucket.touch("b") == .ok)
        #expect(bucket.get("c", HNK_GET_QUIET) == .text("1"))
        #expect(bucket.peek("c").status == .ok)
        #expect(bucket.texts(.byAccess) == ["c", "d", "a", "b"])
        #expect(bucket.set("e", "1") == .ok)
        #expect(bucket.texts(.byAccess) == ["d", "a", "b", "e"])
        #expect(bucket.set("a", "2") == .ok)
        #expect(bucket.texts(.byAccess) == ["d", "b", "e", "a"])
        var size = 0
        #expect(lend(Array("d".utf8)) { hnk_bucket_read(bucket.raw, $0, 0, nil, 0, &size) } == .bufferSize)
        #expect(bucket.texts(.byAccess) == ["b", "e", "a", "d"])
        #expect(bucket.set("f", "1") == .ok && bucket.set("g", "1") == .ok)
        #expect(bucket.texts(.byAccess) == ["a", "d", "f", "g"])
        #expect(bucket.statistics().evictions == 3)
        fixture.store.expectSound()
    }

    @Test("growing an entry makes room by evicting others, never itself")
    func growing() throws {
        let fixture = try Fixture(capacity: 10 * Self.unit)
        for number in 0..<10 { #expect(fixture.bucket.set(Self.key(number), Self.value) == .ok) }
        // The oldest of all is the one that grows.
        #expect(fixture.bucket.set(Self.key(0), sample(500)) == .ok)
        #expect(fixture.bucket.get(Self.key(0)) == .value(sample(500)))
        #expect(fixture.bucket.get(Self.key(1)) == .status(.notFound))
        #expect(fixture.bucket.statistics().bytes <= 10 * Self.unit)
        fixture.store.expectSound()
    }

    @Test("lowering the limits evicts at once, the least recently used first")
    func lowering() throws {
        let fixture = try Fixture()
        for number in 0..<1_000 { #expect(fixture.bucket.set(Self.key(number), Self.value) == .ok) }
        let byBytes = fixture.bucket.configure {
            $0.fields = HNK_FIELD_CAPACITY
            $0.capacity_bytes = 100 * Self.unit
        }
        #expect(byBytes == .ok && fixture.bucket.statistics().entries == 100)
        #expect(fixture.bucket.keys() == (900..<1_000).map(Self.key))
        let byCount = fixture.bucket.configure {
            $0.fields = HNK_FIELD_ENTRIES
            $0.entries_max = 7
        }
        #expect(byCount == .ok && fixture.bucket.keys() == (993..<1_000).map(Self.key))
        let reopened = try fixture.store.bucket {
            $0.fields = HNK_FIELD_ENTRIES
            $0.entries_max = 3
        }
        #expect(reopened.keys() == (997..<1_000).map(Self.key))
        fixture.store.expectSound()
    }

    @Test("capacity 0 empties the bucket and refuses every value; raising it opens it again")
    func zero() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set("a", "1") == .ok && fixture.bucket.set("b", sample(2_000)) == .ok)
        func capacity(_ bytes: UInt64) -> hnk_status {
            fixture.bucket.configure {
                $0.fields = HNK_FIELD_CAPACITY
                $0.capacity_bytes = bytes
            }
        }
        #expect(capacity(0) == .ok)
        #expect(fixture.bucket.statistics().entries == 0 && fixture.bucket.statistics().bytes == 0)
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        #expect(fixture.bucket.set("a", "") == .valueTooLarge)
        fixture.store.expectSound()
        #expect(capacity(100_000) == .ok)
        #expect(fixture.bucket.set("a", "1") == .ok)
        fixture.store.expectSound()
    }

    @Test(
        "above a few thousand slots the choice is by sample, and the oldest fifth is far likelier to go than the newest"
    )
    func sampled() throws {
        let fixture = try Fixture(entriesMax: 6_000)
        let keys = (0..<6_000).map { [UInt8($0 >> 8), UInt8($0 & 0xFF), 7] }
        try fixture.store.setAll(keys.map { ($0, [1]) }, in: fixture.bucket)
        #expect(fixture.bucket.statistics().evictions == 0)
        // Stamps in key order, whatever the clock's tick.
        for slot in 0..<6_000 {
            try Files.patch(RawSlots.path(fixture.directory.path), at: RawSlots.offset(ofTime: slot)) {
                $0.set(UInt64(slot + 1) * 1_000_000, at: 0)
            }
        }
        try fixture.store.setAll((0..<1_000).map { ([UInt8($0 >> 8), UInt8($0 & 0xFF), 8], [1]) }, in: fixture.bucket)
        let left = Set(fixture.bucket.keys())
        #expect(left.count == 6_000 && fixture.bucket.statistics().evictions == 1_000)
        let oldest = keys.prefix(1_200).filter(left.contains).count
        let newest = keys.suffix(1_200).filter(left.contains).count
        #expect(oldest < 450 && newest >= 1_199, "\(oldest) of the oldest, \(newest) of the newest 1,200 are left")
        fixture.store.expectSound()
    }

    @Test(
        "charged bytes stay at or under the capacity after every call of a random churn",
        arguments: [1, 2, 3] as [UInt64])
    func churn(seed: UInt64) throws {
        let capacity: UInt64 = 200_000
        let fixture = try Fixture(capacity: capacity) { $0.blob_threshold_bytes = 20_000 }
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let key = Self.key(Int.random(in: 0..<60, using: &generator))
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: _ = fixture.bucket.remove(key)
            case 1: _ = fixture.bucket.get(key)
            default:
                let size = Int(pow2: Double.random(in: 0..<17, using: &generator))
                let status = fixture.bucket.set(key, sample(size))
                #expect(status == .ok)
            }
            let counted = fixture.bucket.statistics()
            #expect(counted.bytes <= capacity, "seed \(seed)")
        }
        fixture.store.expectSound("seed \(seed)")
    }

    @Test("hits, misses and expirations last over closing and opening again")
    func countsLast() throws {
        let directory = try Fixture.closed { bucket in
            #expect(bucket.set("a", "1") == .ok && bucket.set("b", [1], lifetime: -1) == .ok)
            _ = (bucket.get("a"), bucket.get("a"), bucket.get("none"), bucket.get("b"))
        }
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        _ = bucket.get("a")
        for counted in [bucket.statistics(), store.statistics()] {
            #expect((counted.hits, counted.misses, counted.expirations) == (3, 2, 1))
            #expect(counted.writes == 2 && counted.entries == 2 && counted.buckets == 1)
        }
    }
}

extension Int {
    /// 2 to the power of `exponent`: sizes on a scale of logarithms.
    init(pow2 exponent: Double) { self = Int(exp2(exponent)) }
}
