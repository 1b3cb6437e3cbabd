import CHaneke
import TestSupport
import Testing

@Suite struct BucketTests {
    @Test("names are any bytes up to 255, the empty one too; a longer one is refused")
    func names() throws {
        let fixture = try Fixture()
        let names = ["", "a", "a/b", "🪣", String(repeating: "n", count: 255), "a\0b"]
        for name in names { #expect(try fixture.store.bucket(name).set("key", name) == .ok) }
        for name in names { #expect(try fixture.store.bucket(name).get("key") == .text(name)) }
        #expect(fixture.store.bucketNames() == (names + ["test"]).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(fixture.store.statistics().buckets == 7)
        let error = #expect(throws: Failure.self) { try fixture.store.bucket(String(repeating: "n", count: 256)) }
        #expect(error?.status == .nameSize)
        fixture.store.expectSound()
    }

    @Test("opening a name again gives the same bucket, also between its close and the store's")
    func again() throws {
        let fixture = try Fixture()
        let second = try fixture.store.bucket()
        #expect(fixture.bucket.raw == second.raw)
        #expect(second.set("a", "1") == .ok && fixture.bucket.get("a") == .text("1"))
        #expect(try fixture.store.bucket("other").set("x", "y") == .ok)
        #expect(try fixture.store.bucket("other").get("x") == .text("y"))
    }

    @Test("a bucket that must exist is not made")
    func mustExist() throws {
        let fixture = try Fixture()
        let error = #expect(throws: Failure.self) {
            try fixture.store.bucket("none") { $0.fields = HNK_FIELD_MUST_EXIST }
        }
        #expect(error?.status == .notFound)
        #expect(fixture.store.bucketNames() == ["test"])
        #expect(try fixture.store.bucket("test") { $0.fields = HNK_FIELD_MUST_EXIST }.set("a", "1") == .ok)
    }

    @Test("settings are kept; what is not named stays")
    func settings() throws {
        let directory = try TemporaryDirectory()
        do {
            let store = try Store(directory.path)
            let fresh = try store.bucket("defaults").settings()
            #expect(fresh.capacity_bytes == UInt64.max && fresh.entries_max == 0 && fresh.lifetime_ms == .max)
            #expect(fresh.check_mode == 0 && fresh.fields == 47)
            _ = try store.bucket("set") {
                $0.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES | HNK_FIELD_LIFETIME | HNK_FIELD_CHECK
                $0.capacity_bytes = 1_000_000
                $0.entries_max = 77
                $0.lifetime_ms = 5_000
                $0.check_mode = 1
            }
        }
        let store = try Store(directory.path)
        let bucket = try store.bucket("set") {
            $0.fields = HNK_FIELD_ENTRIES
            $0.entries_max = 78
            $0.capacity_bytes = 5
        }
        let kept = bucket.settings()
        #expect(kept.capacity_bytes == 1_000_000 && kept.entries_max == 78 && kept.lifetime_ms == 5_000)
        #expect(kept.check_mode == 1)
        #expect(
            bucket.configure {
                $0.fields = HNK_FIELD_LIFETIME
                $0.lifetime_ms = .max
            } == .ok)
        #expect(bucket.settings().lifetime_ms == .max)
    }

    @Test("dropping takes all of a bucket; its open handles find nothing and refuse writes")
    func drop() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set("a", "1") == .ok && fixture.bucket.set("b", sample(5_000)) == .ok)
        let other = try fixture.store.bucket("other")
        #expect(other.set("a", "2") == .ok)
        #expect(fixture.store.drop("test") == .ok)
        #expect(fixture.bucket.get("a") == .status(.notFound) && fixture.bucket.set("a", "1") == .notFound)
        #expect(fixture.bucket.remove("a") == .notFound && fixture.bucket.removeAll() == .notFound)
        #expect(fixture.bucket.removePrefix([]).status == .notFound)
        #expect(fixture.bucket.configure { $0.fields = HNK_FIELD_ENTRIES } == .notFound)
        var statistics = hnk_statistics()
        statistics.struct_size = UInt32(MemoryLayout<hnk_statistics>.size)
        #expect(hnk_bucket_statistics(fixture.bucket.raw, &statistics) == .notFound)
        var list: OpaquePointer?
        #expect(hnk_list_open(fixture.bucket.raw, nil, &list) == .notFound)
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        #expect(!Files.exists(fixture.directory.path("slots-000001")))
        #expect(fixture.store.drop("test") == .notFound)

        let anew = try fixture.store.bucket()
        #expect(anew.get("a") == .status(.notFound) && anew.set("a", "3") == .ok)
        #expect(fixture.bucket.get("a") == .status(.notFound))
        #expect(other.get("a") == .text("2") && anew.statistics().entries == 1)
        fixture.store.expectSound()
    }

    @Test("buckets have nothing to do with each other")
    func apart() throws {
        let fixture = try Fixture(entriesMax: 3)
        let other = try fixture.store.bucket("other")
        for number in 0..<100 {
            #expect(fixture.bucket.set("k\(number)", "test") == .ok && other.set("k\(number)", "other") == .ok)
        }
        #expect(fixture.bucket.texts() == ["k97", "k98", "k99"] && other.statistics().entries == 100)
        #expect(fixture.bucket.removeAll() == .ok && other.statistics().entries == 100)
        #expect(fixture.bucket.get("k99") == .status(.notFound) && other.get("k99") == .text("other"))
        fixture.store.expectSound()
    }

    @Test("removing all keeps settings and counts of events, and slots begin anew")
    func removeAll() throws {
        let fixture = try Fixture(entriesMax: 50) { $0.blob_threshold_bytes = 500 }
        for number in 0..<60 { #expect(fixture.bucket.set("k\(number)", sample(number * 20)) == .ok) }
        #expect(fixture.bucket.removeAll() == .ok)
        let counted = fixture.bucket.statistics()
        #expect(counted.entries == 0 && counted.bytes == 0 && counted.payload_bytes == 0)
        #expect(counted.writes == 60 && counted.evictions == 10)
        #expect(fixture.bucket.settings().entries_max == 50)
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        fixture.store.expectSound()
        for number in 0..<60 { #expect(fixture.bucket.set("k\(number)", "v") == .ok) }
        #expect(fixture.bucket.texts(.byAccess) == (10..<60).map { "k\($0)" })
        fixture.store.expectSound()
    }

    @Test("other processes see what was counted after a write, or when a handle is closed, and see it once")
    func sharedCounts() throws {
        let fixture = try Fixture()
        func shared() throws -> [UInt64] {
            let file = try Files.read(fixture.directory.path("slots-000001"))
            return [32, 40, 48].map { offset in (0..<8).reduce(0) { $0 | UInt64(file[offset + $1]) << (8 * $1) } }
        }
        for _ in 0..<3 { _ = fixture.bucket.get("a") }
        #expect(try shared() == [0, 0, 0])
        #expect(fixture.bucket.set("a", "1") == .ok && fixture.bucket.get("a") == .text("1"))
        #expect(try shared() == [0, 3, 0])
        _ = try fixture.store.bucket()
        #expect(try shared() == [1, 3, 0])
        #expect(fixture.bucket.get("a") == .text("1"))
        let counted = fixture.bucket.statistics()
        #expect((counted.hits, counted.misses, counted.expirations) == (2, 3, 0))
        #expect(fixture.store.statistics().hits == 2)
        #expect(try shared() == [2, 3, 0])
    }

    @Test("counts of a store are the sums of its buckets'")
    func sums() throws {
        let fixture = try Fixture(capacity: 100_000)
        let other = try fixture.store.bucket("other") {
            $0.fields = HNK_FIELD_CAPACITY
            $0.capacity_bytes = 50_000
        }
        #expect(fixture.bucket.set("a", sample(1_000)) == .ok && other.set("b", sample(300)) == .ok)
        _ = (fixture.bucket.get("a"), other.get("none"))
        let all = fixture.store.statistics()
        #expect(all.buckets == 2 && all.entries == 2 && all.payload_bytes == 1_300 && all.writes == 2)
        #expect(all.hits == 1 && all.misses == 1 && all.capacity_bytes == 150_000)
        #expect(all.bytes == fixture.bucket.statistics().bytes + other.statistics().bytes)
        #expect(all.disk_bytes > 0 && fixture.bucket.statistics().disk_bytes == 0)
        _ = try fixture.store.bucket("unlimited")
        #expect(fixture.store.statistics().capacity_bytes == UInt64.max)
    }
}
