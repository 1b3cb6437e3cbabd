import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A door that is shut until `open()`: threads block at it, tasks await it.
///
/// It is never shut again.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var tasks: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// A gate that is shut.
    public init() {}

    /// True from the first `open()` on.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Lets everyone through, now and later.
    public func open() {
        let tasks = state.withLock { state in
            state.isOpen = true
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.resume() }
    }

    /// Suspends the task until the gate is open.
    public func opened() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.tasks.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Blocks the thread until the gate is open or `isAbandoned` says that nobody will open it any more.
    ///
    /// It looks every millisecond: simple, and short enough for a test.
    public func waitOnThread(isAbandoned: () -> Bool = { false }) {
        while !isOpen && !isAbandoned() { usleep(1000) }
    }
}
