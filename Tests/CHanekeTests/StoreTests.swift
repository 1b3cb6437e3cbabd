import CHaneke
import Foundation
import TestSupport
import Testing

@Suite struct StoreTests {
    @Test("missing parents are made; a store that must exist is not")
    func parents() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a/b/c")
        #expect(Store.statusOfOpening(path) { $0.flags = HNK_STORE_MUST_EXIST } == .notFound)
        #expect(!Files.exists(directory.path("a")))
        #expect(try Store(path + "/").bucket().set("a", "1") == .ok)
        #expect(Files.names(in: path) == ["data.mdb", "lock.mdb", "slots-000001", "state", "turn"])
        let empty = directory.path("empty")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        #expect(Store.statusOfOpening(empty) { $0.flags = HNK_STORE_MUST_EXIST } == .notFound)
        #expect(Files.names(in: empty).isEmpty)
        #expect(Store.statusOfOpening(path) { $0.flags = HNK_STORE_MUST_EXIST } == .ok)
    }

    @Test("a file where the directory, or a parent of it, should be is told")
    func file() throws {
        let directory = try TemporaryDirectory()
        try Files.write([1], to: directory.path("file"))
        #expect(Store.statusOfOpening(directory.path("file")) == .notADirectory)
        #expect(Store.statusOfOpening(directory.path("file/below")) == .notADirectory)
        #expect(try Files.read(directory.path("file")) == [1])
    }

    @Test("a directory in which nothing may be made is told")
    func readOnly() {
        // /proc takes no directories, whoever asks.
        let status = Store.statusOfOpening("/proc/haneke-test")
        #expect(status == .access || status == .io || status == .notFound)
        #expect(status.rawValue < 0)
    }

    @Test("the directory is told as an absolute path, and opening it twice, by whatever spelling, shares")
    func spellings() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path("store"))
        #expect(String(cString: hnk_store_directory(store.raw)) == directory.path("store"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("link"), withDestinationPath: directory.path("store"))
        for spelling in ["store", "store/", "./store/../store", "link", "link/"] {
            #expect(try Store(directory.path(spelling)).raw == store.raw, "\(spelling)")
        }
        let bucket = try store.bucket()
        #expect(try Store(directory.path("link")).bucket().set("a", "1") == .ok)
        #expect(bucket.get("a") == .text("1"))
    }

    @Test("a directory that is deleted while open: writes say so, reads go on, and it can be opened anew")
    func deleted() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("store")
        let store = try Store(path) { $0.blob_threshold_bytes = 5_000 }
        let bucket = try store.bucket()
        #expect(bucket.set("a", "1") == .ok && bucket.set("blob", sample(6_000)) == .ok)
        let lease = try bucket.lease("blob")
        try Files.remove(path)
        #expect(bucket.get("a") == .text("1"))
        #expect(bucket.get("blob") == .status(.damaged))
        #expect(lease.value == sample(6_000))
        // Looked at now and then: some writes may still go into the files that are gone.
        let statuses = (0..<16).map { _ in bucket.set("b", "2") }
        #expect(statuses.allSatisfy { $0 == .ok || $0 == .directoryGone } && statuses.last == .directoryGone)
        #expect(bucket.set("b", "2") == .directoryGone && bucket.set("c", sample(9_000)) == .directoryGone)
        #expect(bucket.remove("a") == .directoryGone && bucket.removeAll() == .directoryGone)
        #expect(bucket.configure { $0.fields = 0 } == .directoryGone)
        var writer: OpaquePointer?
        #expect(lend([1]) { hnk_writer_begin(bucket.raw, $0, nil, &writer) } == .directoryGone)
        #expect(hnk_store_compact(store.raw, nil, nil) == .directoryGone)
        let error = #expect(throws: Failure.self) { try store.bucket("new") }
        #expect(error?.status == .directoryGone)
        _ = (store.verify(), store.statistics(), bucket.touch("a"), bucket.list())

        let anew = try Store(path)
        #expect(anew.raw != store.raw)
        #expect(try anew.bucket().get("a") == .status(.notFound) && anew.bucket().set("a", "2") == .ok)
        #expect(bucket.get("a") == .text("1"))
        anew.expectSound()
    }

    @Test("another program's database is refused, and nothing of it or beside it is touched")
    func foreign() throws {
        let directory = try TemporaryDirectory()
        try RawRows.edit(directory.path) { $0.put(Array("theirs".utf8), [1, 2, 3]) }
        let before = try Files.read(directory.path("data.mdb"))
        for policy in [hnk_damage_policy.salvage, .discard, .refuse] {
            #expect(Store.statusOfOpening(directory.path) { $0.damage_policy = policy.rawValue } == .notAStore)
            #expect(try Files.read(directory.path("data.mdb")) == before)
            #expect(!Files.exists(directory.path("data.mdb.damaged")) && !Files.exists(directory.path("state")))
        }
        #expect(try RawRows.all(directory.path).map(\.row) == [[1, 2, 3]])
    }

    @Test("a file that is no database at all is refused and left alone", arguments: [1, 100, 4_096, 100_000])
    func garbage(size: Int) throws {
        let directory = try TemporaryDirectory()
        try Files.write(sample(size), to: directory.path("data.mdb"))
        #expect(Store.statusOfOpening(directory.path) == .notAStore)
        #expect(try Files.read(directory.path("data.mdb")) == sample(size))
        #expect(!Files.exists(directory.path("data.mdb.damaged")) && !Files.exists(directory.path("state")))
    }

    @Test("a store of a newer format is refused untouched", arguments: [true, false])
    func newer(isMarked: Bool) throws {
        let directory = try Fixture.closed { #expect($0.set("a", "1") == .ok) }
        let damage = { try RawRows.change(directory.path, table: 0) { $1.set(UInt32(2), at: 8) } }
        if isMarked { try RawState.silently(directory.path, damage) } else { try damage() }
        let names = ["data.mdb", "state", "slots-000001"]
        let before = try names.map { try Files.read(directory.path($0)) }
        for policy in [hnk_damage_policy.salvage, .discard, .refuse] {
            #expect(Store.statusOfOpening(directory.path) { $0.damage_policy = policy.rawValue } == .newerFormat)
            #expect(try names.map { try Files.read(directory.path($0)) } == before)
        }
        #expect(Files.names(in: directory.path) == ["data.mdb", "lock.mdb", "slots-000001", "state", "turn"])
    }

    @Test("syncing, compacting and the statistics of an empty store are fine")
    func empty() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        var freed: UInt64 = 99
        #expect(hnk_store_sync(store.raw, nil) == .ok && hnk_store_compact(store.raw, &freed, nil) == .ok)
        #expect(store.statistics().buckets == 0 && store.bucketNames().isEmpty)
        store.expectSound()
        hnk_store_close(nil)
    }

    @Test("compacting gives the room of removed entries back, and everything else stays")
    func compact() throws {
        let fixture = try Fixture()
        for number in 0..<200 { #expect(fixture.bucket.set("k\(number)", sample(30_000, seed: UInt64(number))) == .ok) }
        for number in 0..<200 where number % 10 != 0 { #expect(fixture.bucket.remove("k\(number)") == .ok) }
        #expect(fixture.bucket.set("x", "y") == .ok)
        let before = fixture.store.statistics().disk_bytes
        var freed: UInt64 = 0
        #expect(hnk_store_compact(fixture.store.raw, &freed, nil) == .ok)
        let after = fixture.store.statistics().disk_bytes
        #expect(freed > 4_000_000 && before - after == freed, "\(before) -> \(after)")
        for number in stride(from: 0, to: 200, by: 10) {
            #expect(fixture.bucket.get("k\(number)") == .value(sample(30_000, seed: UInt64(number))))
        }
        for number in 0..<200 { #expect(fixture.bucket.set("n\(number)", sample(30_000)) == .ok) }
        fixture.store.expectSound()
    }

    @Test("each sync mode opens, writes and closes", arguments: [0, 1, 2] as [UInt32])
    func syncModes(mode: UInt32) throws {
        let directory = try TemporaryDirectory()
        for round in 0..<3 {
            let store = try Store(directory.path) {
                $0.sync_mode = mode
                $0.sync_interval_ms = 1
                $0.blob_threshold_bytes = 1_000
            }
            let bucket = try store.bucket()
            #expect(bucket.set("k\(round)", sample(500)) == .ok && bucket.set("b\(round)", sample(1_500)) == .ok)
            #expect(bucket.statistics().entries == UInt64(round + 1) * 2)
            store.expectSound()
        }
    }

    @Test("the marker tells a clean close, and whether all was synced: also what earlier closes left unsynced")
    func marker() throws {
        let directory = try TemporaryDirectory()
        func session(_ body: (Store) throws -> Void) throws -> RawState {
            let store = try Store(directory.path)
            try body(store)
            #expect(try RawState(directory.path).state == RawState.open)
            return try closing(consume store, directory)
        }
        var state = try session { store in
            let bucket = try store.bucket()
            #expect(bucket.set("a", "1") == .ok)
        }
        #expect(state.magic == "HNKSTATE" && state.version == 1 && state.digest == state.computedDigest)
        #expect(state.state == RawState.closed && !state.isSynced)
        #expect(state.dataBytes == UInt64(Files.size(directory.path("data.mdb"))))
        #expect(state.dataChangedAt == Files.changedAt(directory.path("data.mdb")))
        state = try session { store in
            let bucket = try store.bucket()
            #expect(bucket.get("a") == .text("1"))
        }
        #expect(!state.isSynced, "nothing was written, but what the session before wrote is not synced either")
        state = try session { #expect(hnk_store_sync($0.raw, nil) == .ok) }
        #expect(state.isSynced)
        state = try session { store in
            let bucket = try store.bucket()
            #expect(bucket.get("a") == .text("1"))
        }
        #expect(state.isSynced)
        state = try session { store in
            let bucket = try store.bucket()
            #expect(hnk_store_sync(store.raw, nil) == .ok)
            #expect(bucket.set("b", "1") == .ok)
        }
        #expect(!state.isSynced)
    }

    private func closing(_ store: consuming Store, _ directory: TemporaryDirectory) throws -> RawState {
        _ = consume store
        return try RawState(directory.path)
    }

    @Test("with a small map the oldest go before the file outgrows it, and reads, writes and removals go on")
    func smallMap() throws {
        let fixture = try Fixture { $0.map_bytes = 1 << 20 }
        var refused = 0
        for number in 0..<2_000 {
            let status = fixture.bucket.set("k\(number)", sample(3_000, seed: UInt64(number)))
            if status != .ok { refused += 1 }
            #expect(status == .ok || status == .diskFull)
        }
        #expect(refused < 20, "\(refused) of 2,000 were refused")
        #expect(fixture.bucket.get("k1999") == .value(sample(3_000, seed: 1_999)))
        #expect(fixture.bucket.statistics().entries > 100 && Files.size(fixture.directory.path("data.mdb")) <= 1 << 20)
        fixture.store.expectSound()
        #expect(fixture.bucket.set("huge", sample(2_000_000)) == .ok)
        // So many pages in one piece may not be found in a map this small.
        let large = fixture.bucket.set("large", sample(250_000))
        #expect(large == .ok || large == .diskFull)
        #expect(fixture.bucket.removePrefix(Array("k".utf8)).status == .ok)
        #expect(fixture.bucket.removeAll() == .ok)
        #expect(fixture.bucket.set("after", sample(3_000)) == .ok)
        fixture.store.expectSound()
    }
}
