import Synchronization

/// The number of operations that use the network now: what an activity indicator shows.
///
/// It rises at once, and falls to 0 only after 170 ms without any, so that nothing flickers.
public final class NetworkActivity: Sendable {
    /// The activity of `NetworkQueue.shared`.
    public static let shared = NetworkActivity()

    static let lingering = Duration.milliseconds(170)

    private struct State {
        var executing = 0
        var shown = 0
        /// Grows with each begin, so that a fall that was waited for knows whether it is still due.
        var generation = 0
        var observers: [Int: AsyncStream<Int>.Continuation] = [:]
        var nextObserver = 0
    }

    private let state = Mutex(State())
    private let clock: any NetworkClock

    /// A counter of its own.
    public init(clock: any NetworkClock = SystemNetworkClock()) { self.clock = clock }

    /// The number as it is shown; never negative.
    public var count: Int { state.withLock { $0.shown } }

    /// The number now, then each other number, in order; slow readers miss what lies between.
    public var counts: AsyncStream<Int> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { observer in
            let id = state.withLock { state in
                state.nextObserver += 1
                state.observers[state.nextObserver] = observer
                observer.yield(state.shown)
                return state.nextObserver
            }
            observer.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.observers.removeValue(forKey: id) }
            }
        }
    }

    /// Calls `handler` with the number now and each other number, on one task, until the result is cancelled.
    public func observe(_ handler: @escaping @Sendable (Int) -> Void) -> Task<Void, Never> {
        let counts = counts
        return Task { for await count in counts { handler(count) } }
    }

    func began() {
        state.withLock { state in
            state.executing += 1
            state.generation += 1
            Self.show(state.executing, &state)
        }
    }

    func ended() {
        let due = state.withLock { state -> Int? in
            state.executing -= 1
            guard state.executing == 0 else {
                Self.show(state.executing, &state)
                return nil
            }
            return state.generation
        }
        guard let due else { return }
        Task { [clock] in
            try? await clock.sleep(for: Self.lingering)
            state.withLock { state in
                if state.executing == 0, state.generation == due { Self.show(0, &state) }
            }
        }
    }

    /// Yielding is done with the lock held, which keeps the numbers in order; a stream's buffer calls nobody.
    private static func show(_ count: Int, _ state: inout State) {
        guard state.shown != count else { return }
        state.shown = count
        for observer in state.observers.values { observer.yield(count) }
    }
}
