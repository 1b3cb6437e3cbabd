import CHaneke
import Foundation
import TestSupport
import Testing

/// Each call of Tests/PlainC/faults fails in turn: of the store, of LMDB, with each errno that it may give.
@Suite(.enabled(if: Child.faults.isAvailable, "needs a C compiler, and a linker that knows --wrap"))
struct FaultTests {
    private static func run(_ scenario: String, places: Int) throws {
        // A file system in memory, where there is one: thousands of stores are made.
        let memory = "/dev/shm/haneke-\(UUID().uuidString)"
        let inMemory =
            (try? FileManager.default.createDirectory(atPath: memory, withIntermediateDirectories: false)) != nil
        defer { if inMemory { try? Files.remove(memory) } }
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.faults.run([inMemory ? memory : directory.path, scenario])
        #expect(status == 0, "\(scenario): \(output)")
        let failed = output.split(separator: "\n").last.flatMap { Int($0) }
        #expect((failed ?? 0) >= places, "\(scenario): \(output)")
    }

    @Test(
        "any call may fail: a status that fits, a sound store that holds what the statuses said, and goes on",
        arguments: [("make", 80), ("use", 600), ("recover", 120), ("salvage", 120)])
    func eachCall(scenario: String, places: Int) throws {
        try Self.run(scenario, places: places)
    }

    @Test(
        "a salvage that a fault has ended is done anew by the next open",
        .disabled("data.mdb.damaged is left, and an empty or half filled store is taken for the whole"))
    func salvagedAnew() throws {
        try Self.run("salvage-whole", places: 150)
    }
}
