import Foundation
import Hoard
import Synchronization
import TestSupport
import Testing

/// Time that a test moves.
final class ManualClock: Sendable {
    private let times = Mutex((wall: Date.now.timeIntervalSince1970, monotonic: 1_000.0))

    var clock: TreeClock {
        TreeClock(wall: { self.times.withLock { $0.wall } }, monotonic: { self.times.withLock { $0.monotonic } })
    }

    func advance(_ seconds: Double) {
        times.withLock { $0 = ($0.wall + seconds, $0.monotonic + seconds) }
    }

    func setWall(by seconds: Double) { times.withLock { $0.wall += seconds } }
}

/// Numbers that a seed decides (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Where a context under test keeps its values.
enum Place: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, disk

    var testDescription: String { rawValue }

    func make(in directory: TemporaryDirectory, clock: TreeClock = .system) throws -> any Context {
        switch self {
        case .memory: MemoryContext(clock: clock)
        case .disk: try DiskContext(dirUrl: URL(fileURLWithPath: directory.path("tree")), clock: clock)
        }
    }
}
