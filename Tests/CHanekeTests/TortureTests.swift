import Foundation
import TestSupport
import Testing

/// Programs of Tests/PlainC that check themselves, at random moments and at once; each says what it did.
@Suite(.serialized, .enabled(if: Child.kills.isAvailable && Child.torture.isAvailable, "needs a C compiler"))
struct TortureTests {
    private static let isLong = ProcessInfo.processInfo.environment["HANEKE_LONG"] != nil
    private static let rounds = isLong ? 1_000 : 50
    private static let operations = isLong ? 4_000 : 300

    /// The last number that a program wrote.
    private static func number(_ output: String) -> Int? {
        output.split(separator: "\n").last.flatMap { Int($0) }
    }

    @Test(
        "killed beside a reader, by itself or while it opens, a writer leaves its history up to its last step",
        arguments: [UInt64(1)])
    func killed(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.kills.run(["rounds", directory.path("store"), "\(seed)", "\(Self.rounds)"])
        #expect(status == 0, "seed \(seed): \(output)")
        #expect((Self.number(output) ?? 0) > Self.rounds, "seed \(seed): \(output)")
    }

    @Test("of two writers one is killed, and the other goes on", arguments: [UInt64(1)])
    func survives(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.kills.run(["survivor", directory.path("store"), "\(seed)", "\(Self.rounds)"])
        #expect(status == 0, "seed \(seed): \(output)")
        #expect((Self.number(output) ?? 0) > Self.rounds, "seed \(seed): \(output)")
    }

    @Test("3 processes of 8 threads do everything at once, and all invariants hold")
    func everything() throws {
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.torture.run([directory.path("store"), "3", "8", "\(Self.operations)"])
        #expect(status == 0, "\(output)")
        #expect(output.hasPrefix("\(3 * 8 * Self.operations) operations"), "\(output)")
    }
}
