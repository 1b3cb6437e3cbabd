import CHaneke
import TestSupport
import Testing

/// Damage that comes while the store is trusted: it is met at reads and writes.
@Suite struct DamageTests {
    private static let threshold: UInt64 = 20_000
    private static let long = sample(700, seed: 70)

    /// Three entries beside the damaged one: "a", "b", a blob.
    private static func filled(_ key: [UInt8], _ value: [UInt8], metadata: [UInt8] = []) throws -> TemporaryDirectory {
        try Fixture.closed({ $0.blob_threshold_bytes = threshold }) { bucket in
            #expect(bucket.set("a", "A") == .ok)
            #expect(bucket.set(key, value, metadata: metadata) == .ok)
            #expect(bucket.set("b", "B") == .ok && bucket.set("blob", sample(30_000)) == .ok)
        }
    }

    private static func reopen(_ directory: TemporaryDirectory) throws -> (Store, Bucket) {
        let store = try Store(directory.path) { $0.blob_threshold_bytes = threshold }
        return (store, try store.bucket())
    }

    private static func expectOthers(_ bucket: Bucket) {
        #expect(bucket.get("a") == .text("A") && bucket.get("b") == .text("B"))
        #expect(bucket.get("blob") == .value(sample(30_000)))
    }

    private static func isRecord(of key: [UInt8]) -> (RawRows.Row) -> Bool {
        { $0.name.dropFirst(4).starts(with: key.prefix(491)) }
    }

    @Test(
        "a flipped bit in any field of a record is damage: never a value, counted, gone with the next write",
        arguments: [Array("key".utf8), long])
    func anyByte(key: [UInt8]) throws {
        let value = sample(40), metadata = sample(12, seed: 4)
        let directory = try Self.filled(key, value, metadata: metadata)
        let whole = try RawRows.all(directory.path).of(table: 4).first(where: Self.isRecord(of: key))
        let record = try #require(whole)
        let places = record.row.count < 200 ? Array(0..<record.row.count) : Array(0..<100) + [700, 771, 772, 784, 823]
        for place in places where place < record.row.count {
            try RawState.silently(directory.path) {
                try RawRows.edit(directory.path) { rows in
                    var row = record.row
                    row[place] ^= 0x10
                    rows.put(record.name, row)
                }
            }
            let (store, bucket) = try Self.reopen(directory)
            #expect(bucket.get(key) == .status(.damaged), "byte \(place)")
            #expect(bucket.peek(key).status != .ok || place >= 72 + metadata.count, "byte \(place)")
            #expect(bucket.statistics().misses > 0)
            let (status, found) = store.verify()
            #expect(status == .damaged && found.damaged_records == 1, "byte \(place): \(found.words)")
            let before = bucket.statistics().corruptions
            #expect(bucket.remove("none") == .notFound)
            #expect(bucket.get(key) == .status(.notFound), "byte \(place)")
            #expect(bucket.statistics().corruptions == before && before > 0, "byte \(place)")
            #expect(bucket.statistics().entries == 3)
            Self.expectOthers(bucket)
            store.expectSound("byte \(place)")
            #expect(bucket.set(key, value, metadata: metadata) == .ok)
        }
        let (store, bucket) = try Self.reopen(directory)
        if key.count <= 506 { #expect(bucket.get(key) == .status(.notFound) || bucket.get(key) == .value(value)) }
        #expect(bucket.set(key, value) == .ok && bucket.get(key) == .value(value))
        store.expectSound()
    }

    @Test("a damaged record is replaced by a set of its key, and removed by a removal", arguments: [true, false])
    func writeOver(sets: Bool) throws {
        let key = Array("key".utf8)
        for place in [0, 8, 33, 64, 75] {
            let directory = try Self.filled(key, sample(40))
            try RawState.silently(directory.path) {
                try RawRows.change(directory.path, table: 4, where: Self.isRecord(of: key)) { $1[place] ^= 1 }
            }
            let (store, bucket) = try Self.reopen(directory)
            if sets {
                #expect(bucket.set(key, "new") == .ok && bucket.get(key) == .text("new"))
            } else {
                #expect(bucket.remove(key) == .ok && bucket.get(key) == .status(.notFound))
            }
            Self.expectOthers(bucket)
            store.expectSound("byte \(place)")
        }
    }

    @Test("a value is proven at the first read, at every read, or never, as the bucket says")
    func checkModes() throws {
        let key = Array("key".utf8)
        for mode in 0...2 {
            let directory = try Self.filled(key, sample(40))
            try RawState.silently(directory.path) {
                try RawRows.change(directory.path, table: 4, where: Self.isRecord(of: key)) { $1[80] ^= 1 }
            }
            let store = try Store(directory.path)
            let bucket = try store.bucket {
                $0.fields = HNK_FIELD_CHECK
                $0.check_mode = UInt32(mode)
            }
            if mode == 2 {
                #expect(bucket.get(key) != .status(.damaged))
            } else {
                #expect(bucket.get(key) == .status(.damaged) && bucket.get(key) == .status(.damaged))
                #expect(bucket.statistics().corruptions == 1)
            }
        }
    }

    @Test("a blob that is missing, short, long or flipped is damage, and gone with the next write", arguments: 0..<4)
    func blobs(kind: Int) throws {
        let directory = try Self.filled(Array("key".utf8), [1])
        let file = try #require(Files.blobs(in: directory.path).first)
        switch kind {
        case 0: try Files.remove(file)
        case 1: try Files.truncate(file, to: 29_999)
        case 2: try Files.truncate(file, to: 30_001)
        default: try Files.flip(file, at: 15_000)
        }
        let (store, bucket) = try Self.reopen(directory)
        let (status, found) = store.verify()
        #expect(status == .damaged && found.damaged_records + found.missing_blobs == 1, "\(found.words)")
        #expect(bucket.get("blob") == .status(.damaged))
        #expect(bucket.statistics().corruptions == 1)
        #expect(bucket.set("c", "C") == .ok)
        #expect(bucket.get("blob") == .status(.notFound) && bucket.get("a") == .text("A"))
        #expect(bucket.statistics().corruptions == 1 && Files.blobs(in: directory.path).isEmpty)
        store.expectSound()
    }

    @Test("the file of a record that fails its header does not stay behind")
    func blobOfDamagedRecord() throws {
        let directory = try Self.filled(Array("key".utf8), [1])
        try RawState.silently(directory.path) {
            try RawRows.change(directory.path, table: 4, where: Self.isRecord(of: Array("blob".utf8))) { $1[41] ^= 1 }
        }
        let (store, bucket) = try Self.reopen(directory)
        #expect(bucket.get("blob") == .status(.damaged))
        #expect(bucket.set("c", "C") == .ok)
        #expect(bucket.get("blob") == .status(.notFound))
        #expect(Files.blobs(in: directory.path).isEmpty)
        store.expectSound()
    }

    /// Kinds of damage to the cells: what verify finds, the next writes put right.
    @Test("damaged cells are found, and put right by writes", arguments: 0..<6)
    func slots(kind: Int) throws {
        let fixture = try Fixture(entriesMax: 12)
        for number in 0..<8 { #expect(fixture.bucket.set("k\(number)", "v\(number)") == .ok) }
        for number in [1, 3, 5] { #expect(fixture.bucket.remove("k\(number)") == .ok) }
        let directory = fixture.directory
        try close(consume fixture)
        let slots = try RawSlots(directory.path)
        let (used, free) = (slots.slots(RawSlots.entry), slots.slots(RawSlots.free))
        #expect(used.count == 5 && free.count == 3)
        let other = Array(slots.bytes[RawSlots.offset(ofCell: used[1])...].prefix(128))
        switch kind {
        case 0: try RawSlots.changeCell(used[0], directory.path) { $0 = [UInt8](repeating: 0, count: 128) }
        case 1: try RawSlots.changeCell(used[0], directory.path) { $0[0] = RawSlots.free }
        case 2: try RawSlots.changeCell(used[0], directory.path) { $0 = other }
        case 3: try RawSlots.changeCell(free[2], directory.path) { $0.set(UInt32(457), at: 4) }
        case 4: try RawSlots.changeCell(free[2], directory.path) { $0 = [UInt8](repeating: 0xFF, count: 128) }
        default: try RawSlots.changeCell(free[2], directory.path) { $0[0] = RawSlots.entry }
        }
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        for number in [0, 2, 4, 6, 7] { #expect(bucket.get("k\(number)") == .text("v\(number)")) }
        #expect(store.verify().status == .damaged && store.verify().found.slot_faults > 0)
        for number in 10..<40 {
            #expect(bucket.set("k\(number)", "v\(number)") == .ok, "k\(number)")
            #expect(bucket.statistics().entries <= 12)
        }
        for number in 28..<40 { #expect(bucket.get("k\(number)") == .text("v\(number)")) }
        store.expectSound()
    }

    @Test("what verify finds wrong with the slots of a bucket is put right by its next write")
    func slotsAfterVerify() throws {
        let directory = try Self.filled(Array("key".utf8), [1])
        try RawSlots.changeCell(0, directory.path) { $0[0] = RawSlots.free }
        let (store, bucket) = try Self.reopen(directory)
        #expect(store.verify().status == .damaged)
        #expect(bucket.set("c", "C") == .ok)
        Self.expectOthers(bucket)
        store.expectSound()
    }

    @Test("counts that are wrong though their digest holds are found, and put right by the next write after verify")
    func counts() throws {
        let directory = try Self.filled(Array("key".utf8), [1])
        try RawSlots.changeCounts(directory.path) { $0.set(UInt64(9), at: 0) }
        let (store, bucket) = try Self.reopen(directory)
        #expect(store.verify().found.accounting_faults == 1)
        #expect(bucket.set("c", "C") == .ok)
        #expect(bucket.statistics().entries == 5)
        store.expectSound()
    }

    @Test("slots that are lost, foreign or cut off cost recency, nothing else", arguments: 0..<9)
    func slotsFile(kind: Int) throws {
        let fixture = try Fixture(entriesMax: 50)
        for number in 0..<50 { #expect(fixture.bucket.set("k\(number)", "v\(number)") == .ok) }
        let directory = fixture.directory
        try close(consume fixture)
        let path = directory.path("slots-000001")
        switch kind {
        case 0: try Files.remove(path)
        case 1: try Files.write(Array("something else".utf8), to: path)
        case 2: try Files.write([], to: path)
        case 3: try Files.truncate(path, to: 4_096)
        case 4: try Files.truncate(path, to: 4_096 + 8 * 20 + 3)
        case 5: try Files.flip(path, at: 17)
        case 7: try Files.flip(path, at: 130)
        case 8: try Files.flip(path, at: 66)
        default: try Files.patch(path, at: 4_096, { $0 = [UInt8](repeating: 0, count: 400) }, count: 400)
        }
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        for number in 0..<50 { #expect(bucket.get("k\(number)", HNK_GET_QUIET) == .text("v\(number)")) }
        #expect(bucket.keys(.byAccess).count == 50)
        for number in 50..<120 {
            #expect(bucket.set("k\(number)", "v\(number)") == .ok)
            #expect(bucket.get("k\(number)") == .text("v\(number)"))
        }
        #expect(bucket.texts(.byAccess) == (70..<120).map { "k\($0)" })
        store.expectSound()
    }

    @Test("a bucket's row that fails its digest does not make the store unusable")
    func bucketRow() throws {
        let directory = try Self.filled(Array("key".utf8), [1])
        try RawState.silently(directory.path) { try RawRows.change(directory.path, table: 1) { $1[24] ^= 1 } }
        let store = try Store(directory.path) { $0.blob_threshold_bytes = Self.threshold }
        #expect(try store.bucket("other").set("x", "y") == .ok)
        let bucket = try store.bucket()
        Self.expectOthers(bucket)
        #expect(bucket.set("c", "C") == .ok && bucket.statistics().entries == 5)
        store.expectSound()
    }

    /// Gives the handles back, so that the files are nobody's.
    private func close(_ fixture: consuming Fixture) throws {}
}
