import CHaneke
import Foundation
import TestSupport
import Testing

/// Opening what was not closed cleanly, or was changed by other hands.
@Suite struct RecoverTests {
    private static let isLong = ProcessInfo.processInfo.environment["HANEKE_LONG"] != nil
    static let seeds = Array(1...UInt64(isLong ? 400 : 40))

    /// Tells its key and version in every word, so that a wrong byte shows.
    private static func value(_ key: Int, _ version: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0...(key * version * 37 % 1_100) { bytes.append(integer: UInt64(key) << 32 | UInt64(version)) }
        return bytes
    }

    private static func isWhole(_ bytes: [UInt8], _ key: Int) -> Bool {
        let word: UInt64 = bytes.integer(at: 0)
        return Int(word >> 32) == key && (1...3).contains(Int(word & 0xFFFF_FFFF))
            && bytes == value(key, Int(word & 0xFFFF_FFFF))
    }

    private static func key(_ number: Int) -> [UInt8] {
        number % 7 == 0 ? sample(600, seed: UInt64(number)) : [UInt8(number), 9]
    }

    /// Two buckets of 120 entries each, three versions of each written, some removed; blobs too; made once.
    private static let template = Result { try made() }

    /// A copy of the template, for a test to damage.
    private static func filled() throws -> TemporaryDirectory {
        let (template, directory) = (try template.get(), try TemporaryDirectory())
        for name in Files.names(in: template.path) {
            try Files.copy(template.path(name), to: directory.path(name))
        }
        return directory
    }

    private static func made() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let store = try open(directory)
        for name in ["one", "two"] {
            let bucket = try store.bucket(name) {
                $0.fields = HNK_FIELD_CAPACITY
                $0.capacity_bytes = 10_000_000
            }
            for version in 1...3 {
                for number in 0..<120 { #expect(bucket.set(key(number), value(number, version)) == .ok) }
            }
            for number in stride(from: 3, to: 120, by: 10) { #expect(bucket.remove(key(number)) == .ok) }
        }
        return directory
    }

    private static func open(_ directory: TemporaryDirectory, _ policy: hnk_damage_policy = .salvage) throws -> Store {
        try Store(directory.path) {
            $0.blob_threshold_bytes = 6_000
            $0.damage_policy = policy.rawValue
        }
    }

    /// Expects each entry to be whole or not there, a sound store, and that it goes on; gives how many are there.
    @discardableResult
    private static func expectWhole(_ store: Store, _ at: Comment) throws -> Int {
        var count = 0
        let found = store.verify().found
        // After a mere kill values are proven at their first read, not at the open.
        #expect(
            found.missing_blobs + found.orphan_blobs + found.slot_faults + found.accounting_faults + found.limit_faults
                == 0,
            "\(at.rawValue) \(found.words)")
        for name in ["one", "two"] {
            let bucket = try store.bucket(name)
            for number in 0..<120 {
                switch bucket.get(key(number)) {
                case .value(let bytes):
                    #expect(isWhole(bytes, number), at)
                    count += 1
                case .status(let status): #expect(status == .notFound || status == .damaged, at)
                }
            }
            for number in 0..<20 {
                #expect(bucket.set(key(number), value(number, 1)) == .ok, at)
                #expect(bucket.get(key(number)) == .value(value(number, 1)), at)
            }
        }
        store.expectSound(at)
        return count
    }

    @Test(
        "after a kill or a crash of an undamaged store everything is there, and nothing is set aside", arguments: 0..<5)
    func undamaged(kind: Int) throws {
        let directory = try Self.filled()
        switch kind {
        case 0: try RawState.kill(directory.path)
        case 1: try RawState.crash(directory.path)
        case 2: try Files.remove(directory.path("state"))
        case 3: try Files.write(sample(64), to: directory.path("state"))
        default: try Files.write([], to: directory.path("state"))
        }
        let store = try Self.open(directory, .refuse)
        #expect(try Self.expectWhole(store, "kind \(kind)") == 2 * 108)
        #expect(!Files.exists(directory.path("data.mdb.damaged")))
    }

    @Test("after a crash of the system the strict policy begins empty, after a mere kill it does not")
    func discard() throws {
        let directory = try Self.filled()
        try RawState.kill(directory.path)
        #expect(try Self.open(directory, .discard).statistics().entries == 216)
        try RawState.crash(directory.path)
        let store = try Self.open(directory, .discard)
        #expect(store.statistics().buckets == 0 && store.statistics().entries == 0)
        #expect(Files.blobs(in: directory.path).isEmpty && !Files.exists(directory.path("data.mdb.damaged")))
        try Self.expectWhole(store, "emptied")
    }

    @Test("damage is refused untouched if the options say so")
    func refuse() throws {
        let directory = try Self.filled()
        try Files.patch(
            directory.path("data.mdb"), at: 5 * 4_096, { $0 = [UInt8](repeating: 0x5A, count: 4_096) }, count: 4_096)
        try RawState.crash(directory.path)
        let before = try Files.read(directory.path("data.mdb"))
        let state = try Files.read(directory.path("state"))
        let status = Store.statusOfOpening(directory.path) { $0.damage_policy = hnk_damage_policy.refuse.rawValue }
        // Page 5 may be one that nothing uses.
        #expect(status == .damagedStore || status == .ok)
        if status == .damagedStore {
            #expect(
                try Files.read(directory.path("data.mdb")) == before && Files.read(directory.path("state")) == state)
            #expect(!Files.exists(directory.path("data.mdb.damaged")))
        }
    }

    @Test("a value that a crash of the system has torn goes, all others stay")
    func tornValue() throws {
        let directory = try Self.filled()
        let bytes = try Files.read(directory.path("data.mdb"))
        // Version 3 of key 11 stands in the file once; every word of it tells so.
        var word: [UInt8] = []
        word.append(integer: UInt64(11) << 32 | 3)
        let pattern = word + word + word + word
        let places = (0..<(bytes.count - 32)).filter { bytes[$0] == 3 && Array(bytes[$0..<$0 + 32]) == pattern }
        let place = try #require(places.first)
        try Files.flip(directory.path("data.mdb"), at: place + 9)
        try RawState.crash(directory.path)
        let store = try Self.open(directory)
        let count = try Self.expectWhole(store, "torn")
        #expect(count == 215 || count == 216)
        #expect(Files.exists(directory.path("data.mdb.damaged")) == (count == 215))
    }

    @Test(
        "a file cut short at any length is salvaged or begun anew",
        arguments: [0, 1, 100, 4_095, 4_096, 8_192, 12_288, 50_000, 200_001])
    func truncated(size: Int) throws {
        let directory = try Self.filled()
        try Files.truncate(directory.path("data.mdb"), to: size)
        let store = try Self.open(directory)
        try Self.expectWhole(store, "cut to \(size)")
    }

    @Test("a file cut before the newest root gives what the commit before it held")
    func truncatedRoot() throws {
        // Of each meta page: where the main tree's root is, and its transaction.
        func metas(_ path: String) throws -> [(root: UInt64, transaction: UInt64)] {
            let bytes = try Files.read(path)
            return [0, 4_096].map { (bytes.integer(at: $0 + 128), bytes.integer(at: $0 + 144)) }
        }
        let directory = try TemporaryDirectory()
        let data = directory.path("data.mdb")
        var count = 0
        var cut: UInt64?
        do {
            let store = try Store(directory.path)
            let bucket = try store.bucket("one")
            while cut == nil, count < 200 {  // until the newest root is the last one in the file
                #expect(bucket.set([UInt8(count % 8)], "\(count / 8)") == .ok)
                count += 1
                let (even, odd) = (try metas(data)[0], try metas(data)[1])
                let (older, newer) = even.transaction < odd.transaction ? (even, odd) : (odd, even)
                if count >= 16, newer.root > older.root { cut = newer.root }
            }
        }
        try Files.truncate(data, to: Int(try #require(cut)) * 4_096)
        let store = try Store(directory.path)
        let bucket = try store.bucket("one")
        for number in count - 9..<count - 1 { #expect(bucket.get([UInt8(number % 8)]) == .text("\(number / 8)")) }
        store.expectSound()
    }

    @Test("the file that was salvaged from stays for a day, or until a compaction")
    func keptForADay() throws {
        for compacts in [false, true] {
            let directory = try Self.filled()
            let damaged = directory.path("data.mdb.damaged")
            try Files.flip(directory.path("data.mdb"), at: 16)
            do { try Self.expectWhole(Self.open(directory), "salvaged") }
            #expect(Store.statusOfOpening(directory.path) == .ok && Files.exists(damaged))
            let before = try Self.open(directory).statistics().disk_bytes
            if compacts {
                let store = try Self.open(directory)
                #expect(hnk_store_compact(store.raw, nil, nil) == .ok)
            } else {
                let old = Date(timeIntervalSinceNow: -86_401)
                try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: damaged)
                #expect(Store.statusOfOpening(directory.path) == .ok)
            }
            #expect(!Files.exists(damaged))
            #expect(try Self.open(directory).statistics().disk_bytes < before)
        }
    }

    @Test("a salvage that was killed begins anew, from the file that it had set aside", arguments: 0..<4)
    func killedSalvage(kind: Int) throws {
        let directory = try Self.filled()
        let (data, salvaging) = (directory.path("data.mdb"), directory.path("data.mdb.salvaging"))
        if kind == 0 { try Files.flip(data, at: 16) }
        try FileManager.default.moveItem(atPath: data, toPath: salvaging)
        switch kind {
        case 0: break
        case 1: try Files.write([], to: data)
        case 2: try Files.write(sample(4_096), to: data)
        default:
            let part = try TemporaryDirectory()
            #expect(try Store(part.path).bucket("one").set(Self.key(1), "another value") == .ok)
            try Files.copy(part.path("data.mdb"), to: data)
        }
        #expect(Store.statusOfOpening(directory.path) { $0.flags = HNK_STORE_MUST_EXIST } == .ok)
        let store = try Self.open(directory)
        let count = try Self.expectWhole(store, "kind \(kind)")
        #expect(kind == 0 || count == 2 * 108)
        #expect(!Files.exists(salvaging) && Files.exists(directory.path("data.mdb.damaged")) == (kind == 0))
    }

    @Test("random damage: no signal, no wrong byte, a sound store afterwards", arguments: seeds)
    func random(seed: UInt64) throws {
        let directory = try Self.filled()
        let path = directory.path("data.mdb")
        let size = Files.size(path)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let page = Int.random(in: 0..<size / 4_096, using: &generator) * 4_096
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: try Files.flip(path, at: page + Int.random(in: 0..<4_096, using: &generator))
            case 1: try Files.flip(path, at: page + Int.random(in: 0..<40, using: &generator))
            case 2: try Files.patch(path, at: page, { $0 = [UInt8](repeating: 0, count: 4_096) }, count: 4_096)
            case 3:
                let garbage = sample(4_096, seed: generator.next())
                try Files.patch(path, at: page, { $0 = garbage }, count: 4_096)
            default:
                // A page in another's place, as a lost write leaves it.
                let other = try Files.read(path)
                let from = Int.random(in: 0..<size / 4_096, using: &generator) * 4_096
                try Files.patch(path, at: page, { $0 = Array(other[from..<from + 4_096]) }, count: 4_096)
            }
        }
        if Bool.random(using: &generator) { try RawState.crash(directory.path) }
        let store = try Self.open(directory)
        try Self.expectWhole(store, "seed \(seed)")
    }

    @Test("rows that a hand from outside removed or changed cost at most their bucket", arguments: 0..<6)
    func rows(kind: Int) throws {
        let directory = try Self.filled()
        try RawRows.edit(directory.path) { rows in
            let (buckets, names) = (rows.all(table: 1), rows.all(table: 2))
            switch kind {
            case 0: rows.delete(names[0].name)
            case 1: rows.delete(buckets[0].name)
            case 2: rows.put(buckets[0].name, [1, 2, 3])
            case 3: rows.put(names[0].name, [9])
            case 4: rows.put(names[0].name, names[1].row)
            default: rows.delete(rows.all(table: 0)[0].name)
            }
        }
        let store = try Self.open(directory)
        let count = try Self.expectWhole(store, "kind \(kind)")
        #expect(count >= 108)
        #expect(Set(store.bucketNames()) == ["one", "two"])
        // What no bucket holds any more takes no room either.
        let held = store.statistics().entries
        #expect(try RawRows.all(directory.path).of(table: 4).count == Int(held))
    }

    @Test("a salvaged store has its settings, and its counts are those of what is left")
    func settings() throws {
        let directory = try Self.filled()
        try RawRows.edit(directory.path) { rows in
            let record = rows.all(table: 4)[10]
            rows.put(record.name, [1, 2, 3])
        }
        try RawState.crash(directory.path)
        let store = try Self.open(directory)
        #expect(Files.exists(directory.path("data.mdb.damaged")))
        for name in ["one", "two"] {
            let bucket = try store.bucket(name)
            #expect(bucket.settings().capacity_bytes == 10_000_000)
            #expect(bucket.statistics().entries == (name == "one" ? 107 : 108))
        }
        store.expectSound()
    }
}
