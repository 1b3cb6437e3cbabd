import CHaneke
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    /// A file system of a few MiB, in memory: only root may mount one.
    private final class TinyFileSystem {
        let path: String
        private let directory: TemporaryDirectory

        init?(mebibytes: Int) {
            guard geteuid() == 0, let directory = try? TemporaryDirectory(),
                mount("none", directory.path, "tmpfs", 0, "size=\(mebibytes)m") == 0
            else { return nil }
            self.directory = directory
            path = directory.path
        }

        deinit { umount2(path, Int32(MNT_DETACH)) }

        func remountReadOnly(_ isReadOnly: Bool) -> Bool {
            mount("none", path, "tmpfs", UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0), nil) == 0
        }

        static let isPossible = TinyFileSystem(mebibytes: 1) != nil
    }

    @Suite(.serialized, .enabled(if: TinyFileSystem.isPossible, "needs root, to mount a small file system"))
    struct DiskFullTests {
        @Test("a store is not made on a disk without a free block: a status, no signal; with room it is")
        func noBlockFree() throws {
            let disk = try #require(TinyFileSystem(mebibytes: 8))
            let ballast = disk.path + "/ballast"
            #expect(throws: (any Error).self) {
                try Files.write([UInt8](repeating: 1, count: 9_000_000), to: ballast)
            }
            #expect(Store.statusOfOpening(disk.path + "/store") == .diskFull)
            try Files.remove(ballast)
            let store = try Store(disk.path + "/store")
            #expect(try store.bucket().set("key", "value") == .ok)
            store.expectSound()
        }

        @Test(
            "on a full disk writes evict or say so; reads go on; no wrong byte; all is well when there is room",
            arguments: [true, false])
        func full(hasBlobs: Bool) throws {
            let disk = try #require(TinyFileSystem(mebibytes: 8))
            let store = try Store(disk.path + "/store") { $0.blob_threshold_bytes = hasBlobs ? 10_000 : 1_000_000 }
            let bucket = try store.bucket()
            let ballast = disk.path + "/ballast"
            try Files.write([UInt8](repeating: 1, count: 3_000_000), to: ballast)
            var refused = 0
            for number in 0..<1_500 {
                let status = bucket.set("k\(number)", sample(number % 40 * 500, seed: UInt64(number)))
                #expect(status == .ok || status == .diskFull)
                if status == .diskFull { refused += 1 }
                for read in max(0, number - 3)...number {
                    let answer = bucket.get("k\(read)")
                    #expect(
                        answer == .status(.notFound) || answer == .value(sample(read % 40 * 500, seed: UInt64(read))))
                }
            }
            store.expectSound()
            var writer: OpaquePointer?
            if lend([1], { hnk_writer_begin(bucket.raw, $0, nil, &writer) }) == .ok, let writer {
                var status = hnk_status.ok
                for _ in 0..<20 where status == .ok {
                    status = lend(sample(1_000_000)) { hnk_writer_append(writer, $0) }
                }
                #expect(status == .diskFull)
                #expect(lend([1]) { hnk_writer_append(writer, $0) } == .diskFull)
                #expect(hnk_writer_commit(writer) == .diskFull)
            }
            let removal = bucket.removeAll()
            #expect(removal == .ok, "deleting goes on")
            try Files.remove(ballast)
            #expect(bucket.removeAll() == .ok)
            for number in 0..<50 { #expect(bucket.set("n\(number)", sample(5_000, seed: UInt64(number))) == .ok) }
            for number in 0..<50 { #expect(bucket.get("n\(number)") == .value(sample(5_000, seed: UInt64(number)))) }
            store.expectSound()
        }

        @Test("a disk without room for a store is told at the open")
        func noRoom() throws {
            let disk = try #require(TinyFileSystem(mebibytes: 1))
            try Files.write([UInt8](repeating: 1, count: 1_040_000), to: disk.path + "/ballast")
            let status = Store.statusOfOpening(disk.path + "/store")
            #expect(status == .diskFull)
            try Files.remove(disk.path + "/ballast")
            #expect(Store.statusOfOpening(disk.path + "/store") == .ok)
        }

        @Test("a read-only file system is told")
        func readOnly() throws {
            let disk = try #require(TinyFileSystem(mebibytes: 2))
            #expect(try Store(disk.path + "/store").bucket().set("a", "1") == .ok)
            try RawState.kill(disk.path + "/store")
            try #require(disk.remountReadOnly(true))
            #expect(Store.statusOfOpening(disk.path + "/store") == .access)
            #expect(Store.statusOfOpening(disk.path + "/other") == .access)
            try #require(disk.remountReadOnly(false))
            #expect(try Store(disk.path + "/store").bucket().get("a") == .text("1"))
        }
    }
#endif
