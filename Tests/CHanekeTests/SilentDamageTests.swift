import CHaneke
import TestSupport
import Testing

/// Damage on the disk's surface: neither the size nor the time of the file tells.
@Suite struct SilentDamageTests {
    private static func filled() throws -> TemporaryDirectory {
        try Fixture.closed { bucket in
            for number in 0..<50 { #expect(bucket.set("key \(number)", sample(200, seed: UInt64(number))) == .ok) }
        }
    }

    /// Whatever is there is right, and the store can be written to.
    private static func expectUsable(_ directory: TemporaryDirectory, _ place: Int) throws {
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        for number in 0..<50 {
            let answer = bucket.get("key \(number)")
            #expect(
                answer == .value(sample(200, seed: UInt64(number))) || answer == .status(.notFound), "byte \(place)")
        }
        #expect(bucket.set("new", "value") == .ok && bucket.get("new") == .text("value"), "byte \(place)")
        store.expectSound()
    }

    @Test("a flipped bit in a meta page is found at the open, and the store goes on", arguments: [0, 4_096])
    func metaPages(page: Int) throws {
        let whole = try Self.filled()
        for offset in stride(from: 0, to: 152, by: 3) {
            let directory = try TemporaryDirectory()
            for name in ["data.mdb", "state"] {
                try Files.copy(whole.path + "/" + name, to: directory.path + "/" + name)
            }
            try RawState.silently(directory.path) { try Files.flip(directory.path + "/data.mdb", at: page + offset) }
            try Self.expectUsable(directory, page + offset)
        }
    }

    @Test("a store row that is damaged is made anew, and the entries stay")
    func storeRow() throws {
        let directory = try Self.filled()
        try RawState.silently(directory.path) {
            try RawRows.change(directory.path, table: 0) { _, row in row[7] ^= 1 }
        }
        let bucket = try Store(directory.path).bucket()
        #expect(bucket.get("key 7") == .value(sample(200, seed: 7)))
    }

    @Test("what a process found damaged goes when it closes the bucket, without a further write")
    func goesAtTheClose() throws {
        let directory = try Fixture.closed({ $0.blob_threshold_bytes = 1_000 }) { bucket in
            #expect(bucket.set("blob", sample(5_000)) == .ok && bucket.set("other", "x") == .ok)
        }
        for blob in Files.blobs(in: directory.path) { try Files.remove(blob) }
        do {
            let bucket = try Store(directory.path).bucket()
            #expect(bucket.get("blob") == .status(.damaged))
        }
        let store = try Store(directory.path)
        store.expectSound()
        #expect(try store.bucket().statistics().corruptions == 1)
    }
}
