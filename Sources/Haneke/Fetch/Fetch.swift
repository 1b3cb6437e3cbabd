public import HanekeNetwork

/// A value on its way: one object for closures and for `await`.
///
/// ```swift
/// cache.fetch(URL: url).onSuccess { print($0) }.onFailure { print($0) }
/// let value = try await cache.fetch(URL: url).value
/// ```
///
/// A fetch ends at most once: it succeeds, fails or is cancelled. Closures run on the callback queue of the fetch, one
/// after the other in the order in which they were attached; what is attached after the end runs at once, on
/// the caller's thread, unless earlier ones still wait for the queue: then behind them. No lock is held meanwhile. All
/// members may be used from any thread.
///
/// Letting go of the object stops nothing: the value is still fetched, cached and given to the closures.
public final class Fetch<Value: Sendable>: Sendable {
    /// A value that was there from the start needs no state, which makes a hit in memory cheap.
    private enum Content: Sendable {
        case ready(Value, FetchSource)
        case core(FetchCore<Value>)
    }

    private let content: Content

    init(_ core: FetchCore<Value>) { content = .core(core) }

    /// A fetch that has succeeded already.
    init(_ value: Value, source: FetchSource) { content = .ready(value, source) }

    deinit {
        // `try await cache.fetch(…).value` in a task that was cancelled: nobody is left who could ask for the value.
        if case .core(let core) = content, core.isForsaken { core.cancel() }
    }

    private var outcome: FetchCore<Value>.Outcome? {
        switch content {
        case .ready(let value, let source): .success(.init(value: value, source: source))
        case .core(let core): core.settledOutcome
        }
    }

    // MARK: Closures

    /// Has `body` run with the value when the fetch succeeds; at once, if it has.
    ///
    /// Never runs if the fetch fails or is cancelled.
    @discardableResult
    public func onSuccess(_ body: @escaping @Sendable (Value) -> Void) -> Self {
        switch content {
        case .ready(let value, _): body(value)
        case .core(let core): core.attach(.success(body))
        }
        return self
    }

    /// Has `body` run with the error when the fetch fails; at once, if it has.
    ///
    /// Never runs if the fetch succeeds or is cancelled.
    @discardableResult
    public func onFailure(_ body: @escaping @Sendable (any Error) -> Void) -> Self {
        if case .core(let core) = content { core.attach(.failure(body)) }
        return self
    }

    /// Has `body` run with the bytes received so far, each time there is news, until the fetch ends.
    ///
    /// Never runs for a value that a tier has. It runs on the callback queue of the fetch, at most 20 times a second for
    /// a transfer; where that queue is serial, before the closures of the end.
    @discardableResult
    public func onProgress(_ body: @escaping @Sendable (TransferProgress) -> Void) -> Self {
        if case .core(let core) = content { core.onProgress(body) }
        return self
    }

    // MARK: Awaiting

    /// The value, as soon as there is one.
    ///
    /// Cancelling the task that waits ends its waiting alone: others still get the value.
    ///
    /// - Throws: The error that `onFailure` receives, or `CancellationError` if the fetch or the waiting task is cancelled.
    public var value: Value {
        get async throws {
            switch content {
            case .ready(let value, _): value
            case .core(let core): try await core.value()
            }
        }
    }

    // MARK: State

    /// Whether there is a value.
    ///
    /// False while pending, after a failure and after `cancel()`.
    public var hasSucceeded: Bool {
        if case .success = outcome { true } else { false }
    }

    /// Whether there is an error.
    ///
    /// False while pending, after a success and after `cancel()`.
    public var hasFailed: Bool {
        if case .failure = outcome { true } else { false }
    }

    /// Whether `cancel()` came before the end.
    public var isCancelled: Bool {
        if case .core(let core) = content { core.isCancelled } else { false }
    }

    /// Where the value came from; nil while there is none.
    public var source: FetchSource? {
        if case .success(let success) = outcome { success.source } else { nil }
    }

    /// Whether the value's lifetime is over: it was served since the fetcher failed, as
    /// ``FetchPolicy/allowingStale`` permits.
    public var isStale: Bool {
        if case .success(let success) = outcome { success.isStale } else { false }
    }

    /// Gives the value up: no closure runs from now on, and waiting tasks throw `CancellationError`.
    ///
    /// Others who fetch the same key still get it; when nobody is left, the work is cancelled too. Without effect
    /// after the end.
    public func cancel() {
        if case .core(let core) = content { core.cancel() }
    }
}
