import CHaneke
import TestSupport
import Testing

@Suite struct KeyTests {
    @Test("an empty key and one over 64 KiB are refused by every call")
    func refused() throws {
        let bucket = try Fixture().bucket
        for key in [[], [UInt8](repeating: 7, count: 65_537)] {
            #expect(bucket.set(key, [1]) == .keySize)
            #expect(bucket.get(key) == .status(.keySize))
            #expect(bucket.peek(key).status == .keySize)
            #expect(bucket.touch(key) == .keySize)
            #expect(bucket.remove(key) == .keySize)
        }
        #expect(bucket.removePrefix([UInt8](repeating: 7, count: 65_537)).status == .keySize)
        #expect(bucket.statistics().entries == 0)
    }

    @Test("keys of all lengths that share a long prefix are distinct")
    func lengths() throws {
        let fixture = try Fixture()
        let bucket = fixture.bucket
        let long = sample(65_536)
        let lengths = [1, 2, 490, 491, 492, 505, 506, 507, 508, 510, 511, 512, 513, 2_000, 65_535, 65_536]
        for length in lengths { #expect(bucket.set(Array(long.prefix(length)), Array("\(length)".utf8)) == .ok) }
        for length in lengths { #expect(bucket.get(Array(long.prefix(length))) == .text("\(length)")) }
        #expect(bucket.get(Array(long.prefix(509))) == .status(.notFound))
        #expect(Set(bucket.keys()) == Set(lengths.map { Array(long.prefix($0)) }))
        for (key, entry) in bucket.list() {
            #expect(entry.charged_bytes == Charge.of(keyBytes: key.count, valueBytes: "\(key.count)".utf8.count))
        }
        fixture.store.expectSound()
        for length in lengths { #expect(bucket.remove(Array(long.prefix(length))) == .ok) }
        #expect(bucket.statistics().bytes == 0)
        fixture.store.expectSound()
    }

    @Test("a raw key that looks like a digested one is another key")
    func forgedForm() throws {
        let fixture = try Fixture()
        let long = sample(600)
        #expect(fixture.bucket.set(long, "long") == .ok)
        // 507 bytes, head and digest as stored, is itself over-long: it is digested in turn.
        let stored = try fixture.rows().of(table: 4).map { Array($0.name.dropFirst(4)) }
        #expect(stored.count == 1 && stored[0].count == 507 && Array(stored[0].prefix(491)) == Array(long.prefix(491)))
        #expect(fixture.bucket.get(stored[0]) == .status(.notFound))
        #expect(fixture.bucket.set(stored[0], "raw") == .ok)
        #expect(fixture.bucket.get(long) == .text("long"))
        #expect(fixture.bucket.get(stored[0]) == .text("raw"))
    }

    @Test(
        "any bytes are a key",
        arguments: [[0], [0, 0], Array("a/b/../c".utf8), Array("🪣".utf8), Array(0...255), [0xFF, 0xFE], [0x2E]]
            as [[UInt8]])
    func anyBytes(key: [UInt8]) throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.set(key, "here") == .ok)
        #expect(fixture.bucket.get(key) == .text("here"))
        #expect(fixture.bucket.get(key + [0]) == .status(.notFound))
        #expect(fixture.bucket.keys() == [key])
        let lease = try #require(fixture.bucket.lease(key).1)
        #expect(lease.key == key)
    }

    @Test(
        "prefixes find what they should at the borders of raw and digested keys",
        arguments: [1, 490, 491, 492, 505, 506, 507, 511, 600])
    func prefixes(length: Int) throws {
        let fixture = try Fixture()
        let base = sample(700, seed: 3)
        var keys: [[UInt8]] = []
        for count in [1, 489, 490, 491, 492, 504, 505, 506, 507, 508, 511, 512, 599, 600, 601, 700] {
            keys.append(Array(base.prefix(count)))
            var other = Array(base.prefix(count))
            other[count - 1] ^= 1
            keys.append(other)
        }
        for (number, key) in keys.enumerated() { #expect(fixture.bucket.set(key, "\(number)") == .ok) }
        let prefix = Array(base.prefix(length))
        let expected = keys.filter { $0.starts(with: prefix) }
        #expect(Set(fixture.bucket.keys(prefix: prefix)) == Set(expected))
        #expect(fixture.bucket.keys(prefix: prefix).count == expected.count)
        #expect(Set(fixture.bucket.keys(.byAccess, prefix: prefix)) == Set(expected))

        let (status, removed) = fixture.bucket.removePrefix(prefix)
        #expect(status == .ok && removed == UInt64(expected.count))
        #expect(Set(fixture.bucket.keys()) == Set(keys).subtracting(expected))
        fixture.store.expectSound()
    }

    @Test("the empty prefix removes all")
    func emptyPrefix() throws {
        let fixture = try Fixture()
        for number in 0..<300 { #expect(fixture.bucket.set("k\(number)", "v") == .ok) }
        let (status, removed) = fixture.bucket.removePrefix([])
        #expect(status == .ok && removed == 300)
        #expect(fixture.bucket.statistics().entries == 0 && fixture.bucket.statistics().bytes == 0)
        fixture.store.expectSound()
    }

    /// Two keys with one digest.
    ///
    /// XXH3 multiplies the halves of each lane, mixed with its secret: where one half becomes 0,
    /// the other counts only in a sum, which two lanes can keep.
    private static func colliding() -> (one: [UInt8], other: [UInt8]) {
        var one = sample(1_100, seed: 5)
        // The secret's bytes 64 to 67 and 72 to 75 meet those at 512 and 576.
        one.replaceSubrange(512..<516, with: [0x3C, 0x28, 0x52, 0xBB])
        one.replaceSubrange(576..<580, with: [0x88, 0xD0, 0x65, 0x8B])
        one.set(UInt32(100), at: 516)
        one.set(UInt32(200), at: 580)
        var other = one
        other.set(UInt32(101), at: 516)
        other.set(UInt32(199), at: 580)
        return (one, other)
    }

    @Test("a digest collision is a miss, never the other key's value, and a set of one replaces the other")
    func collision() throws {
        let (one, other) = Self.colliding()
        #expect(one != other && xxh3Canonical128(one) == xxh3Canonical128(other))
        let fixture = try Fixture()
        #expect(fixture.bucket.set(one, "one") == .ok)
        #expect(fixture.bucket.get(one) == .text("one") && fixture.bucket.get(other) == .status(.notFound))
        #expect(fixture.bucket.peek(other).status == .notFound && fixture.bucket.touch(other) == .notFound)
        #expect(fixture.bucket.set(other, "other") == .ok)
        #expect(fixture.bucket.get(other) == .text("other") && fixture.bucket.get(one) == .status(.notFound))
        #expect(fixture.bucket.keys() == [other])
        fixture.store.expectSound()
    }

    @Test("a record under the key of another is damage, though all its digests hold: no list gives it, verify finds it")
    func misplaced() throws {
        let (key, other) = (sample(600, seed: 5), sample(600, seed: 6))
        let directory = try Fixture.closed { bucket in
            #expect(bucket.set(key, "five") == .ok)
        }
        try RawState.silently(directory.path) {
            try RawRows.change(directory.path, table: 4) { name, row in
                var record = RawRecord(name: name, row: row)
                record.key = other
                record.seal()
                row = record.row
            }
        }
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        #expect(bucket.keys().isEmpty && store.verify().found.damaged_records == 1)
        #expect(bucket.get(key) == .status(.damaged) && bucket.get(other) == .status(.notFound))
        #expect(bucket.set(key, "again") == .ok && bucket.get(key) == .text("again"))
        #expect(bucket.keys() == [key])
        store.expectSound()
    }
}
