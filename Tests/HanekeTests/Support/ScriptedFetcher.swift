import Haneke
import Synchronization

/// A fetcher that answers when the test says so, and counts.
final class ScriptedFetcher<Value: Sendable>: Fetcher<Value>, @unchecked Sendable {
    // Sendable: all state is in a Mutex or a Recorder.
    typealias Closures = (fail: @Sendable (any Error) -> Void, succeed: @Sendable (Value) -> Void)

    private let pending = Mutex<[Closures]>([])
    /// One event for each call of `fetch`.
    let starts = Recorder<Int>()
    /// One event for each call of `cancelFetch`.
    let cancels = Recorder<Int>()

    override func fetch(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (Value) -> Void
    ) {
        pending.withLock { $0.append((fail, succeed)) }
        starts.record(1)
    }

    override func cancelFetch() { cancels.record(1) }

    /// Answers the first call that has not been answered.
    func succeed(_ value: Value) { next()?.succeed(value) }

    func fail(_ error: any Error) { next()?.fail(error) }

    /// Answers the first call more than once.
    func answerRepeatedly(_ values: [Value], then error: any Error) {
        guard let next = next() else { return }
        for value in values { next.succeed(value) }
        next.fail(error)
    }

    /// Lets go of the first call's closures.
    func abandon() { _ = next() }

    var runCount: Int { starts.events.count }

    private func next() -> Closures? {
        pending.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
