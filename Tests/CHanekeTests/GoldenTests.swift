import CHaneke
import Foundation
import TestSupport
import Testing

/// Stores as each version of the format wrote them.
///
/// Today's code reads every byte, and so does a decoder that knows only docs/DISK_FORMAT.md.
@Suite struct GoldenTests {
    private struct Item {
        var key: [UInt8]
        var value: [UInt8]
        var metadata: [UInt8] = []
        var lifetime: Int64 = 0
        var flags: UInt32 = 0
        var userFlags: UInt32 = 0
    }

    /// 317 years.
    private static let farOff: Int64 = 10_000_000_000_000
    private static let threshold = 10_000

    private static let items: [Item] = [
        Item(key: Array("plain".utf8), value: Array("hello".utf8)),
        Item(key: [0, 0xFF, 0x2F, 0], value: []),
        Item(key: sample(506, seed: 506), value: Array("the longest raw key".utf8)),
        Item(key: sample(507, seed: 507), value: Array("the shortest digested one".utf8)),
        Item(key: sample(4_000, seed: 4_000), value: Array("a long key".utf8), metadata: sample(9, seed: 9)),
        Item(
            key: Array("metadata".utf8), value: Array("with metadata".utf8), metadata: sample(100, seed: 100),
            userFlags: 0xCAFE_F00D),
        Item(key: Array("expires".utf8), value: Array("in the far future".utf8), lifetime: farOff),
        Item(key: Array("sliding".utf8), value: Array("slides".utf8), lifetime: farOff, flags: HNK_SET_SLIDING),
        Item(key: Array("overflow".utf8), value: sample(5_000, seed: 5_000)),
        Item(key: Array("blob".utf8), value: sample(12_345, seed: 12_345), metadata: Array("image/png".utf8)),
    ]

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")
    private static let destination = ProcessInfo.processInfo.environment["HANEKE_GOLDEN"]

    /// Writes the store that is kept as Golden/v1: `HANEKE_GOLDEN=<folder> swift test --filter GoldenTests/generate`.
    @Test("a golden store is written on demand", .enabled(if: destination != nil))
    func generate() throws {
        let path = try #require(Self.destination)
        do {
            let store = try Store(path) { $0.blob_threshold_bytes = UInt64(Self.threshold) }
            let bucket = try store.bucket("golden") {
                $0.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES | HNK_FIELD_CHECK
                $0.capacity_bytes = 1_000_000
                $0.entries_max = 100
                $0.check_mode = 1
            }
            for name in ["first", "second", "third"] { #expect(bucket.set("removed \(name)", "x") == .ok) }
            for item in Self.items { #expect(Self.set(item, in: bucket) == .ok) }
            for name in ["second", "third"] { #expect(bucket.remove("removed \(name)") == .ok) }
            #expect(bucket.remove("removed first") == .ok && bucket.set("taken again", "a slot") == .ok)
            let nameless = try store.bucket("")
            #expect(nameless.set("key", "in the bucket without a name") == .ok)
            let lifetime = try store.bucket("lifetime") {
                $0.fields = HNK_FIELD_LIFETIME
                $0.lifetime_ms = Self.farOff
            }
            let sieve = try store.bucket("sieve") {
                $0.fields = HNK_FIELD_ENTRIES | HNK_FIELD_EVICTION
                $0.entries_max = 4
                $0.eviction = hnk_eviction.sieve.rawValue
            }
            for number in 0..<3 { #expect(sieve.set("\(number)", "in order") == .ok) }
            #expect(sieve.get("0") == .text("in order"))
            for number in 3..<6 { #expect(sieve.set("\(number)", "in order") == .ok) }
            _ = (lifetime.get("miss"), bucket.get("plain"), bucket.get("plain"))
            #expect(hnk_store_sync(store.raw, nil) == .ok)
            withExtendedLifetime((nameless, lifetime, sieve)) {}
        }
        try? Files.remove(path + "/lock.mdb")
    }

    private static func set(_ item: Item, in bucket: Bucket) -> hnk_status {
        bucket.set(
            item.key, item.value, metadata: item.metadata, lifetime: item.lifetime, flags: item.flags,
            userFlags: item.userFlags)
    }

    private static func copy(_ version: String) throws -> (TemporaryDirectory, String) {
        let directory = try TemporaryDirectory()
        let path = directory.path("store")
        try Files.copy(folder.appendingPathComponent(version).path, to: path)
        return (directory, path)
    }

    @Test("today's code reads every version's store", arguments: ["v1"], [true, false])
    func reads(version: String, isTrusted: Bool) throws {
        let (directory, path) = try Self.copy(version)
        if isTrusted { try RawState.silently(path) {} }
        let store = try Store(path) {
            $0.blob_threshold_bytes = UInt64(Self.threshold)
            $0.damage_policy = hnk_damage_policy.refuse.rawValue
        }
        store.expectSound()
        #expect(store.bucketNames() == ["", "golden", "lifetime", "sieve"])
        let bucket = try store.bucket("golden")
        for item in Self.items {
            let lease = try #require(bucket.lease(item.key).1)
            #expect(lease.value == item.value && lease.metadata == item.metadata && lease.key == item.key)
            let entry = lease.entry
            #expect(entry.user_flags == item.userFlags)
            #expect((entry.flags & HNK_ENTRY_BLOB != 0) == (item.value.count > Self.threshold))
            #expect((entry.flags & HNK_ENTRY_SLIDING != 0) == (item.flags != 0))
            #expect((entry.expires_at_ms != 0) == (item.lifetime != 0))
        }
        #expect(bucket.get("taken again") == .text("a slot") && bucket.get("removed first") == .status(.notFound))
        #expect(try store.bucket("").get("key") == .text("in the bucket without a name"))
        let settings = bucket.settings()
        #expect(settings.capacity_bytes == 1_000_000 && settings.entries_max == 100 && settings.check_mode == 1)
        #expect(try store.bucket("lifetime").settings().lifetime_ms == Self.farOff)
        #expect(bucket.statistics().writes == 14)
        if isTrusted { #expect(try store.bucket("lifetime").statistics().misses == 1) }
        // What was read stays; its turn comes when the hand has gone around.
        let sieve = try store.bucket("sieve")
        #expect(["0", "3", "4", "5"].allSatisfy { sieve.peek($0).status == .ok })
        #expect(sieve.set("6", "in order") == .ok && sieve.peek("3").status == .notFound)
        // And goes on with it.
        for item in Self.items { #expect(Self.set(item, in: bucket) == .ok) }
        store.expectSound()
        withExtendedLifetime(directory) {}
    }

    @Test("a decoder written from the document alone agrees with every byte")
    func decoded() throws {
        let (directory, path) = try Self.copy("v1")
        let rows = try RawRows.all(path)
        #expect(rows.of(table: 0).count == 1 && rows.allSatisfy { $0.name.count >= 4 && $0.name[0] <= 4 })
        let storeRow = rows[0].row
        #expect(rows[0].name == [0, 0, 0, 0] && storeRow.count == 64)
        #expect(storeRow.prefix(8).elementsEqual("HNKSTORE".utf8) && storeRow.integer(at: 8) as UInt32 == 1)
        #expect(storeRow.integer(at: 12) as UInt32 == 5, "ids begin at 1")
        #expect(storeRow.dropFirst(40).allSatisfy { $0 == 0 })
        let identity = Array(storeRow[16..<32])

        let names = rows.of(table: 2)
        #expect(
            names.map { String(decoding: $0.name.dropFirst(4), as: UTF8.self) } == ["", "golden", "lifetime", "sieve"])
        #expect(names.map { $0.row.integer(at: 0) as UInt32 } == [2, 1, 3, 4])
        #expect(names.allSatisfy { $0.row.count == 4 && $0.name[1...3].elementsEqual([0, 0, 0]) })

        for bucket in rows.of(table: 1) {
            let id = UInt32(bucket.name[1]) << 16 | UInt32(bucket.name[2]) << 8 | UInt32(bucket.name[3])
            try Self.checkBucket(
                id, bucket.row, rows.filter { $0.name.dropFirst().prefix(3) == bucket.name.dropFirst() }, path)
            let slots = try RawSlots(path, bucket: id)
            #expect(slots.magic == "HNKSLOTS" && slots.version == 1 && slots.bucketID == id)
            #expect(slots.identity == identity && slots.zeros.allSatisfy { $0 == 0 })
            #expect(slots.hits == [1: 2, 2: 0, 3: 0, 4: 1][id] && slots.misses == [1: 0, 2: 0, 3: 1, 4: 0][id])
            #expect(slots.boot == 0 && slots.turn == 0 && slots.digest == slots.computedDigest)
            #expect(slots.incarnation == bucket.row.integer(at: 32) as UInt64)
        }
        let state = try RawState(path)
        #expect(state.magic == "HNKSTATE" && state.version == 1 && state.state == RawState.closed && state.isSynced)
        #expect(state.digest == state.computedDigest)
        withExtendedLifetime(directory) {}
    }

    private static func hex(_ number: UInt64, _ digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    private static func checkBucket(_ id: UInt32, _ row: [UInt8], _ rows: [RawRows.Row], _ path: String) throws {
        let name = Array(row.dropFirst(88))
        #expect(row.integer(at: 80) as UInt64 == xxh3(Array(row.prefix(80)), seed: xxh3(name)))
        #expect(row[48..<80].allSatisfy { $0 == 0 })
        let slots = try RawSlots(path, bucket: id)

        var (charged, payload, blobs, newest) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        let records = rows.of(table: 4)
        for (stored, bytes) in records {
            let record = RawRecord(name: stored, row: bytes)
            let isLong = stored.count == 511
            let isBlob = record.flags & RawRecord.blob != 0
            #expect(record.version == 1 && record.zero == 0 && record.bucketID == id && record.slot < slots.slots)
            #expect((record.flags & RawRecord.longKey != 0) == isLong && (record.key.count > 506) == isLong)
            if isLong {
                #expect(Array(stored.dropFirst(4)) == Array(record.key.prefix(491)) + xxh3Canonical128(record.key))
            }
            #expect(record.headerDigest == record.computedHeaderDigest && record.row == bytes)
            var value = record.value
            if isBlob {
                let name = [hex(UInt64(id), 6), hex(UInt64(record.slot), 8), hex(record.generation, 16)]
                value = try Files.read(
                    "\(path)/blobs/\(hex(UInt64(record.slot & 0xFF), 2))/\(name.joined(separator: "-"))")
                blobs += (UInt64(value.count) + 4_095) / 4_096 * 4_096
            }
            #expect(record.valueDigest == xxh3(value) && record.valueBytes == UInt64(value.count))
            if id == 1, let item = items.first(where: { $0.key == record.key }) {
                #expect(value == item.value && record.metadata == item.metadata && record.userFlags == item.userFlags)
                #expect(record.expiresAt == (item.lifetime == 0 ? 0 : record.writtenAt + UInt64(item.lifetime)))
                #expect((record.flags & RawRecord.sliding != 0) == (item.flags != 0))
            }
            let slot = Int(record.slot)
            #expect(slots.use(slot) == RawSlots.entry && slots.key(slot) == Array(stored.dropFirst(4)))
            #expect(slots.time(slot) > 2)
            charged += Charge.of(
                keyBytes: record.key.count, metadataBytes: record.metadata.count, valueBytes: value.count,
                isBlob: isBlob)
            payload += UInt64(value.count)
            newest = max(newest, record.generation)
        }
        #expect(slots.entries == UInt64(records.count) && slots.charged == charged)
        #expect(slots.payload == payload && slots.blobs == blobs && slots.generation == newest)

        let isSieve = row.integer(at: 44) as UInt32 == 1
        #expect(isSieve == (id == 4))
        if isSieve {
            let keys = slots.inserted.map { String(decoding: slots.key($0), as: UTF8.self) }
            #expect(keys == ["0", "3", "4", "5"] && slots.evictions == 2)
            #expect(slots.hand > 0 && String(decoding: slots.key(Int(slots.hand) - 1), as: UTF8.self) == "3")
            #expect(slots.inserted.allSatisfy { !slots.isVisited($0) }, "the hand has passed what was read")
        } else {
            #expect(slots.oldest == 0 && slots.newest == 0 && slots.hand == 0)
        }
        let chain = slots.chain
        #expect(chain.allSatisfy { slots.use($0) == RawSlots.free && slots.time($0) == 0 })
        let more = slots.slots(RawSlots.more)
        #expect(more.allSatisfy { slots.time($0) == 0 })
        #expect(chain.count + more.count + records.count == slots.slots)
    }

    @Test("the digests are those of the format")
    func digests() {
        #expect(xxh3([]) == 0x2D06_8005_38D3_94C2)
        #expect(
            xxh3Canonical128([])
                == [0x99, 0xAA, 0x06, 0xD3, 0x01, 0x47, 0x98, 0xD8, 0x60, 0x01, 0xC3, 0x24, 0x46, 0x8D, 0x49, 0x7F])
        for (size, seed, digest) in Self.vectors {
            #expect(xxh3(sample(size), seed: seed) == digest, "\(size), seed \(seed)")
        }
    }

    /// One for each of XXH3's paths: 1–3, 4–8, 9–16, 17–128, 129–240 bytes, one block, many.
    private static let vectors: [(size: Int, seed: UInt64, digest: UInt64)] = [
        (1, 0x0, 0x1C6B2E7F38E96BBC),
        (1, 0x9E3779B185EBCA87, 0x4B8F7F65CD0E021F),
        (3, 0x0, 0x06E4965B04A2C3A9),
        (3, 0x9E3779B185EBCA87, 0xD4996802F818B3E6),
        (4, 0x0, 0x1D82300DF8174EE7),
        (4, 0x9E3779B185EBCA87, 0x497A907E1F93F03C),
        (8, 0x0, 0xEC3461980A01BC11),
        (8, 0x9E3779B185EBCA87, 0xD16215CC58629C0C),
        (9, 0x0, 0xAB0E86715F546E6F),
        (9, 0x9E3779B185EBCA87, 0x2E1292BE95FB2742),
        (16, 0x0, 0xD3FB7391B69D9D06),
        (16, 0x9E3779B185EBCA87, 0x2B352B8B72DD0FB5),
        (17, 0x0, 0xF2E85D9B1B91AAE7),
        (17, 0x9E3779B185EBCA87, 0x3E218B4F86B47965),
        (128, 0x0, 0x5FBC7B4C500D5A2E),
        (128, 0x9E3779B185EBCA87, 0x91854FCF5A72EC13),
        (129, 0x0, 0x8C3D26825581F695),
        (129, 0x9E3779B185EBCA87, 0x00790B30D868B23C),
        (240, 0x0, 0xD20D3FC72CC2413F),
        (240, 0x9E3779B185EBCA87, 0xDCB735E6256932A1),
        (241, 0x0, 0xB5C964FFC2B2DD51),
        (241, 0x9E3779B185EBCA87, 0xF274F4D67AC0AA49),
        (1024, 0x0, 0x026F52796FB121B5),
        (1024, 0x9E3779B185EBCA87, 0x471B5DDC9C36534C),
        (1025, 0x0, 0x6AFE1593A54525F7),
        (1025, 0x9E3779B185EBCA87, 0x8C6C0D93352ED276),
        (4000, 0x0, 0x382FCE5F89EEA69F),
        (4000, 0x9E3779B185EBCA87, 0x9335835E62807027),
    ]
}
