import CHaneke
import TestSupport
import Testing

/// Statistics add up: with what was done, with what a list shows, and over the buckets of a store.
@Suite struct StatisticsTests {
    /// What a test did to one bucket, counted by hand.
    private struct Deeds: Equatable {
        var reads: UInt64 = 0
        var found: UInt64 = 0
        var expired: UInt64 = 0
        var writes: UInt64 = 0
        var refused: UInt64 = 0
        /// Entries that went because of a call that names them, or of another value under their key.
        var gone: UInt64 = 0
    }

    /// Four buckets in which everything happens: room that ends, a limit of entries, lifetimes that are over, large values.
    private static func buckets(of store: Store) throws -> [Bucket] {
        try [(UInt64(60_000), UInt64(0)), (.max, 40), (2_000_000, 0), (200_000, 100)].enumerated().map {
            index, limits in
            try store.bucket("bucket \(index)") {
                $0.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES | HNK_FIELD_EVICTION
                $0.capacity_bytes = limits.0
                $0.entries_max = limits.1
                $0.eviction = (index == 2 ? hnk_eviction.sieve : .leastRecentlyUsed).rawValue
            }
        }
    }

    private static func step(_ bucket: Bucket, _ deeds: inout Deeds, _ generator: inout SeededGenerator) {
        let key: [UInt8] = [UInt8.random(in: 0..<120, using: &generator)]
        let isThere = bucket.peek(key).status != .notFound
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<9:
            let size = Int.random(in: 0...6_000, using: &generator) * (key[0] % 24 == 0 ? 20 : 1)
            let lifetime: Int64 = key[0] % 5 == 0 ? -1 : 0
            let status = bucket.set(key, sample(size, seed: UInt64(size)), lifetime: lifetime)
            #expect(status == .ok || status == .valueTooLarge)
            if isThere { deeds.gone += 1 }
            if status == .ok { deeds.writes += 1 } else { deeds.refused += 1 }
        case 9..<18:
            deeds.reads += 1
            switch bucket.get(key) {
            case .value: deeds.found += 1
            case .status(let status): if status == .expired { deeds.expired += 1 }
            }
        case 18:
            if bucket.remove(key) == .ok { deeds.gone += 1 }
        default:
            if key[0] == 0 { deeds.gone += bucket.removeExpired().removed }
            // Looking is not using.
            _ = (bucket.get(key, HNK_GET_QUIET), bucket.peek(key), bucket.list())
        }
    }

    /// A bucket's counts against what was done and what a list shows.
    private static func expect(_ bucket: Bucket, _ deeds: Deeds, seed: UInt64) {
        let counted = bucket.statistics()
        let listed = bucket.list()
        #expect(counted.entries == UInt64(listed.count), "seed \(seed)")
        #expect(counted.bytes == listed.reduce(0) { $0 + $1.entry.charged_bytes }, "seed \(seed)")
        #expect(counted.payload_bytes == listed.reduce(0) { $0 + $1.entry.value_bytes }, "seed \(seed)")
        #expect(counted.hits == deeds.found && counted.hits + counted.misses == deeds.reads, "seed \(seed)")
        #expect(counted.expirations == deeds.expired && counted.corruptions == 0, "seed \(seed)")
        #expect(counted.writes == deeds.writes && counted.refused == deeds.refused, "seed \(seed)")
        #expect(counted.writes == counted.entries + counted.evictions + deeds.gone, "seed \(seed)")
    }

    /// A store's counts against the sums of its buckets'.
    private static func expectSums(_ store: Store, _ buckets: [Bucket], seed: UInt64) {
        let all = store.statistics()
        let each = buckets.map { $0.statistics() }
        func sum(_ member: KeyPath<hnk_statistics, UInt64>) -> UInt64 { each.reduce(0) { $0 + $1[keyPath: member] } }
        #expect(all.buckets == UInt32(buckets.count) && each.allSatisfy { $0.buckets == 1 }, "seed \(seed)")
        let members: [KeyPath<hnk_statistics, UInt64>] = [
            \.entries, \.bytes, \.payload_bytes, \.hits, \.misses, \.writes, \.evictions, \.expirations, \.corruptions,
            \.refused,
        ]
        for member in members { #expect(all[keyPath: member] == sum(member), "\(member), seed \(seed)") }
        // One bucket without a limit is a store without one.
        #expect(all.capacity_bytes == .max, "seed \(seed)")
        #expect(each.allSatisfy { $0.disk_bytes == 0 && $0.leases == 0 } && all.disk_bytes > 0, "seed \(seed)")
    }

    @Test(
        "a bucket's counts are those of what was done, a store's the sums of its buckets'",
        arguments: 1...4 as ClosedRange<UInt64>)
    func sums(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        var generator = SeededGenerator(seed: seed)
        var deeds = [Deeds](repeating: Deeds(), count: 4)
        do {
            let store = try Store(directory.path) { $0.blob_threshold_bytes = 20_000 }
            let buckets = try Self.buckets(of: store)
            for step in 1...4_000 {
                let index = Int.random(in: 0..<4, using: &generator)
                Self.step(buckets[index], &deeds[index], &generator)
                if step % 1_000 == 0 {
                    for (bucket, deeds) in zip(buckets, deeds) { Self.expect(bucket, deeds, seed: seed) }
                    Self.expectSums(store, buckets, seed: seed)
                }
            }
            // Everything did happen.
            let all = store.statistics()
            #expect(all.evictions > 100 && all.expirations > 50 && all.refused > 0, "seed \(seed)")
            store.expectSound("seed \(seed)")
        }
        // And it lasts.
        let store = try Store(directory.path)
        let buckets = try Self.buckets(of: store)
        for (bucket, deeds) in zip(buckets, deeds) { Self.expect(bucket, deeds, seed: seed) }
        Self.expectSums(store, buckets, seed: seed)
    }

    @Test("a bucket that is dropped takes its counts out of the store's; the capacities left are summed")
    func dropped() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let buckets = try Self.buckets(of: store)
        for bucket in buckets {
            #expect(bucket.set("key", sample(100)) == .ok)
            _ = (bucket.get("key"), bucket.get("none"))
        }
        #expect(store.drop("bucket 1") == .ok)
        let all = store.statistics()
        #expect(all.buckets == 3 && all.entries == 3 && all.payload_bytes == 300 && all.writes == 3)
        #expect(all.hits == 3 && all.misses == 3)
        #expect(all.capacity_bytes == 60_000 + 2_000_000 + 200_000)
    }

    @Test("leases of all buckets are counted by their store")
    func leases() throws {
        let fixture = try Fixture()
        let other = try fixture.store.bucket("other")
        #expect(fixture.bucket.set("a", "1") == .ok && other.set("a", "1") == .ok)
        #expect(fixture.store.statistics().leases == 0 && fixture.store.statistics().oldest_lease_ms == 0)
        let held = try [fixture.bucket.lease("a"), other.lease("a"), other.lease("a")]
        withExtendedLifetime(held) {
            #expect(fixture.store.statistics().leases == 3)
            #expect(fixture.bucket.statistics().leases == 0 && other.statistics().oldest_lease_ms == 0)
        }
    }
}
