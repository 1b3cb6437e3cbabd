import CHaneke
import Foundation
import Synchronization
import TestSupport
import Testing

/// The second order of eviction.
@Suite struct SieveTests {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    private static func bucket(_ store: Store, entriesMax: UInt64 = 0, _ order: hnk_eviction = .sieve) throws -> Bucket
    {
        try store.bucket {
            $0.fields = HNK_FIELD_EVICTION | HNK_FIELD_ENTRIES
            $0.eviction = order.rawValue
            $0.entries_max = entriesMax
        }
    }

    private static func setOrder(_ order: hnk_eviction, of bucket: Bucket) {
        let status = bucket.configure {
            $0.fields = HNK_FIELD_EVICTION
            $0.eviction = order.rawValue
        }
        #expect(status == .ok)
    }

    /// The keys in order of insertion, as they stand in the file.
    private static func inserted(_ directory: TemporaryDirectory) throws -> [String] {
        let slots = try RawSlots(directory.path)
        return slots.inserted.map { String(decoding: slots.key($0), as: UTF8.self) }
    }

    private static func close(_ bucket: consuming Bucket, _ store: consuming Store) throws {}

    @Test("the hand goes from the oldest to the newest, spares what was read once, and takes the first that was not")
    func hand() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let bucket = try Self.bucket(store, entriesMax: 4)
        for key in ["a", "b", "c", "d"] { #expect(bucket.set(key, "1") == .ok) }
        #expect(bucket.get("a") == .text("1") && bucket.get("c") == .text("1"))
        let steps = [
            ("e", ["a", "c", "d", "e"]), ("f", ["a", "c", "e", "f"]), ("g", ["a", "c", "f", "g"]),
            ("h", ["a", "c", "g", "h"]),
        ]
        for (key, left) in steps {
            #expect(bucket.set(key, "1") == .ok)
            #expect(bucket.texts() == left, "after \(key)")
        }
        #expect(try Self.inserted(directory) == ["a", "c", "g", "h"])
        #expect(bucket.remove("g") == .ok && bucket.remove("h") == .ok)
        // The hand was at the newest: it begins again at the oldest.
        for key in ["i", "j", "k"] { #expect(bucket.set(key, "1") == .ok) }
        #expect(bucket.texts() == ["c", "i", "j", "k"])
        #expect(bucket.statistics().evictions == 5)
        store.expectSound()
    }

    @Test("gets, touches and sets of a key that is there count as reads; peeks and quiet gets do not")
    func visits() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let bucket = try Self.bucket(store, entriesMax: 5)
        for key in ["get", "peek", "quiet", "set", "touch"] { #expect(bucket.set(key, "1") == .ok) }
        #expect(bucket.get("get") == .text("1") && bucket.get("quiet", HNK_GET_QUIET) == .text("1"))
        #expect(bucket.peek("peek").status == .ok && bucket.touch("touch") == .ok && bucket.set("set", "2") == .ok)
        #expect(try Self.inserted(directory) == ["get", "peek", "quiet", "set", "touch"])
        #expect(bucket.set("x", "1") == .ok && bucket.set("y", "1") == .ok)
        #expect(bucket.texts() == ["get", "set", "touch", "x", "y"])
        store.expectSound()
    }

    @Test("a scan throws out what is read again with LRU, and not with SIEVE", arguments: [true, false])
    func scan(isSieve: Bool) throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let bucket = try Self.bucket(store, entriesMax: 100, isSieve ? .sieve : .leastRecentlyUsed)
        let hot = (0..<50).map { "hot \($0)" }
        for key in hot { #expect(bucket.set(key, "1") == .ok) }
        var misses = 0
        for round in 0..<5 {
            for key in hot where bucket.get(key) != .text("1") {
                misses += 1
                #expect(bucket.set(key, "1") == .ok)
            }
            try store.setAll(
                (0..<200).map { (Array("scan \(round) \($0)".utf8), [1]) }, in: bucket)
        }
        #expect(misses == (isSieve ? 0 : 4 * 50))
        store.expectSound()
    }

    @Test("a bucket that changes to SIEVE lists its entries as they were written last, and goes back to LRU")
    func switched() throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let bucket = try Self.bucket(store, entriesMax: 6, .leastRecentlyUsed)
        for key in ["a", "b", "c", "d", "e", "f"] { #expect(bucket.set(key, "1") == .ok) }
        #expect(bucket.set("b", "2") == .ok && bucket.get("a") == .text("1"))
        Self.setOrder(.sieve, of: bucket)
        store.expectSound()
        #expect(bucket.settings().eviction == hnk_eviction.sieve.rawValue)
        #expect(try Self.inserted(directory) == ["a", "c", "d", "e", "f", "b"])
        #expect(bucket.set("g", "1") == .ok)
        #expect(bucket.texts() == ["a", "b", "d", "e", "f", "g"])
        Self.setOrder(.leastRecentlyUsed, of: bucket)
        #expect(bucket.texts(.byAccess) == ["d", "e", "f", "b", "a", "g"])
        #expect(bucket.set("h", "1") == .ok && bucket.remove("f") == .ok && bucket.set("c", "1") == .ok)
        store.expectSound()
        Self.setOrder(.sieve, of: bucket)
        #expect(try Self.inserted(directory) == ["a", "e", "b", "g", "h", "c"])
        store.expectSound()
        try Self.close(consume bucket, consume store)
        let again = try Store(directory.path)
        #expect(try again.bucket().settings().eviction == hnk_eviction.sieve.rawValue)
        again.expectSound()
    }

    // MARK: Damage

    /// Ten entries, of which two have gone, and one replaced; closed.
    private static func filled() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let bucket = try bucket(Store(directory.path), entriesMax: 12)
        for number in 0..<10 { #expect(bucket.set("k\(number)", "v\(number)") == .ok) }
        #expect(bucket.remove("k4") == .ok && bucket.remove("k8") == .ok && bucket.set("k2", "v2") == .ok)
        return directory
    }

    static let damage: [(name: String, body: @Sendable (RawSlots, String) throws -> Void)] = {
        func link(_ name: String, of number: Int, at offset: Int, _ link: @escaping @Sendable (RawSlots) -> UInt32)
            -> (String, @Sendable (RawSlots, String) throws -> Void)
        {
            (
                name,
                { slots, path in
                    try RawSlots.changeCell(slots.inserted[number], path) { $0.set(link(slots), at: offset) }
                }
            )
        }
        func count(_ name: String, at offset: Int, _ link: @escaping @Sendable (RawSlots) -> UInt32)
            -> (String, @Sendable (RawSlots, String) throws -> Void)
        {
            (name, { slots, path in try RawSlots.changeCounts(path) { $0.set(link(slots), at: offset) } })
        }
        return [
            link("ends early", of: 3, at: 12) { _ in 0 },
            link("leads to itself", of: 3, at: 12) { UInt32($0.inserted[3]) + 1 },
            link("leads back", of: 5, at: 12) { UInt32($0.inserted[1]) + 1 },
            link("leads past the slots", of: 3, at: 12) { _ in 77_777 },
            link("leads to a free cell", of: 3, at: 12) { UInt32($0.slots(RawSlots.free)[0]) + 1 },
            link("leaves one out", of: 3, at: 12) { UInt32($0.inserted[5]) + 1 },
            link("does not lead back", of: 3, at: 8) { _ in 0 },
            link("leads back past the slots", of: 3, at: 8) { _ in .max },
            link("goes on after the newest", of: 7, at: 12) { UInt32($0.inserted[2]) + 1 },
            count("no oldest", at: 96) { _ in 0 },
            count("another oldest", at: 96) { UInt32($0.inserted[2]) + 1 },
            count("no newest", at: 100) { _ in 0 },
            count("another newest", at: 100) { UInt32($0.inserted[2]) + 1 },
            count("hand at a free cell", at: 104) { UInt32($0.slots(RawSlots.free)[0]) + 1 },
            count("hand past the slots", at: 104) { _ in 500 },
        ]
    }()

    @Test(
        "verify finds a list that does not hold together, and the next write makes it anew", arguments: damage.indices)
    func found(kind: Int) throws {
        let directory = try Self.filled()
        try Self.damage[kind].body(RawSlots(directory.path), directory.path)
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        let (status, found) = store.verify()
        #expect(status == .damaged && found.slot_faults == 1, "\(Self.damage[kind].name): \(found.words)")
        #expect(bucket.set("new", "1") == .ok)
        store.expectSound("\(Self.damage[kind].name)")
        #expect(try Self.inserted(directory) == ["k0", "k1", "k3", "k5", "k6", "k7", "k9", "k2", "new"])
        for number in [0, 1, 2, 3, 5, 6, 7, 9] { #expect(bucket.get("k\(number)") == .text("v\(number)")) }
    }

    @Test("writers that meet a list that does not hold together make it anew", arguments: damage.indices)
    func met(kind: Int) throws {
        let directory = try Self.filled()
        try Self.damage[kind].body(RawSlots(directory.path), directory.path)
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        for number in 10..<60 {
            #expect(bucket.set("k\(number)", "v\(number)") == .ok, "\(Self.damage[kind].name)")
            #expect(bucket.statistics().entries <= 12)
            if number % 5 == 0 { #expect(bucket.remove("k\(number)") == .ok) }
        }
        // The hand goes all round.
        let status = bucket.configure {
            $0.fields = HNK_FIELD_ENTRIES
            $0.entries_max = 2
        }
        #expect(status == .ok && bucket.statistics().entries == 2, "\(Self.damage[kind].name)")
        store.expectSound("\(Self.damage[kind].name)")
    }

    @Test("the list that a killed writer left half done is made anew, whatever stands there")
    func killed() throws {
        let directory = try Self.filled()
        let slots = try RawSlots(directory.path)
        for slot in slots.inserted.prefix(4) {
            try RawSlots.changeCell(slot, directory.path) { $0.replaceSubrange(8..<16, with: sample(8)) }
        }
        try Files.patch(RawSlots.path(directory.path), at: 72) { $0.set(UInt64(1), at: 0) }
        try RawState.kill(directory.path)
        let store = try Store(directory.path)
        let bucket = try store.bucket()
        store.expectSound()
        #expect(try Self.inserted(directory) == ["k0", "k1", "k3", "k5", "k6", "k7", "k9", "k2"])
        #expect(bucket.get("k0") == .text("v0"))
        for number in 10..<16 { #expect(bucket.set("k\(number)", "1") == .ok) }
        // k0 has been read, k2 set again.
        #expect(try Self.inserted(directory).prefix(7) == ["k0", "k5", "k6", "k7", "k9", "k2", "k10"])
        store.expectSound()
    }

    @Test("readers beside a writer that evicts: nothing wrong is read, and the list holds")
    func readers() async throws {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let bucket = try Self.bucket(store, entriesMax: 64)
        let isDone = Flag()
        let reading = (1...2).map { seed in
            { @Sendable in
                var generator = SeededGenerator(seed: UInt64(seed))
                while !isDone.isSet.load(ordering: .relaxed) {
                    let number = UInt8.random(in: 0..<128, using: &generator)
                    let answer = bucket.get([number])
                    #expect(answer == .value([number]) || answer == .status(.notFound))
                }
            }
        }
        let writing = { @Sendable in
            var generator = SeededGenerator(seed: 3)
            for step in 0..<3_000 {
                let number = UInt8.random(in: 0..<128, using: &generator)
                if step % 7 == 0 {
                    let status = bucket.remove([number])
                    #expect(status == .ok || status == .notFound)
                } else {
                    #expect(bucket.set([number], [number]) == .ok)
                }
                if step % 500 == 0 { store.expectSound() }
            }
            isDone.isSet.store(true, ordering: .relaxed)
        }
        await onThreads(reading + [writing])
        store.expectSound()
        #expect(bucket.statistics().entries <= 64)
    }
}
