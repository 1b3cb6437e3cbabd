import CHaneke
import TestSupport
import Testing

@Suite struct LifetimeTests {
    private static let hour: Int64 = 3_600_000

    @Test("a negative lifetime is over from the start: expired to reads, there for those who ask")
    func negative() throws {
        let bucket = try Fixture().bucket
        #expect(bucket.set("key", Array("old".utf8), lifetime: -1) == .ok)
        #expect(bucket.get("key") == .status(.expired))
        #expect(bucket.touch("key") == .expired)
        #expect(bucket.get("key", HNK_GET_EXPIRED) == .text("old"))
        #expect(try bucket.lease("key", HNK_GET_EXPIRED).entry.flags & HNK_ENTRY_EXPIRED != 0)
        let peeked = bucket.peek("key")
        #expect(peeked.status == .expired && peeked.entry.value_bytes == 3)
        #expect(peeked.entry.flags & HNK_ENTRY_EXPIRED != 0)
        #expect(bucket.list().first?.entry.flags == HNK_ENTRY_EXPIRED)
        #expect(bucket.statistics().entries == 1)
    }

    @Test("an expired entry counts as a miss and an expiration, unless the read is quiet")
    func counts() throws {
        let bucket = try Fixture().bucket
        #expect(bucket.set("old", [1], lifetime: -1) == .ok)
        #expect(bucket.set("new", [1]) == .ok)
        _ = bucket.get("old", HNK_GET_QUIET)
        _ = bucket.get("new", HNK_GET_QUIET)
        _ = bucket.get("none", HNK_GET_QUIET)
        _ = bucket.peek("old")
        var counted = bucket.statistics()
        #expect((counted.hits, counted.misses, counted.expirations) == (0, 0, 0))
        _ = bucket.get("old")
        _ = bucket.get("new")
        _ = bucket.get("none")
        _ = bucket.get("old", HNK_GET_EXPIRED)
        counted = bucket.statistics()
        #expect((counted.hits, counted.misses, counted.expirations) == (2, 2, 1))
    }

    @Test("a lifetime ends that many milliseconds after the write")
    func absolute() throws {
        let bucket = try Fixture().bucket
        #expect(bucket.set("key", [1], lifetime: Self.hour) == .ok)
        let entry = bucket.peek("key").entry
        #expect(entry.expires_at_ms == entry.written_at_ms + UInt64(Self.hour))
        #expect(bucket.set("key", [1], lifetime: .max) == .ok)
        #expect(bucket.peek("key").entry.expires_at_ms == 0)
        #expect(bucket.set("key", [1], lifetime: .max - 1) == .ok)
        #expect(bucket.get("key") == .value([1]))
    }

    @Test("an entry expires when its time comes")
    func comes() throws {
        let bucket = try Fixture().bucket
        #expect(bucket.set("key", [1], lifetime: 2) == .ok)
        var tries = 0
        while bucket.get("key", HNK_GET_QUIET) != .status(.expired), tries < 10_000_000 { tries += 1 }
        #expect(bucket.get("key") == .status(.expired))
    }

    @Test("the bucket's lifetime is that of entries set without one, and stays")
    func bucketDefault() throws {
        let fixture = try Fixture()
        let changed = fixture.bucket.configure {
            $0.fields = HNK_FIELD_LIFETIME
            $0.lifetime_ms = Self.hour
        }
        #expect(changed == .ok)
        #expect(fixture.bucket.set("default", [1]) == .ok)
        #expect(fixture.bucket.set("own", [1], lifetime: 2 * Self.hour) == .ok)
        #expect(fixture.bucket.set("forever", [1], lifetime: .max) == .ok)
        func lifetime(_ key: String) -> Int64 {
            let entry = fixture.bucket.peek(key).entry
            return entry.expires_at_ms == 0 ? 0 : Int64(entry.expires_at_ms - entry.written_at_ms)
        }
        #expect(lifetime("default") == Self.hour && lifetime("own") == 2 * Self.hour && lifetime("forever") == 0)
        #expect(fixture.bucket.settings().lifetime_ms == Self.hour)
    }

    @Test("a sliding lifetime starts anew at each access, and only at those that count")
    func sliding() throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.set("key", [1], lifetime: Self.hour, flags: HNK_SET_SLIDING) == .ok)
        let entry = fixture.bucket.peek("key").entry
        #expect(entry.flags & HNK_ENTRY_SLIDING != 0)
        // The access time is put half an hour on, as a touch then would.
        let later = (entry.written_at_ms + UInt64(Self.hour) / 2) * 1_000_000
        try Files.patch(fixture.directory.path("slots-000001"), at: 4_096) { $0.set(later, at: 0) }
        let slid = fixture.bucket.peek("key").entry
        #expect(slid.accessed_at_ms == entry.written_at_ms + UInt64(Self.hour) / 2)
        #expect(slid.expires_at_ms == entry.written_at_ms + UInt64(Self.hour) / 2 * 3)
        _ = fixture.bucket.get("key", HNK_GET_QUIET)
        #expect(fixture.bucket.peek("key").entry.accessed_at_ms == slid.accessed_at_ms)
        #expect(fixture.bucket.touch("key") == .ok)
        #expect(fixture.bucket.peek("key").entry.accessed_at_ms < slid.accessed_at_ms)
    }

    @Test("a sliding lifetime whose last access is unknown ends as it was set")
    func slidingUnknown() throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.set("key", [1], lifetime: Self.hour, flags: HNK_SET_SLIDING) == .ok)
        try Files.patch(fixture.directory.path("slots-000001"), at: 4_096) { $0.set(UInt64(1), at: 0) }
        let entry = fixture.bucket.peek("key").entry
        #expect(entry.accessed_at_ms == 0 && entry.expires_at_ms == entry.written_at_ms + UInt64(Self.hour))
    }

    @Test("a negative sliding lifetime is over, whatever the accesses")
    func negativeSliding() throws {
        let bucket = try Fixture().bucket
        #expect(bucket.set("key", [1], lifetime: -5, flags: HNK_SET_SLIDING) == .ok)
        #expect(bucket.get("key") == .status(.expired))
        #expect(bucket.get("key", HNK_GET_EXPIRED) == .value([1]))
        #expect(bucket.get("key") == .status(.expired))
    }

    @Test("what has expired can be removed at once, and nothing else goes")
    func removeExpired() throws {
        let fixture = try Fixture()
        for number in 0..<200 {
            #expect(fixture.bucket.set("k\(number)", [1], lifetime: number.isMultiple(of: 2) ? -1 : 0) == .ok)
        }
        let (status, removed) = fixture.bucket.removeExpired()
        #expect(status == .ok && removed == 100)
        #expect(fixture.bucket.statistics().entries == 100)
        #expect(fixture.bucket.get("k2") == .status(.notFound) && fixture.bucket.get("k3") == .value([1]))
        #expect(fixture.bucket.removeExpired().removed == 0)
        fixture.store.expectSound()
    }
}
