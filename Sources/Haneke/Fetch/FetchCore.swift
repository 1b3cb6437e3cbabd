internal import Dispatch
internal import HanekeNetwork
internal import Synchronization

/// The state of a fetch, which lives as long as the work does, also without its ``Fetch``.
final class FetchCore<Value: Sendable>: Sendable {
    /// A value, and how it was come by.
    struct Success: Sendable {
        let value: Value
        let source: FetchSource
        var isStale = false
    }

    enum Outcome: Sendable {
        case success(Success)
        case failure(any Error)
    }

    enum Observer: Sendable {
        case success(@Sendable (Value) -> Void)
        case failure(@Sendable (any Error) -> Void)
        case task(id: Int, CheckedContinuation<Value, any Error>)

        /// Whether it is a closure, which has to run on the callback queue; a task is resumed from anywhere.
        var isClosure: Bool {
            if case .task = self { false } else { true }
        }
    }

    private enum Phase: Sendable {
        case pending
        /// The outcome is known, but the closures wait for the callback queue. To the outside still pending.
        case decided(Outcome)
        case settled(Outcome)
        case cancelled
    }

    private struct State: Sendable {
        var phase = Phase.pending
        var observers: [Observer] = []
        var progressBodies: [@Sendable (TransferProgress) -> Void] = []
        var withdraw: (@Sendable () -> Void)?
        var nextTask = 0
        /// Tasks that were cancelled between asking for their number and waiting.
        var cancelledTasks: Set<Int> = []
        var hasLostTask = false
    }

    // What is left to do when the lock is released.
    private enum NextOfSettling { case nothing, deliver, enqueue }
    private enum NextOfAttaching { case nothing, cancel, serve(Outcome) }

    private let state: Mutex<State>
    private let callbackQueue: DispatchQueue

    /// A pending fetch.
    ///
    /// Its closures will run on `callbackQueue`.
    init(observers: [Observer] = [], callbackQueue: DispatchQueue) {
        self.callbackQueue = callbackQueue
        state = Mutex(State(observers: observers))
    }

    /// A fetch that has its outcome already: closures run as they are attached, `observers` before this returns.
    init(settled outcome: Outcome, observers: [Observer] = [], callbackQueue: DispatchQueue) {
        self.callbackQueue = callbackQueue
        state = Mutex(State(phase: .settled(outcome)))
        for observer in observers { serve(observer, outcome) }
    }

    // MARK: Reading

    /// The outcome, once it counts.
    var settledOutcome: Outcome? {
        state.withLock { if case .settled(let outcome) = $0.phase { outcome } else { nil } }
    }

    var isCancelled: Bool {
        state.withLock { if case .cancelled = $0.phase { true } else { false } }
    }

    /// Whether all that ever observed it are tasks that were cancelled while it was pending.
    var isForsaken: Bool {
        state.withLock { state in
            guard case .pending = state.phase else { return false }
            return state.hasLostTask && state.observers.isEmpty
        }
    }

    // MARK: Ending

    /// What tells the work that this fetch no longer wants it.
    ///
    /// Forgotten at the end.
    func setWithdrawal(_ withdraw: @escaping @Sendable () -> Void) {
        state.withLock { state in
            if case .pending = state.phase { state.withdraw = withdraw }
        }
    }

    /// Ends the fetch: at once if only tasks wait, else when the callback queue comes to it.
    ///
    /// The first outcome counts.
    func settle(_ outcome: Outcome) {
        let (next, withdraw) = state.withLock { state -> (NextOfSettling, (@Sendable () -> Void)?) in
            guard case .pending = state.phase else { return (.nothing, nil) }
            let withdraw = state.withdraw
            state.withdraw = nil
            guard state.observers.contains(where: \.isClosure) else {
                state.phase = .settled(outcome)
                state.progressBodies = []
                return (.deliver, withdraw)
            }
            state.phase = .decided(outcome)
            return (.enqueue, withdraw)
        }
        // Captures that end here must not be released under the lock.
        withExtendedLifetime(withdraw) {}
        switch next {
        case .nothing: break
        case .deliver: deliver(outcome)
        case .enqueue: callbackQueue.async { self.settleDecided() }
        }
    }

    /// Gives the fetch up, if it has not ended.
    func cancel() {
        let (observers, withdraw) = state.withLock { state -> ([Observer], (@Sendable () -> Void)?) in
            switch state.phase {
            case .settled, .cancelled: return ([], nil)
            case .pending, .decided: break
            }
            state.phase = .cancelled
            defer {
                state.observers = []
                state.progressBodies = []
                state.withdraw = nil
            }
            return (state.observers, state.withdraw)
        }
        for case .task(_, let continuation) in observers { continuation.resume(throwing: CancellationError()) }
        withdraw?()
    }

    private func settleDecided() {
        let outcome = state.withLock { state -> Outcome? in
            guard case .decided(let outcome) = state.phase else { return nil }
            state.phase = .settled(outcome)
            state.progressBodies = []
            return outcome
        }
        if let outcome { deliver(outcome) }
    }

    /// Serves the observers in order, also those that come meanwhile.
    private func deliver(_ outcome: Outcome) {
        while let observer = state.withLock({ $0.observers.isEmpty ? nil : $0.observers.removeFirst() }) {
            serve(observer, outcome)
        }
    }

    private func serve(_ observer: Observer, _ outcome: Outcome) {
        switch (observer, outcome) {
        case (.success(let body), .success(let success)): body(success.value)
        case (.failure(let body), .failure(let error)): body(error)
        case (.task(_, let continuation), .success(let success)): continuation.resume(returning: success.value)
        case (.task(_, let continuation), .failure(let error)): continuation.resume(throwing: error)
        case (.success, .failure), (.failure, .success): break
        }
    }

    // MARK: Progress

    /// Has `body` run on the callback queue with each report, until the fetch ends.
    func onProgress(_ body: @escaping @Sendable (TransferProgress) -> Void) {
        state.withLock { state in
            if case .pending = state.phase { state.progressBodies.append(body) }
        }
    }

    /// Tells how far the work has come.
    func report(_ progress: TransferProgress) {
        guard state.withLock({ !$0.progressBodies.isEmpty }) else { return }
        callbackQueue.async {
            let bodies = self.state.withLock { state -> [@Sendable (TransferProgress) -> Void] in
                switch state.phase {
                // Decided: the closures of the end are in the queue, behind this.
                case .pending, .decided: state.progressBodies
                case .settled, .cancelled: []
                }
            }
            for body in bodies { body(progress) }
        }
    }

    // MARK: Observing

    /// Adds an observer, or serves it at once if the fetch has ended and nobody is before it.
    func attach(_ observer: Observer) {
        let next = state.withLock { state -> NextOfAttaching in
            if case .task(let id, _) = observer, state.cancelledTasks.remove(id) != nil {
                state.hasLostTask = true
                return .cancel
            }
            switch state.phase {
            case .cancelled: return .cancel
            case .settled(let outcome) where state.observers.isEmpty: return .serve(outcome)
            case .pending, .decided, .settled:
                state.observers.append(observer)
                return .nothing
            }
        }
        switch next {
        case .nothing: break
        case .serve(let outcome): serve(observer, outcome)
        case .cancel:
            if case .task(_, let continuation) = observer { continuation.resume(throwing: CancellationError()) }
        }
    }

    /// Waits for the end.
    func value() async throws -> Value {
        switch settledOutcome {
        case .success(let success): return success.value
        case .failure(let error): throw error
        case nil: break
        }
        let id = state.withLock { state in
            state.nextTask += 1
            return state.nextTask
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { attach(.task(id: id, $0)) }
        } onCancel: {
            dropTask(id)
        }
    }

    private func dropTask(_ id: Int) {
        let dropped = state.withLock { state -> Observer? in
            switch state.phase {
            case .settled, .cancelled: return nil
            case .pending, .decided: break
            }
            let index = state.observers.firstIndex { if case .task(id, _) = $0 { true } else { false } }
            guard let index else {
                state.cancelledTasks.insert(id)
                return nil
            }
            state.hasLostTask = true
            return state.observers.remove(at: index)
        }
        if case .task(_, let continuation) = dropped { continuation.resume(throwing: CancellationError()) }
    }
}
