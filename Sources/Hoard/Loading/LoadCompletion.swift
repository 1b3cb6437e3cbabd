import Synchronization

/// What a loader's `done` holds: the first call counts, and letting it go without one counts as nil.
final class LoadCompletion<T: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<T?, Never>?>

    init(_ continuation: CheckedContinuation<T?, Never>) { self.continuation = Mutex(continuation) }

    deinit { finish(nil) }

    func finish(_ value: T?) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: value)
    }
}
