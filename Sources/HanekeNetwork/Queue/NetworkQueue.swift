import Synchronization

/// The one queue of a process: how many operations use the network at a time, and which is next.
///
/// 6 at a time, 2 on a mobile, expensive or constrained path, none without one. Only operations that need the network are
/// in it: an answer out of the cache waits for nothing.
public final class NetworkQueue: Sendable {
    /// The queue that engines share unless they are given another.
    public static let shared = NetworkQueue()

    private struct State {
        var table = SlotTable()
        var nextID: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Mutex(State())
    private let clock: any NetworkClock
    /// Counts what executes here.
    let activity: NetworkActivity

    /// A queue of its own, which follows `monitor`; without one the path counts as unknown and the width is 6.
    public convenience init(monitor: (any PathMonitor)? = nil, clock: any NetworkClock = SystemNetworkClock()) {
        self.init(monitor: monitor, clock: clock, activity: .shared)
    }

    init(monitor: (any PathMonitor)?, clock: any NetworkClock, activity: NetworkActivity) {
        self.clock = clock
        self.activity = activity
        guard let monitor else { return }
        monitor.onChange { [weak self, weak monitor] _ in
            // Read again: two changes may be reported in either order.
            guard let monitor else { return }
            self?.change { $0.path = monitor.path }
        }
        change { $0.path = monitor.path }
    }

    // MARK: The queue as a whole

    /// Queued and executing operations.
    public var operationCount: Int { state.withLock { $0.table.count } }

    /// Executing operations.
    public var executingCount: Int { state.withLock { $0.table.runningCount } }

    /// Starts nothing more until `resume()`; what executes goes on.
    public func pause() { change { $0.isPaused = true } }

    /// Ends a `pause()`.
    public func resume() { change { $0.isPaused = false } }

    /// Sets the width whatever the path says; nil gives it back to the path.
    ///
    /// What executes goes on when the width falls.
    public func setLimitOverride(_ limit: Int?) { change { $0.limitOverride = limit.map { max(0, $0) } } }

    // MARK: One operation

    /// Runs `body` once there is a slot for it, and gives the slot back however it ends.
    ///
    /// Throws what `body` throws, and `CancellationError` at once when the task is cancelled while it waits.
    func run<Result: Sendable>(
        _ ticket: SlotTable.Ticket, id: UInt64, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await slot(ticket, id: id)
        activity.began()
        defer {
            activity.ended()
            change { $0.remove(id) }
        }
        return try await body()
    }

    /// An identity for `run` and `raise`.
    func makeID() -> UInt64 {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    func raise(_ id: UInt64, to priority: NetworkPriority) { change { $0.raise(id, to: priority) } }

    private func slot(_ ticket: SlotTable.Ticket, id: UInt64) async throws {
        let now = clock.uptime
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let started = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
                    state.table.add(id, ticket, at: now)
                    state.waiters[id] = waiter
                    return Self.start(&state, at: now)
                }
                for waiter in started { waiter.resume() }
                // A cancel that came before the waiter was there has found nobody.
                if Task.isCancelled { cancelWait(id) }
            }
        } onCancel: {
            cancelWait(id)
        }
    }

    private func cancelWait(_ id: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard let waiter = state.waiters.removeValue(forKey: id) else { return nil }
            state.table.remove(id)
            return waiter
        }
        waiter?.resume(throwing: CancellationError())
    }

    private func change(_ body: (inout SlotTable) -> Void) {
        let now = clock.uptime
        let started = state.withLock { state in
            body(&state.table)
            return Self.start(&state, at: now)
        }
        for waiter in started { waiter.resume() }
    }

    private static func start(_ state: inout State, at now: Duration) -> [CheckedContinuation<Void, any Error>] {
        state.table.start(at: now).compactMap { state.waiters.removeValue(forKey: $0) }
    }
}
