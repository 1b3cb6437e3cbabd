import CHaneke
import Foundation
import TestSupport
import Testing

/// A store's directory, or what stands in it, is taken away, replaced or locked by other hands.
@Suite struct DirectoryTests {
    private static func open(_ path: String) throws -> (store: Store, bucket: Bucket) {
        let store = try Store(path) { $0.blob_threshold_bytes = 5_000 }
        return (store, try store.bucket())
    }

    private static func fill(_ path: String, _ text: String) throws {
        let (_, bucket) = try open(path)
        #expect(bucket.set("row", text) == .ok && bucket.set("blob", sample(6_000, seed: UInt64(text.count))) == .ok)
    }

    private static func expect(_ bucket: Bucket, _ text: String, _ comment: Comment) {
        #expect(bucket.get("row") == .text(text), comment)
        #expect(bucket.get("blob") == .value(sample(6_000, seed: UInt64(text.count))), comment)
    }

    private static func move(_ path: String, _ other: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: other)
    }

    @Test("a directory that is moved away while open goes on where it is; what comes to its place is another store")
    func moved() throws {
        let directory = try TemporaryDirectory()
        let (path, away, other) = (directory.path("store"), directory.path("away"), directory.path("other"))
        try Self.fill(path, "one")
        try Self.fill(other, "other")
        let (store, bucket) = try Self.open(path)
        let lease = try bucket.lease("row")
        try Self.move(path, away)
        try Self.move(other, path)
        let (second, otherBucket) = try Self.open(path)
        #expect(second.raw != store.raw)
        Self.expect(otherBucket, "other", "in its place")
        Self.expect(bucket, "one", "moved away")
        for number in 0..<40 {
            #expect(bucket.set("k\(number)", sample(number * 200)) == .ok)
            #expect(otherBucket.set("o\(number)", sample(number * 200)) == .ok)
        }
        #expect(try Self.open(away).store.raw == store.raw)
        #expect(lease.value == Array("one".utf8))
        #expect(try store.bucket("new").set("a", "1") == .ok)
        for each in [store, second] {
            #expect(hnk_store_sync(each.raw, nil) == .ok && hnk_store_compact(each.raw, nil, nil) == .ok)
            each.expectSound()
        }
        #expect(bucket.get("o7") == .status(.notFound) && otherBucket.get("k7") == .status(.notFound))
        #expect(Files.exists(away + "/slots-000002") && !Files.exists(path + "/slots-000002"))
    }

    @Test("in place of a directory that is moved away while open a file, a link or nothing may stand")
    func replaced() throws {
        let directory = try TemporaryDirectory()
        let (path, away) = (directory.path("store"), directory.path("away"))
        try Self.fill(path, "one")
        let (store, bucket) = try Self.open(path)
        try Self.move(path, away)
        #expect(Store.statusOfOpening(path) { $0.flags = HNK_STORE_MUST_EXIST } == .notFound)
        try Files.write([1], to: path)
        #expect(Store.statusOfOpening(path) == .notADirectory)
        try Files.remove(path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: away)
        #expect(try Self.open(path).store.raw == store.raw)
        Self.expect(bucket, "one", "by the link")
        #expect(bucket.set("after", sample(7_000)) == .ok)
        store.expectSound()
    }

    @Test("all files of an open store are deleted, its directory stays: writes say so, and it can be opened anew")
    func emptied() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("store")
        try Self.fill(path, "one")
        do {
            let (store, bucket) = try Self.open(path)
            let lease = try bucket.lease("blob")
            for name in Files.names(in: path) { try Files.remove(path + "/" + name) }
            let statuses = (0..<16).map { _ in bucket.set("more", "1") }
            #expect(statuses.allSatisfy { $0 == .ok || $0 == .directoryGone } && statuses.last == .directoryGone)
            #expect(bucket.set("large", sample(9_000)) == .directoryGone)
            #expect(bucket.get("row") == .text("one") && bucket.get("blob") == .status(.damaged))
            #expect(lease.value == sample(6_000, seed: 3))
            // The same directory is the same store, as long as somebody has it open.
            #expect(try Store(path).raw == store.raw)
        }
        let (store, bucket) = try Self.open(path)
        #expect(bucket.get("row") == .status(.notFound) && bucket.set("row", "two") == .ok)
        #expect(bucket.set("large", sample(9_000)) == .ok)
        store.expectSound()
    }

    @Test("another store's data.mdb is put over that of an open one: writes say so, and at the next open it is read")
    func dataReplaced() throws {
        let directory = try TemporaryDirectory()
        let (path, other) = (directory.path("store"), directory.path("other"))
        try Self.fill(path, "one")
        try Self.fill(other, "other")
        do {
            let (_, bucket) = try Self.open(path)
            try Files.copy(other + "/data.mdb", to: path + "/new")
            #expect(rename(path + "/new", path + "/data.mdb") == 0)
            Self.expect(bucket, "one", "what was open is read on")
            let statuses = (0..<16).map { _ in bucket.set("more", "1") }
            #expect(statuses.allSatisfy { $0 == .ok || $0 == .directoryGone } && statuses.last == .directoryGone)
            #expect(bucket.set("blob", sample(9_000)) == .directoryGone)
        }
        let (store, bucket) = try Self.open(path)
        #expect(bucket.get("row") == .text("other"))
        // Blobs do not lie in data.mdb: of the record there is no file, or one of another value.
        #expect(bucket.get("blob") == .status(.damaged) || bucket.get("blob") == .status(.notFound))
        #expect(bucket.set("row", "after") == .ok && bucket.set("blob", sample(8_000)) == .ok)
        store.expectSound()
    }

    @Test(
        "one of its files is deleted under an open store: statuses and right values only, and the next open repairs",
        arguments: ["blobs", "slots-000001", "state", "turn", "lock.mdb", "data.mdb"])
    func fileDeleted(name: String) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("store")
        try Self.fill(path, "one")
        do {
            let (store, bucket) = try Self.open(path)
            try Files.remove(path + "/" + name)
            #expect(bucket.get("row") == .text("one"))
            #expect([.value(sample(6_000, seed: 3)), .status(.damaged)].contains(bucket.get("blob")))
            for number in 0..<40 {
                let status = bucket.set("k\(number)", sample(number * 200))
                #expect(status == .ok || status == .directoryGone, "\(number)")
                if status == .ok { #expect(bucket.get("k\(number)") == .value(sample(number * 200)), "\(number)") }
            }
            _ = (store.verify(), store.drop("none"), hnk_store_sync(store.raw, nil))
        }
        let (store, bucket) = try Self.open(path)
        #expect([.text("one"), .status(.notFound)].contains(bucket.get("row")))
        #expect(bucket.set("blob", sample(8_000)) == .ok && bucket.set("row", "two") == .ok)
        Self.expectOnlyMissingBlobs(store)
        #expect(bucket.removeAll() == .ok)
        store.expectSound()
    }

    private static func expectOnlyMissingBlobs(_ store: Store) {
        let (_, found) = store.verify()
        #expect(
            found.damaged_records + found.orphan_blobs + found.slot_faults + found.accounting_faults
                + found.limit_faults == 0, "\(found.words)")
    }

    @Test(
        "what may not be written or read is told by its status, nothing is changed or set aside, and reads go on",
        .enabled(if: Child.unwritable.isAvailable, "needs a C compiler"), arguments: ["open", "closed"])
    func unwritable(when: String) throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.unwritable.run([when, directory.path])
        #expect(status == 0, "\(output)")
    }
}
