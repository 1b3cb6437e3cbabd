// The clocks of a tree, so that tests need not wait.

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where a context takes its time from.
public struct TreeClock: Sendable {
    /// Seconds since 1970: decides on the disk, where entries outlive the process.
    public let wall: @Sendable () -> Double
    /// Seconds since some moment, never set back: decides in memory.
    public let monotonic: @Sendable () -> Double
    let isSystem: Bool

    /// A clock of your own.
    public init(wall: @escaping @Sendable () -> Double, monotonic: @escaping @Sendable () -> Double) {
        self.init(wall, monotonic, isSystem: false)
    }

    private init(
        _ wall: @escaping @Sendable () -> Double, _ monotonic: @escaping @Sendable () -> Double, isSystem: Bool
    ) {
        self.wall = wall
        self.monotonic = monotonic
        self.isSystem = isSystem
    }

    /// The machine's; it goes on while the machine sleeps.
    public static let system = TreeClock({ read(CLOCK_REALTIME) }, { read(sinceBoot) }, isSystem: true)

    #if os(Linux)
        private static let sinceBoot = CLOCK_BOOTTIME
    #else
        private static let sinceBoot = CLOCK_MONOTONIC
    #endif

    private static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
