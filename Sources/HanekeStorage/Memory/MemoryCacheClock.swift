/// What tells a ``MemoryCache`` the time by which lifetimes end.
public protocol MemoryCacheClock: Sendable {
    /// The time since a fixed moment of the clock's choice; never goes back. Called on the thread that uses the cache.
    var now: Duration { get }
}

/// The machine's monotonic clock, which also runs while the machine sleeps.
public struct SystemMemoryCacheClock: MemoryCacheClock {
    private static let origin = ContinuousClock.now

    /// Creates the clock; all instances tell the same time.
    public init() {}

    /// The time since the first use of this clock in the process.
    public var now: Duration { Self.origin.duration(to: .now) }
}
