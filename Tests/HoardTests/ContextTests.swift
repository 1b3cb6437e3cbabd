import Foundation
import TestSupport
import Testing

@testable import Hoard

@Suite("Contexts")
struct ContextTests {
    @Test("T-017: both spellings put and get, in memory and on disk", arguments: Place.allCases)
    func spellings(place: Place) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        #expect(context.validFor == 3_600)
        context.put("somekey", "value", validFor: 60)
        context.put(key: "other", value: 1)
        let result: String? = context.get("somekey")
        #expect(result == "value")
        #expect(context.get(key: "other") == 1)
        #expect(context.contains("other"))
        #expect(try #require(context.info("somekey")).validFor == 60)
        #expect(context.remove(Key.from("somekey")) == 1)
        #expect(!context.contains("somekey"))
    }

    @Test(
        "T-018, T-019: a life comes from the call, else from the nearest context, and is fixed at the put",
        arguments: Place.allCases)
    func lives(place: Place) throws {
        let directory = try TemporaryDirectory()
        let time = ManualClock()
        let context = try place.make(in: directory, clock: time.clock)
        context.validFor = 100
        context.put("a/x", 1)
        context.put("a/short", 1, validFor: 10)
        let branch = try #require(try context.value(for: "a", as: (any Context).self))
        #expect(branch.validFor == 100)
        branch.validFor = 50
        branch.put("y", 2)
        context.put("a/b/z", 3)
        context.validFor = 1
        time.advance(20)
        #expect(context.keys().map(\.description) == ["a/b/z", "a/x", "a/y"])
        time.advance(40)
        #expect(context.keys().map(\.description) == ["a/x"])
        time.advance(40)
        #expect(context.keys().isEmpty)
    }

    @Test("T-019: a mounted context inherits from where it is mounted unless it has a life of its own")
    func mountedLives() throws {
        let (outer, inner) = (MemoryContext(), MemoryContext())
        outer.validFor = 77
        outer.put("in", inner)
        #expect(inner.validFor == 77)
        outer.put("in/a", 1)
        #expect(inner.info("a")?.validFor == 77)
        inner.validFor = 5
        outer.put("in/b", 1)
        #expect(outer.info("in/b")?.validFor == 5)
    }

    @Test("T-020: no life is expired from the start, an endless one never ends", arguments: Place.allCases)
    func edges(place: Place) throws {
        let directory = try TemporaryDirectory()
        let time = ManualClock()
        let context = try place.make(in: directory, clock: time.clock)
        context.put("zero", 1, validFor: 0)
        context.put("nan", 1, validFor: .nan)
        context.put("ever", 1, validFor: .infinity)
        context.put("long", 1, validFor: 1e9)
        #expect(context.children() == ["ever", "long"])
        #expect(context.clean() == 2)
        time.advance(1e12)
        #expect(context.children() == ["ever"])
        #expect(context.clean(deep: true) == 1)
    }

    @Test("T-021: a node has a value and descendants at once", arguments: Place.allCases)
    func both(place: Place) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        context.put("a", 1)
        context.put("a/b", 2)
        #expect(context.get("a") == 1)
        let branch = try #require(try context.value(for: "a", as: (any Context).self))
        #expect(branch.get("b") == 2)
    }

    @Test(
        "T-022: mounting keeps the leaf, replaces the branch, refuses cycles; removing unmounts",
        arguments: Place.allCases)
    func mounting(place: Place) throws {
        let directory = try TemporaryDirectory()
        let (context, inner) = (try place.make(in: directory), MemoryContext())
        context.put("m", 1)
        context.put("m/old", 2)
        context.put("m", inner)
        #expect(context.get("m") == 1)
        #expect(context.keys().map(\.description) == ["m"])
        context.put("m/new", 3)
        #expect(inner.get("new") == 3)
        let mounted: MemoryContext? = context.get("m")
        #expect(mounted === inner)
        #expect(throws: TreeError.cycle) { try inner.setValue(context, for: "up") }
        #expect(throws: TreeError.cycle) { try inner.setValue(inner, for: "self") }
        #expect(context.remove("m") == 1)
        #expect(inner.get("new") == 3)
        #expect(context.children() == [])
    }

    @Test("T-023: the longest mounted prefix owns a key; memory is left alone")
    func routing() throws {
        let directory = try TemporaryDirectory()
        let cache = TreeCache()
        let disk = try DiskContext(dirUrl: URL(fileURLWithPath: directory.path("d")))
        let deep = MemoryContext()
        cache.put("img", disk)
        cache.put("img/deep/er", deep)
        cache.put("img/x", "on disk")
        cache.put("img/deep/er/y", "deep")
        #expect(disk.get("x") == "on disk")
        #expect(deep.get("y") == "deep")
        #expect(cache.nodeCount == 1)
        #expect(cache.keys().map(\.description) == ["img/deep/er/y", "img/x"])
        #expect(cache.keys(limit: 1, after: "img/deep/er/y".asKey()).map(\.description) == ["img/x"])
        #expect(cache.children(of: "img") == ["deep", "x"])
    }

    @Test("T-024: nil removes the leaf alone, an optional is stored unwrapped", arguments: Place.allCases)
    func optionals(place: Place) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        context.put("k", Optional("x"))
        #expect(context.get("k") == "x")
        context.put("k/below", 1)
        context.put("k", nil as String?)
        #expect(!context.contains("k"))
        #expect(context.get("k/below") == 1)
    }

    @Test("T-025, T-026: another type reads nil, alters nothing and is no use", arguments: Place.allCases)
    func types(place: Place) throws {
        let directory = try TemporaryDirectory()
        let time = ManualClock()
        let context = try place.make(in: directory, clock: time.clock)
        context.put("k", 1)
        time.advance(10)
        let wrong: Double? = context.get("k")
        #expect(wrong == nil)
        let before = try #require(context.info("k"))
        #expect(before.accessed == before.created)
        let untyped: (any Sendable)? = context.get("k")
        #expect(untyped as? Int == 1)
        let after = try #require(context.info("k"))
        #expect(abs(after.accessed.timeIntervalSince(after.created) - 10) < 0.01)
    }

    @Test("T-027: 10,000 missing reads make no node")
    func reading() {
        let context = MemoryContext()
        context.put("a/b", 1)
        let before = context.nodeCount
        for number in 0..<10_000 {
            let missing: Int? = context.get("a/\(number)/x")
            #expect(missing == nil)
        }
        #expect(context.nodeCount == before)
    }

    @Test("T-028: cleaning spares an entry that replaced an expired one", arguments: Place.allCases)
    func replaced(place: Place) throws {
        let directory = try TemporaryDirectory()
        let time = ManualClock()
        let context = try place.make(in: directory, clock: time.clock)
        context.put("k", 1, validFor: 1)
        time.advance(2)
        #expect(!context.contains("k"))
        context.put("k", 2, validFor: 1)
        #expect(context.clean() == 0)
        #expect(context.get("k") == 2)
    }

    @Test("T-029: a view of a pruned branch reads as empty, and writing makes it again", arguments: Place.allCases)
    func views(place: Place) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        #expect(try context.value(for: "a", as: (any Context).self) == nil)
        context.put("a/b", 1)
        let view = try #require(try context.value(for: "a", as: (any Context).self))
        context.remove("a")
        #expect(view.children() == [])
        view.put("c", 2)
        #expect(context.get("a/c") == 2)
    }

    @Test("T-034: a clock set back expires nothing in memory; on disk what is from the future is over")
    func clocks() throws {
        let directory = try TemporaryDirectory()
        for place in Place.allCases {
            let time = ManualClock()
            let context = try place.make(in: directory, clock: time.clock)
            context.put("k", 1)
            time.setWall(by: -59)
            #expect(context.contains("k"))
            time.setWall(by: -2)
            #expect(context.contains("k") == (place == .memory))
        }
    }

    @Test("T-035, T-037: remove takes leaf and subtree, not siblings that share a prefix", arguments: Place.allCases)
    func removing(place: Place) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        let kept = MemoryContext()
        for key in ["users/1", "users/1/a", "users/12", "users/1\u{0}"] { context.put(key, 1) }
        context.put("users/1/m", kept)
        context.put("users/1/m/x", 1)
        #expect(context.remove("users/1") == 2)
        #expect(context.remove("users/1") == 0)
        #expect(kept.contains("x"))
        #expect(context.children(of: "users") == ["1\u{0}", "12"])
        context.put("m", kept)
        #expect(context.remove("m", clearingMounts: true) == 1)
        #expect(!kept.contains("x"))
    }

    @Test(
        "T-038: clear empties a view and keeps its life; clean takes what is over, deep what is unread",
        arguments: Place.allCases)
    func cleaning(place: Place) throws {
        let directory = try TemporaryDirectory()
        let time = ManualClock()
        let context = try place.make(in: directory, clock: time.clock)
        context.put("a/read", 1, validFor: 100)
        context.put("a/unread", 1, validFor: 100)
        context.put("b/short", 1, validFor: 10)
        context.put("ever", 1, validFor: .infinity)
        time.advance(40)
        #expect(context.get("a/read") == 1)
        time.advance(20)
        let view = try #require(try context.value(for: "a", as: (any Context).self))
        #expect(view.clean() == 0)
        #expect(context.clean() == 1)
        #expect(context.clean(deep: true) == 1)
        #expect(context.children() == ["a", "ever"])
        view.validFor = 7
        #expect(view.clear() == 1)
        #expect(view.validFor == 7)
        #expect(context.children() == ["ever"])
    }

    @Test("T-039: children are names, each once, in byte order; keys come in pages", arguments: Place.allCases)
    func looking(place: Place) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        for number in 0..<600 { context.put("b/\(number)", number) }
        for key in ["a", "b", "ä/x", "B/x/y"] { context.put(key, key) }
        context.put("gone/x", 1, validFor: 0)
        #expect(context.children() == ["B", "a", "b", "ä"])
        #expect(context.children(of: "missing") == [])
        #expect(context.children(ofType: String.self).map(\.name) == ["a", "b"])
        var seen: [Key] = []
        while case let page = context.keys(under: "b", limit: 100, after: seen.last), !page.isEmpty { seen += page }
        #expect(seen.count == 601)
        #expect(Set(seen).count == 601)
    }

    @Test("T-046: the shared cache is one, others are their own")
    func shared() {
        #expect(TreeCache.shared === Hoard.Cache.shared)
        #expect(TreeCache() !== TreeCache.shared)
    }

    @Test("T-047: events tell what happened, to those who listen")
    func events() async {
        let context = MemoryContext()
        var events = context.events.makeAsyncIterator()
        context.put("a", 1)
        context.put("m", MemoryContext())
        context.remove("a")
        context.put(Key.invalid, 1)
        var seen: [ContextEvent] = []
        for _ in 0..<4 { if let event = await events.next() { seen.append(event) } }
        #expect(seen == [.put("a".asKey()), .mounted("m".asKey()), .removed(1), .refused(.invalidKey)])
    }

    @Test("T-045: a bounded memory keeps what was read last; a notice of pressure drops what is unread")
    func bounds() throws {
        let time = ManualClock()
        let context = MemoryContext(maxCount: 10, clock: time.clock)
        for number in 0..<10 {
            context.put("\(number)", number)
            time.advance(1)
        }
        #expect(context.get("0") == 0)
        time.advance(1)
        context.put("new", 1)
        #expect(context.children() == ["0", "3", "4", "5", "6", "7", "8", "9", "new"])
        time.advance(59.5)
        #expect(context.get("0") == 0)
        time.advance(1)
        #expect(context.relieveMemoryPressure() == 8)
        #expect(context.children() == ["0"])
        let small = MemoryContext(maxCost: 10)
        #expect(throws: TreeError.tooLarge(bytes: 11, maxBytes: 10)) {
            try small.setValue(String(repeating: "x", count: 11), for: "k")
        }
    }
}
