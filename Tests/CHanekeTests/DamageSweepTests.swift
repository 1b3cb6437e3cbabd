import CHaneke
import Foundation
import TestSupport
import Testing

/// Damage in bulk, done and met by Tests/PlainC/damaged: a signal or a hang ends that program, which names its trial.
///
/// What must hold after each: only statuses, misses and right bytes; a write and verify put the rest in order.
@Suite(.enabled(if: Child.damaged.isAvailable, "needs a C compiler"))
struct DamageSweepTests {
    private static let isLong = ProcessInfo.processInfo.environment["HANEKE_LONG"] != nil
    private static let seeds: [UInt64] = isLong ? [1, 2, 3, 4, 5, 6, 7, 8] : [1, 2]

    private static func run(_ arguments: any CustomStringConvertible...) throws {
        let directory = try TemporaryDirectory()
        let words = arguments.map(\.description)
        let (status, output) = try Child.damaged.run([words[0], directory.path] + words.dropFirst())
        #expect(status == 0, "damaged \(words): \(output)")
    }

    /// The step is prime, so that the places differ from file to file; 1 is every byte and takes minutes.
    @Test("a byte of any file may change while the store is closed", arguments: isLong ? [0, 1, 2, 3] : [0, 30])
    func flips(first: Int) throws {
        try Self.run("flips", first, Self.isLong ? 11 : 79)
    }

    @Test("any file may be cut at any page, or inside it")
    func cuts() throws {
        try Self.run("cuts", 0, Self.isLong ? 1 : 2)
    }

    @Test("a store of some MiB may lose pages and bits all over", arguments: seeds)
    func large(seed: UInt64) throws {
        try Self.run("large", seed, Self.isLong ? 150 : 15)
    }

    @Test(
        "after a crash of the system no byte is served that was never set for its key; the strict policy serves none",
        arguments: seeds)
    func lost(seed: UInt64) throws {
        try Self.run("lost", seed, Self.isLong ? 1_500 : 150)
    }

    @Test("files beside data.mdb may be of another moment than it, torn or missing", arguments: seeds)
    func mixed(seed: UInt64) throws {
        try Self.run("mixed", seed, Self.isLong ? 300 : 40)
    }

    /// The things that foreign.c knows, in its order.
    private static let things = [
        "a folder", "a folder with a file", "a text", "an empty file", "another program's LMDB file",
        "another program's named database", "a pipe", "a link to a text", "a dangling link", "a link to itself",
        "a link to /dev/zero", "a link to what was there",
    ]

    @Test("something else may stand under each of a store's names: it is refused or replaced", arguments: things)
    func foreign(thing: String) throws {
        let number = try #require(Self.things.firstIndex(of: thing))
        try Self.run("foreign", number)
    }
}
