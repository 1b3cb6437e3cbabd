import Synchronization

/// What happened in a context, for `Context.events`.
public enum ContextEvent: Sendable, Hashable {
    /// A value was stored under the key.
    case put(Key)
    /// So many leaves were removed.
    case removed(Int)
    /// So many leaves were removed since their life was over.
    case expired(Int)
    /// A context was mounted at the key.
    case mounted(Key)
    /// The context at the key was unmounted.
    case unmounted(Key)
    /// What the disk held under the key was no record; it has been removed.
    case corrupted(Key)
    /// A loader threw, for the key; says what.
    case loadFailed(Key, String)
    /// A plain form could not do what it was asked to.
    case refused(TreeError)
}

/// Tells events to those who listen.
public final class ContextEvents: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<ContextEvent>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let isHeard = Atomic(false)

    /// With nobody listening.
    public init() {}

    /// A stream of what happens from now on, with room for the 256 newest events.
    public func stream() -> AsyncStream<ContextEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
            let number = state.withLock { state in
                state.next += 1
                state.listeners[state.next] = continuation
                isHeard.store(true, ordering: .relaxed)
                return state.next
            }
            continuation.onTermination = { [weak self] _ in self?.leave(number) }
        }
    }

    private func leave(_ number: Int) {
        state.withLock { state in
            state.listeners[number] = nil
            isHeard.store(!state.listeners.isEmpty, ordering: .relaxed)
        }
    }

    /// Tells those who listen; with nobody there it costs one look.
    @inline(__always)
    public func send(_ event: @autoclosure () -> ContextEvent) {
        guard isHeard.load(ordering: .relaxed) else { return }
        let event = event()
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(event) }
    }
}
