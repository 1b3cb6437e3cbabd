internal import Synchronization

/// The fetches that a fetcher of ours has running, each a task whose outcome goes to one of two closures.
final class FetcherRuns: Sendable {
    private struct State {
        var next = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var wasCancelled = false
    }

    private let state = Mutex(State())

    /// Whether a run was cancelled, from outside or by what it waited for, since the last one started.
    var wasCancelled: Bool { state.withLock { $0.wasCancelled } }

    /// Runs `work` in a task.
    ///
    /// After `cancel()` neither closure is called.
    func start<Value: Sendable>(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (Value) -> Void,
        _ work: @escaping @Sendable () async throws -> Value
    ) {
        state.withLock { state in
            state.next += 1
            state.wasCancelled = false
            let id = state.next
            state.tasks[id] = Task(executorPreference: BackgroundExecutor.shared) {
                let result: Result<Value, any Error>
                do { result = .success(try await work()) } catch { result = .failure(error) }
                guard self.finish(id, isCancelled: result.isCancellation) else { return }
                switch result {
                case .success(let value): succeed(value)
                case .failure(let error): fail(error)
                }
            }
        }
    }

    /// Stops all runs.
    func cancel() {
        let tasks = state.withLock { state in
            defer { state.tasks = [:] }
            state.wasCancelled = true
            return state.tasks.values.map(\.self)
        }
        for task in tasks { task.cancel() }
    }

    /// Ends a run; false if no closure is to be called.
    private func finish(_ id: Int, isCancelled: Bool) -> Bool {
        state.withLock { state in
            guard state.tasks.removeValue(forKey: id) != nil else { return false }
            if isCancelled { state.wasCancelled = true }
            return !isCancelled
        }
    }
}

extension Result where Failure == any Error {
    /// Whether the failure only says that somebody cancelled.
    fileprivate var isCancellation: Bool {
        if case .failure(let error) = self { isCancellationError(error) } else { false }
    }
}
