import CHaneke
import TestSupport
import Testing

@Suite struct LeaseTests {
    @Test(
        "a leased value stays as it was while its key is overwritten, evicted, removed, and the store churns",
        arguments: [10, 3_000, 50_000])
    func unchanged(size: Int) throws {
        let fixture = try Fixture(entriesMax: 20) { $0.blob_threshold_bytes = 20_000 }
        let value = sample(size)
        #expect(fixture.bucket.set([1], value, metadata: [5, 6]) == .ok)
        let lease = try #require(fixture.bucket.lease([1]).1)
        func expectUnchanged(_ comment: Comment) {
            #expect(lease.value == value && lease.metadata == [5, 6] && lease.key == [1], comment)
        }
        #expect(fixture.bucket.set([1], sample(size, seed: 2)) == .ok)
        expectUnchanged("overwritten")
        for number in 0..<100 {
            #expect(fixture.bucket.set([2, UInt8(number)], sample(size, seed: UInt64(number))) == .ok)
        }
        #expect(fixture.bucket.get([1]) == .status(.notFound))
        expectUnchanged("evicted")
        #expect(fixture.bucket.removeAll() == .ok)
        for number in 0..<20 {
            #expect(fixture.bucket.set([3, UInt8(number)], sample(size, seed: UInt64(number))) == .ok)
        }
        expectUnchanged("removed")
        #expect(fixture.store.drop("test") == .ok)
        var freed: UInt64 = 0
        #expect(hnk_store_compact(fixture.store.raw, &freed, nil) == .ok)
        expectUnchanged("dropped and compacted")
        fixture.store.expectSound()
    }

    @Test("a lease outlives its bucket's and its store's handles", arguments: [10, 50_000])
    func outlives(size: Int) throws {
        let directory = try TemporaryDirectory()
        var lease: Lease?
        do {
            let store = try Store(directory.path) { $0.blob_threshold_bytes = 20_000 }
            let bucket = try store.bucket()
            #expect(bucket.set("key", sample(size)) == .ok)
            lease = try bucket.lease("key")
        }
        #expect(lease?.value == sample(size))
        // Opened again while the lease holds the old: the same store.
        let again = try Store(directory.path)
        #expect(again.statistics().leases == 1)
        #expect(try again.bucket().set("key", "new") == .ok)
        #expect(lease?.value == sample(size))
        lease = nil
        #expect(again.statistics().leases == 0)
        #expect(try again.bucket().get("key") == .text("new"))
        again.expectSound()
    }

    @Test("a list and a writer keep their store open too")
    func othersOutlive() throws {
        let directory = try TemporaryDirectory()
        var list: OpaquePointer?
        var writer: OpaquePointer?
        do {
            let store = try Store(directory.path)
            let bucket = try store.bucket()
            #expect(bucket.set("a", "1") == .ok)
            #expect(hnk_list_open(bucket.raw, nil, &list) == .ok)
            #expect(lend([7]) { hnk_writer_begin(bucket.raw, $0, nil, &writer) } == .ok)
        }
        let listing = try #require(list)
        let writing = try #require(writer)
        #expect(Bucket.next(of: listing)?.key == Array("a".utf8))
        hnk_list_close(listing)
        #expect(lend([8]) { hnk_writer_append(writing, $0) } == .ok)
        #expect(hnk_writer_commit(writing) == .ok)
        let store = try Store(directory.path)
        #expect(try store.bucket().get([7]) == .value([8]))
        store.expectSound()
    }

    @Test("two hundred leases at once, over the pool's 64, of rows and blobs")
    func many() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        for number in 0..<200 {
            #expect(
                fixture.bucket.set([UInt8(number)], sample(number % 4 == 0 ? 2_000 : 200, seed: UInt64(number))) == .ok)
        }
        var leases = try (0..<200).map { number in try #require(fixture.bucket.lease([UInt8(number)]).1) }
        #expect(fixture.store.statistics().leases == 200)
        #expect(fixture.bucket.removeAll() == .ok)
        for number in 0..<200 { #expect(fixture.bucket.set([UInt8(number)], [0]) == .ok) }
        for (number, lease) in leases.enumerated() {
            #expect(lease.value == sample(number % 4 == 0 ? 2_000 : 200, seed: UInt64(number)))
        }
        leases.removeLast(150)
        #expect(fixture.store.statistics().leases == 50)
        leases = []
        #expect(fixture.store.statistics().leases == 0 && fixture.store.statistics().oldest_lease_ms == 0)
        fixture.store.expectSound()
    }

    @Test("the age of the oldest lease is told")
    func age() throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.set("a", "1") == .ok)
        let lease = try fixture.bucket.lease("a")
        var tries = 0
        while fixture.store.statistics().oldest_lease_ms < 3, tries < 10_000_000 { tries += 1 }
        #expect(fixture.store.statistics().oldest_lease_ms >= 3)
        #expect(lease.value == Array("1".utf8))
    }

    @Test("a lease may be released on another thread, and readers begin on one and end on others")
    func otherThreads() async throws {
        let fixture = try Fixture()
        for number in 0..<50 { #expect(fixture.bucket.set([UInt8(number)], sample(500, seed: UInt64(number))) == .ok) }
        let leases = try (0..<50).map { number in try #require(fixture.bucket.lease([UInt8(number)]).1) }
        await withTaskGroup(of: Void.self) { group in
            for (number, lease) in leases.enumerated() {
                group.addTask { #expect(lease.value == sample(500, seed: UInt64(number))) }
            }
        }
        withExtendedLifetime(leases) {}
    }

    @Test("when the table of readers is full it says so, and goes on once leases are released")
    func readersFull() throws {
        let fixture = try Fixture { $0.readers_max = 8 }
        #expect(fixture.bucket.set("a", "1") == .ok)
        var leases: [Lease] = []
        var last = hnk_status.ok
        for _ in 0..<9 {
            let (status, lease) = fixture.bucket.lease(Array("a".utf8))
            last = status
            if let lease { leases.append(lease) }
        }
        #expect(last == .readersFull && leases.count == 8)
        #expect(fixture.bucket.set("b", "2") == .ok)
        leases.removeLast()
        #expect(fixture.bucket.get("b") == .text("2"))
        leases = []
        fixture.store.expectSound()
    }

    @Test("reading threads that come one after the other need no reader each")
    func readersReused() async throws {
        let fixture = try Fixture { $0.readers_max = 4 }
        #expect(fixture.bucket.set("a", "1") == .ok)
        for _ in 0..<20 {
            let answer = await onThread { fixture.bucket.get("a") }
            #expect(answer == .text("1"))
        }
    }

    @Test("releasing the last lease while the store's last handle is closed is no race")
    func releaseAtClose() async throws {
        let directory = try TemporaryDirectory()
        for _ in 0..<100 {
            var store: OpaquePointer?
            var bucket: OpaquePointer?
            var lease: OpaquePointer?
            #expect(hnk_store_open(directory.path, nil, &store, nil) == .ok)
            let open = try #require(store)
            #expect(lend([1]) { hnk_bucket_open(open, $0, nil, &bucket, nil) } == .ok)
            let opened = try #require(bucket)
            #expect(lend([1]) { key in hnk_bucket_set(opened, key, key, nil) } == .ok)
            #expect(lend([1]) { hnk_bucket_get(opened, $0, 0, &lease) } == .ok)
            hnk_bucket_close(opened)
            let handles = (store: UInt(bitPattern: open), lease: UInt(bitPattern: lease))
            let arrived = Barrier(2)
            await onThreads([
                {
                    arrived.wait()
                    hnk_store_close(OpaquePointer(bitPattern: handles.store))
                },
                {
                    arrived.wait()
                    hnk_lease_release(OpaquePointer(bitPattern: handles.lease))
                },
            ])
        }
        #expect(Store.statusOfOpening(directory.path) == .ok)
    }
}
