import CHaneke
import Foundation
import TestSupport
import Testing

/// Each call of Tests/PlainC/faults fails in turn: of the store, of LMDB, with each errno that it may give.
@Suite(.enabled(if: Child.faults.isAvailable, "needs a C compiler, and a linker that knows --wrap"))
struct FaultTests {
    @Test(
        "any call may fail: a status that fits, a sound store that holds what the statuses said, and goes on",
        arguments: [("make", 80), ("use", 600), ("recover", 120), ("salvage", 120)])
    func eachCall(scenario: String, places: Int) throws {
        // A file system in memory, where there is one: thousands of stores are made.
        let memory = "/dev/shm/haneke-\(UUID().uuidString)"
        let manager = FileManager.default
        let inMemory = (try? manager.createDirectory(atPath: memory, withIntermediateDirectories: false)) != nil
        defer { if inMemory { try? Files.remove(memory) } }
        let directory = try TemporaryDirectory()
        let (status, output) = try Child.faults.run([inMemory ? memory : directory.path, scenario])
        #expect(status == 0, "\(scenario): \(output)")
        let failed = output.split(separator: "\n").last.flatMap { Int($0) }
        #expect((failed ?? 0) >= places, "\(scenario): \(output)")
    }
}
