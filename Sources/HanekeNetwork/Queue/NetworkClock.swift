public import Foundation

/// The time by which queue, cache and repetitions go, so that a test can move it.
public protocol NetworkClock: Sendable {
    /// The wall clock, which may jump: for HTTP dates.
    var now: Date { get }
    /// Time since an arbitrary start, which never falls: for waiting.
    var uptime: Duration { get }
    /// Returns after `duration`; throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's clocks.
public struct SystemNetworkClock: NetworkClock {
    private static let start = ContinuousClock.now

    /// The one clock there is; copies are alike.
    public init() {}
    /// The wall clock.
    public var now: Date { Date() }
    /// Time since the first use in this process.
    public var uptime: Duration { ContinuousClock.now - Self.start }
    /// Sleeps on the continuous clock.
    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
