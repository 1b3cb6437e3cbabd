import Foundation
import HanekeStorage
import TestSupport
import Testing

@testable import Hoard

@Suite("Disk contexts")
struct DiskTests {
    private struct User: Codable, Equatable, Sendable { var name: String }
    private struct Other: Codable, Sendable { var name: String }
    private struct Opaque: Sendable {}
    private struct Picture: Persistable, Equatable {
        let bytes: Data
        init?(data: Data) { bytes = data }
        func asData() -> Data { bytes }
    }

    private func url(_ directory: TemporaryDirectory) -> URL { URL(fileURLWithPath: directory.path("tree")) }

    @Test("T-003, T-040: each kind reads back as itself after a restart, and as no other type")
    func kinds() throws {
        let directory = try TemporaryDirectory()
        let picture = try #require(Picture(data: Data([1, 2])))
        let place = try #require(URL(string: "http://h/a"))
        do {
            let context = try DiskContext(dirUrl: url(directory))
            context.put("data", Data([1])); context.put("text", "é"); context.put("bytes", [UInt8]([2]))
            context.put("bool", true); context.put("int", -5); context.put("u8", UInt8(7))
            context.put("double", 1.5); context.put("date", Date(timeIntervalSince1970: 5))
            context.put("url", place); context.put("picture", picture); context.put("user", User(name: "n"))
            try context.flush()
        }
        let context = try DiskContext(dirUrl: url(directory))
        #expect(context.get("data") == Data([1]))
        #expect(context.get("text") == "é")
        #expect(context.get("bytes") == [UInt8]([2]))
        #expect(context.get("bool") == true)
        #expect(context.get("int") == -5)
        #expect(context.get("u8") == UInt8(7))
        #expect(context.get("double") == 1.5)
        #expect(context.get("date") == Date(timeIntervalSince1970: 5))
        #expect(context.get("url") == place)
        #expect(context.get("picture") == picture)
        #expect(context.get("user") == User(name: "n"))
        let other: Other? = context.get("user")
        #expect(other == nil)
        let number: Double? = context.get("int")
        #expect(number == nil)
        #expect(context.get("text") == Data("é".utf8))
        let fromText: Picture? = context.get("text")
        #expect(fromText?.bytes == Data("é".utf8))
        let permissions = try FileManager.default.attributesOfItem(atPath: directory.path("tree"))[.posixPermissions]
        #expect(permissions as? Int == 0o700)
        #expect(throws: TreeError.self) { try DiskContext(dirUrl: URL(fileURLWithPath: "/dev/null/x")) }
    }

    @Test("T-041: what can't be kept throws, and an older value goes")
    func notPersistable() throws {
        let directory = try TemporaryDirectory()
        let context = try DiskContext(dirUrl: url(directory))
        context.put("k", 1)
        #expect(throws: TreeError.notPersistable("Opaque")) { try context.setValue(Opaque(), for: "k") }
        #expect(!context.contains("k"))
    }

    @Test("T-008, T-043: odd, long and mixed-case names are distinct and safe")
    func names() throws {
        let directory = try TemporaryDirectory()
        let context = try DiskContext(dirUrl: url(directory))
        let long = String(repeating: "x", count: 1_000)
        let keys = [
            Key.from(".."), Key.from("a/b"), Key.from("a", "b"), Key.from("\u{0}"), Key.from("A"), Key.from("a"),
            Key.from(long, "a"), Key.from(long, "b"), Key.from(long, long, "c"), Key.from(""),
        ]
        for (number, key) in keys.enumerated() { context.put(key, number) }
        for (number, key) in keys.enumerated() { #expect(context.get(key) == number) }
        #expect(context.children(of: Key.from(long)) == ["a", "b", long])
        #expect(context.remove(Key.from(long)) == 3)
        #expect(context.keys().count == keys.count - 3)
    }

    @Test("T-036: a prune is whole to readers from its first step, and goes on after a kill")
    func pruning() throws {
        let directory = try TemporaryDirectory()
        let place = url(directory).path
        do {
            let context = try DiskContext(dirUrl: url(directory))
            try context.batch { batch in
                for number in 0..<3_000 { try batch.put("big/\(number)", number) }
                try batch.put("bigger", 1)
            }
            let shelf = context.space.shelf
            var steps = 0
            let prefix = Key.from("big").encoded
            let removed = try shelf.prune(prefix: prefix, keepsKey: false) {
                // What was written after the mark is there.
                #expect(context.keys().map(\.description) == (steps == 0 ? ["bigger"] : ["big/2999", "bigger"]))
                context.put("big/0", "new")
                context.put("big/2999", "new")
                steps += 1
                context.remove("big/0")
                return steps < 2
            }
            #expect(removed == 1_000)
            #expect(context.keys().map(\.description) == ["big/2999", "bigger"])
        }
        #expect(try DiskStore(directory: place).bucket(named: "tree.prunes").entries().count == 1)
        let context = try DiskContext(dirUrl: url(directory))
        #expect(context.keys().map(\.description) == ["big/2999", "bigger"])
        context.space.shelf.waitForResumedPrunes()
        #expect(try context.space.shelf.entries.statistics().entries == 2)
        #expect(try context.space.shelf.marks.look().isEmpty)
    }

    @Test("T-042: two contexts on a directory share it")
    func sharing() throws {
        let directory = try TemporaryDirectory()
        let (one, two) = (try DiskContext(dirUrl: url(directory)), try DiskContext(dirUrl: url(directory)))
        one.put("k", 1)
        #expect(two.get("k") == 1)
        #expect(one.space.shelf === two.space.shelf)
    }

    @Test("T-044: over the quota what is expired goes, then what was read least recently; too large is refused")
    func quota() throws {
        let directory = try TemporaryDirectory()
        let context = try DiskContext(dirUrl: url(directory), maxBytes: 200_000)
        context.put("over", Data(count: 20_000), validFor: 0)
        for number in 0..<30 {
            context.put("\(number)", Data(count: 20_000))
            #expect(try context.space.shelf.entries.statistics().bytes <= 200_000)
        }
        #expect(context.contains("29"))
        #expect(!context.contains("0"))
        let before = context.children()
        #expect(throws: TreeError.self) { try context.setValue(Data(count: 200_001), for: "huge") }
        #expect(context.children() == before)
    }
}
