import Synchronization

/// Tells what the way to the network is like, and when that changes.
public protocol PathMonitor: AnyObject, Sendable {
    /// The state now.
    var path: NetworkPath { get }
    /// Calls `handler` after each change, on any thread, for as long as the monitor lives.
    ///
    /// It is not called for the present state.
    func onChange(_ handler: @escaping @Sendable (NetworkPath) -> Void)
}

/// A monitor that says what it is told to: for tests, and for programs that know better than the system.
public final class ScriptedPathMonitor: PathMonitor {
    private struct State {
        var path: NetworkPath
        var handlers: [@Sendable (NetworkPath) -> Void] = []
    }

    private let state: Mutex<State>

    /// A monitor in the given state.
    public init(_ path: NetworkPath = .unknown) { state = Mutex(State(path: path)) }

    /// The state last set.
    public var path: NetworkPath { state.withLock { $0.path } }

    /// Calls `handler` on the thread that sets another state.
    public func onChange(_ handler: @escaping @Sendable (NetworkPath) -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    /// Sets the state and calls the handlers, unless it is the same.
    public func set(_ path: NetworkPath) {
        let handlers = state.withLock { state -> [@Sendable (NetworkPath) -> Void] in
            guard state.path != path else { return [] }
            state.path = path
            return state.handlers
        }
        for handler in handlers { handler(path) }
    }
}
