import Foundation
import Synchronization

@testable import HanekeNetwork

/// A clock that stands still until a test moves it.
final class ManualClock: NetworkClock {
    private struct Sleeper {
        let until: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var uptime = Duration.zero
        var start = Date(timeIntervalSince1970: 1_700_000_000)
        var sleepers: [Int: Sleeper] = [:]
        var nextSleeper = 0
        var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var now: Date { state.withLock { $0.start + Double($0.uptime / .milliseconds(1)) / 1000 } }
    var uptime: Duration { state.withLock { $0.uptime } }

    func sleep(for duration: Duration) async throws {
        guard duration > .zero else { return }
        let id = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let watchers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    state.sleepers[id] = Sleeper(until: state.uptime + duration, continuation: continuation)
                    defer { state.watchers.removeAll { $0.count <= state.sleepers.count } }
                    return state.watchers.filter { $0.count <= state.sleepers.count }.map(\.1)
                }
                for watcher in watchers { watcher.resume() }
                if Task.isCancelled { wake(id) }
            }
        } onCancel: {
            wake(id)
        }
    }

    /// Returns once that many tasks sleep.
    func sleepers(_ count: Int) async {
        await withCheckedContinuation { watcher in
            let isThere = state.withLock { state in
                if state.sleepers.count < count { state.watchers.append((count, watcher)) }
                return state.sleepers.count >= count
            }
            if isThere { watcher.resume() }
        }
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.uptime += duration
            let due = state.sleepers.filter { $0.value.until <= state.uptime }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Sets the wall clock, as an administrator would.
    func setBack(by seconds: TimeInterval) { state.withLock { $0.start -= seconds } }

    private func wake(_ id: Int) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
