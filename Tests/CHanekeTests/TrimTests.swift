import CHaneke
import TestSupport
import Testing

/// What the directory really takes on the disk.
@Suite struct TrimTests {
    private static let capacity: UInt64 = 4 << 20

    @Test(
        "after ten times the capacity the directory's blocks are at or under 1.25 × capacity + 1 MiB",
        arguments: [(10...1_900, UInt64(7)), (20_000...180_000, 8), (200...260_000, 9)])
    func bounded(sizes: ClosedRange<Int>, seed: UInt64) throws {
        let fixture = try Fixture(capacity: Self.capacity)
        let (store, bucket) = (fixture.store, fixture.bucket)
        var random = SeededGenerator(seed: seed)
        let bytes = sample(sizes.upperBound, seed: seed)
        var written: UInt64 = 0, number = 0
        while written < 10 * Self.capacity {
            let size = Int.random(in: sizes, using: &random)
            let key = "https://example.com/\(random.next())/\(number)"
            let status = bucket.set(key, Array(bytes.prefix(size)))
            try #require(status == .ok)
            written += UInt64(size)
            number += 1
            if number % 512 == 0 { #expect(bucket.statistics().bytes <= Self.capacity) }
        }
        #expect(store.statistics().disk_bytes <= Self.capacity / 4 * 5 + (1 << 20), "seed \(seed)")
        store.expectSound()
    }
}
