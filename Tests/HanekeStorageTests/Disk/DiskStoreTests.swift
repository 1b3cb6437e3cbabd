import Foundation
import HanekeStorage
import Synchronization
import TestSupport
import Testing

@Suite struct DiskStoreTests {
    @Test("a store is made where it is missing, shared by whoever opens it again, and kept")
    func opening() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a/b")
        do {
            let store = try DiskStore(directory: path)
            #expect(store.directory == path)
            try store.bucket(named: "icons").set([1, 2, 3], forKey: "key")
            #expect(try DiskStore(directory: path).bucket(named: "icons").bytes(forKey: "key") == [1, 2, 3])
        }
        var options = DiskStore.Options()
        options.mustExist = true
        #expect(try DiskStore(directory: path, options: options).bucketNames() == ["icons"])
    }

    @Test("a store that must exist is not made: not found, and the description names the directory")
    func mustExist() throws {
        let directory = try TemporaryDirectory()
        let error = #expect(throws: StoreError.self) {
            var options = DiskStore.Options()
            options.mustExist = true
            _ = try DiskStore(directory: directory.path("none"), options: options)
        }
        #expect(error?.code == .notFound && error?.osError == ENOENT && error?.key == nil)
        #expect(error?.description.contains(directory.path("none")) == true)
        #expect(!FileManager.default.fileExists(atPath: directory.path("none")))
    }

    @Test("a file in the way is told, with the remedy")
    func file() throws {
        let directory = try TemporaryDirectory()
        try Data([1]).write(to: URL(fileURLWithPath: directory.path("file")))
        let error = #expect(throws: StoreError.self) { _ = try DiskStore(directory: directory.path("file")) }
        #expect(error?.code == .notADirectory)
        #expect(error?.description.contains(directory.path("file")) == true)
        #expect(error?.description.contains("choose another directory") == true)
    }

    @Test("every option opens a store that works", arguments: 0..<4)
    func options(kind: Int) throws {
        let directory = try TemporaryDirectory()
        var options = DiskStore.Options()
        switch kind {
        case 0: options.syncMode = .everyCommit
        case 1: options.syncMode = .interval(.milliseconds(1))
        case 2: options.damagePolicy = .refuse
        default:
            options.damagePolicy = .discard
            options.mapBytes = 4_194_304
            options.blobThresholdBytes = 100
        }
        let store = try DiskStore(directory: directory.path, options: options)
        let bucket = try store.bucket(named: "b")
        try bucket.set([UInt8](repeating: 7, count: 500), forKey: "key")
        #expect(try bucket.peek("key")?.isBlob == (kind == 3))
        #expect(try bucket.bytes(forKey: "key")?.count == 500)
        try store.sync()
        #expect(try store.verify().isSound)
    }

    @Test("buckets are named, listed in byte order and removed")
    func buckets() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory: directory.path)
        for name in ["b", "", "ä", "a"] { try store.bucket(named: name).set([1], forKey: "key") }
        #expect(try store.bucketNames() == ["", "a", "b", "ä"])
        #expect(try store.statistics().buckets == 4)
        #expect(try store.removeBucket(named: "b") && !store.removeBucket(named: "b"))
        #expect(try store.bucketNames() == ["", "a", "ä"])
        let error = #expect(throws: StoreError.self) {
            try store.bucket(named: String(repeating: "n", count: 256))
        }
        #expect(error?.code == .nameSize)
        let missing = #expect(throws: StoreError.self) {
            try store.bucket(named: "none", options: Bucket.Options(mustExist: true))
        }
        #expect(missing?.code == .notFound && missing?.description.contains("none") == true)
    }

    @Test("apply carries out all steps in one commit and tells which were refused by themselves")
    func apply() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory: directory.path)
        let one = try store.bucket(named: "one")
        let two = try store.bucket(named: "two", options: Bucket.Options(capacityBytes: 5_000))
        let refusals = try store.apply([
            StoreOperation(.set(key: "a", value: [1], metadata: [9, 8], lifetime: .seconds(60)), in: one),
            StoreOperation(.remove(key: "none"), in: one),
            StoreOperation(.set(key: "", value: [1]), in: one),
            StoreOperation(.set(key: "large", value: [UInt8](repeating: 0, count: 10_000)), in: two),
            StoreOperation(.set(key: "gone", value: []), in: two),
            StoreOperation(.removeAll, in: two),
            StoreOperation(.set(key: "empty", value: []), in: two),
        ])
        #expect(refusals.map { $0?.code } == [nil, nil, .keySize, .valueTooLarge, nil, nil, nil])
        #expect(refusals[3]?.key == "large" && refusals[3]?.description.contains("capacity") == true)
        guard let lease = try one.lease(forKey: "a") else {
            Issue.record("the entry is missing")
            return
        }
        let metadata = lease.metadata()
        let entry = lease.entry()
        #expect(metadata == [9, 8])
        #expect(entry.expiresAt == entry.writtenAt + 60_000)
        #expect(try two.entries().map(\.key) == ["empty"])
        #expect(try store.apply([]).isEmpty)
    }

    @Test("apply with another store's bucket throws, and changes nothing")
    func applyElsewhere() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory: directory.path("a"))
        let other = try DiskStore(directory: directory.path("b")).bucket(named: "x")
        let bucket = try store.bucket(named: "x")
        let error = #expect(throws: StoreError.self) {
            try store.apply([
                StoreOperation(.set(key: "a", value: [1]), in: bucket),
                StoreOperation(.set(key: "a", value: [1]), in: other),
            ])
        }
        #expect(error?.code == .argument)
        #expect(try bucket.bytes(forKey: "a") == nil)
    }

    @Test("verify tells how far it is, and stops when asked")
    func verify() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory: directory.path)
        let bucket = try store.bucket(named: "b")
        try store.apply((0..<600).map { StoreOperation(.set(key: "k\($0)", value: [1, 2]), in: bucket) })
        var calls: [(Int, Int)] = []
        let found = try store.verify {
            calls.append(($0, $1)); return true
        }
        #expect(found.isSound && found.entries == 600 && found.bytes == 1_200 && found.firstFault.isEmpty)
        #expect(calls.map(\.0) == [256, 512] && calls.allSatisfy { $0.1 == 600 })
        let error = #expect(throws: StoreError.self) { try store.verify(bucket) { _, _ in false } }
        #expect(error?.code == .cancelled)
        #expect(try store.verify(bucket).entries == 600)
    }

    @Test("damage is a miss to reads and a fault to verify; a missing file does not come back as a value")
    func damage() throws {
        let directory = try TemporaryDirectory()
        var options = DiskStore.Options()
        options.blobThresholdBytes = 100
        let store = try DiskStore(directory: directory.path, options: options)
        let bucket = try store.bucket(named: "b")
        try bucket.set([UInt8](repeating: 1, count: 1_000), forKey: "blob")
        try FileManager.default.removeItem(atPath: directory.path("blobs/00"))
        let found = try store.verify()
        #expect(!found.isSound && found.missingBlobs == 1 && found.firstFault.contains("blob"))
        #expect(try bucket.bytes(forKey: "blob") == nil)
        #expect(try bucket.statistics().corruptions == 1)
        try bucket.set([2], forKey: "other")
        #expect(try store.verify().isSound && store.statistics().entries == 1)
    }

    @Test("compacting tells by how much the directory shrank")
    func compact() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory: directory.path)
        let bucket = try store.bucket(named: "b")
        for number in 0..<50 { try bucket.set([UInt8](repeating: 1, count: 50_000), forKey: "k\(number)") }
        try bucket.removeAll()
        try bucket.set([1], forKey: "a")
        #expect(try store.compact() > 1_000_000)
        #expect(try bucket.bytes(forKey: "a") == [1])
    }

    @Test("a deleted directory is told by writes; reads go on")
    func deleted() throws {
        let directory = try TemporaryDirectory()
        let store = try DiskStore(directory: directory.path("store"))
        let bucket = try store.bucket(named: "b")
        try bucket.set([1], forKey: "a")
        try FileManager.default.removeItem(atPath: directory.path("store"))
        // Looked at now and then: some writes may still go into the files that are gone.
        let error = #expect(throws: StoreError.self) { for _ in 0..<17 { try bucket.set([2], forKey: "b") } }
        #expect(error?.code == .directoryGone && error?.key == "b")
        #expect(try bucket.bytes(forKey: "a") == [1])
    }

    @Test("the library tells its version: three numbers")
    func version() {
        #expect(DiskStore.libraryVersion.split(separator: ".").compactMap { Int($0) }.count == 3)
    }
}
