import Synchronization

/// What happened, in order; a test waits for a number of events instead of for a time.
final class Recorder<Element: Sendable>: Sendable {
    private struct State {
        var events: [Element] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<[Element], Never>)] = []
    }

    private let state = Mutex(State())

    func record(_ event: Element) {
        let ready = state.withLock { state in
            state.events.append(event)
            let events = state.events
            let ready = state.waiting.filter { $0.count <= events.count }
            state.waiting.removeAll { $0.count <= events.count }
            return ready.map { ($0.continuation, events) }
        }
        for (continuation, events) in ready { continuation.resume(returning: events) }
    }

    /// What has happened so far.
    var events: [Element] { state.withLock { $0.events } }

    /// Waits until so many events have happened.
    @discardableResult
    func events(count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let events = state.withLock { state -> [Element]? in
                if state.events.count >= count { return state.events }
                state.waiting.append((count, continuation))
                return nil
            }
            if let events { continuation.resume(returning: events) }
        }
    }
}
