import CHaneke
import TestSupport
import Testing

@Suite struct ListTests {
    @Test("by key: bytes in order, over many steps of 256")
    func byKey() throws {
        let fixture = try Fixture()
        var keys: [[UInt8]] = (0..<1_500).map { number in
            var generator = SeededGenerator(seed: UInt64(number))
            return (0..<Int.random(in: 1...12, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
        }
        keys = Array(Set(keys)).shuffled()
        try fixture.store.setAll(keys.map { ($0, [UInt8($0.count)]) }, in: fixture.bucket)
        let listed = fixture.bucket.list()
        #expect(listed.map(\.key) == keys.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(listed.allSatisfy { $0.entry.value_bytes == 1 && $0.entry.accessed_at_ms > 0 })
    }

    @Test("by access: least recently used first", arguments: [1, 255, 256, 257, 512, 700])
    func byAccess(count: Int) throws {
        let fixture = try Fixture()
        let keys = (0..<count).map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        for key in keys { #expect(fixture.bucket.set(key, key) == .ok) }
        #expect(fixture.bucket.keys(.byAccess) == keys)
        for key in keys.reversed() { #expect(fixture.bucket.touch(key) == .ok) }
        #expect(fixture.bucket.keys(.byAccess) == keys.reversed())
        #expect(fixture.bucket.keys() == keys)
    }

    @Test("what is known of each entry is told: sizes, times, flags, charge")
    func details() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set([1], sample(10), metadata: [1, 2, 3], lifetime: 60_000, userFlags: 5) == .ok)
        #expect(fixture.bucket.set([2], sample(2_000), lifetime: -1, flags: HNK_SET_SLIDING) == .ok)
        for order in [hnk_list_order.byKey, .byAccess] {
            let listed = fixture.bucket.list(order).map(\.entry)
            #expect(listed.count == 2)
            #expect(listed[0].metadata_bytes == 3 && listed[0].user_flags == 5 && listed[0].flags == 0)
            #expect(listed[0].expires_at_ms == listed[0].written_at_ms + 60_000)
            #expect(listed[1].flags == HNK_ENTRY_BLOB | HNK_ENTRY_SLIDING | HNK_ENTRY_EXPIRED)
            #expect(listed.map(\.charged_bytes).reduce(0, +) == fixture.bucket.statistics().bytes)
        }
    }

    @Test("by prefix, in either order, and no other bucket's")
    func prefix() throws {
        let fixture = try Fixture()
        let other = try fixture.store.bucket("other")
        for key in ["ab1", "ab2", "a", "ab", "b", "ac"] {
            #expect(fixture.bucket.set(key, "1") == .ok && other.set("ab3", "1") == .ok)
        }
        #expect(fixture.bucket.texts(prefix: "ab") == ["ab", "ab1", "ab2"])
        #expect(fixture.bucket.texts(.byAccess, prefix: "ab") == ["ab1", "ab2", "ab"])
        #expect(fixture.bucket.texts(prefix: "x").isEmpty)
        #expect(fixture.bucket.removePrefix(Array("ab".utf8)).removed == 3)
        #expect(fixture.bucket.texts() == ["a", "ac", "b"] && other.texts() == ["ab3"])
    }

    @Test(
        "an entry that is not written during the walk is seen exactly once",
        arguments: [hnk_list_order.byKey, .byAccess])
    func whileWriting(order: hnk_list_order) throws {
        let fixture = try Fixture()
        let kept = (0..<1_000).map { [UInt8($0 >> 8), UInt8($0 & 0xFF), 0] }
        try fixture.store.setAll(kept.map { ($0, [1]) }, in: fixture.bucket)
        try fixture.store.setAll(kept.map { ($0.dropLast() + [1], [1]) }, in: fixture.bucket)
        var list: OpaquePointer?
        var options = hnk_list_options()
        options.struct_size = UInt32(MemoryLayout<hnk_list_options>.size)
        options.order = order.rawValue
        #expect(hnk_list_open(fixture.bucket.raw, &options, &list) == .ok)
        let listing = try #require(list)
        defer { hnk_list_close(listing) }
        var seen: [[UInt8]] = []
        var round = 0
        while let (key, _) = Bucket.next(of: listing) {
            if key[2] == 0 { seen.append(key) }
            round += 1
            guard round % 7 == 0 else { continue }
            let number = round % 1_000
            let key = [UInt8(number >> 8), UInt8(number & 0xFF), 1]
            _ = fixture.bucket.remove(key)
            #expect(fixture.bucket.set([UInt8(number >> 8), UInt8(number & 0xFF), 2], "new") == .ok)
        }
        #expect(seen.count == kept.count && Set(seen) == Set(kept))
        fixture.store.expectSound()
    }

    @Test("a list goes on behind the last key of an earlier one", arguments: [1, 7, 300])
    func pages(size: Int) throws {
        let fixture = try Fixture()
        let keys = (0..<700).map { number in sample(1 + number * 3 % 900, seed: UInt64(number)) }
        try fixture.store.setAll(keys.map { ($0, [1]) }, in: fixture.bucket)
        for prefix in [[], [keys[5][0]], Array(keys[699].prefix(3)), Array(keys[250].prefix(600))] {
            let whole = fixture.bucket.keys(prefix: prefix)
            var paged: [[UInt8]] = []
            while true {
                let page = fixture.bucket.list(prefix: prefix, after: paged.last ?? [], most: size).map(\.key)
                paged += page
                if page.count < size { break }
                if size == 1 { _ = fixture.bucket.remove(page[0]) }  // where it goes on need not be there any more
            }
            #expect(paged == whole && !whole.isEmpty)
            if size == 1 { try fixture.store.setAll(keys.map { ($0, [1]) }, in: fixture.bucket) }
        }
        #expect(fixture.bucket.list(prefix: [9], after: [10]).isEmpty)
        #expect(fixture.bucket.list(prefix: [9], after: [8, 8]).map(\.key) == fixture.bucket.keys(prefix: [9]))
        var list: OpaquePointer?
        var options = hnk_list_options()
        options.struct_size = UInt32(MemoryLayout<hnk_list_options>.size)
        options.order = hnk_list_order.byAccess.rawValue
        lend([1]) {
            options.after = $0; #expect(hnk_list_open(fixture.bucket.raw, &options, &list) == .argument)
        }
    }

    @Test("looking is not using")
    func looking() throws {
        let fixture = try Fixture()
        for key in ["a", "b", "c"] { #expect(fixture.bucket.set(key, "1") == .ok) }
        let before = fixture.bucket.list(.byAccess).map(\.entry.accessed_at_ms)
        _ = fixture.bucket.list()
        #expect(fixture.bucket.list(.byAccess).map(\.entry.accessed_at_ms) == before)
        #expect(fixture.bucket.statistics().hits == 0)
    }

    @Test("an entry whose access time was lost is listed all the same, before the others")
    func lostTime() throws {
        let fixture = try Fixture()
        for key in ["a", "b", "c"] { #expect(fixture.bucket.set(key, "1") == .ok) }
        try Files.patch(fixture.directory.path("slots-000001"), at: 4_096 + 8) { $0.set(UInt64(0), at: 0) }
        #expect(fixture.bucket.texts(.byAccess) == ["b", "a", "c"])
    }
}
