import Synchronization
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("The queue")
struct NetworkQueueTests {
    private let clock = ManualClock()
    private let activity: NetworkActivity

    init() { activity = NetworkActivity(clock: clock) }

    private func queue(_ monitor: (any PathMonitor)? = nil) -> NetworkQueue {
        NetworkQueue(monitor: monitor, clock: clock, activity: activity)
    }

    private func ticket(_ priority: NetworkPriority = .normal) -> SlotTable.Ticket {
        SlotTable.Ticket(origin: "o", priority: priority)
    }

    @Test("N-022, N-024: the width follows the monitor", .timeLimit(.minutes(1)))
    func followsMonitor() async throws {
        let monitor = ScriptedPathMonitor(.unsatisfied)
        let queue = queue(monitor)
        let (began, gate) = (Gate(), Gate())
        let id = queue.makeID()
        let task = Task {
            try await queue.run(ticket(), id: id) {
                began.open()
                await gate.opened()
            }
        }
        while queue.operationCount == 0 { await Task.yield() }
        #expect(queue.executingCount == 0)
        monitor.set(.satisfied(.wifi))
        await began.opened()
        #expect(queue.executingCount == 1)
        monitor.set(.unsatisfied)
        gate.open()
        try await task.value
        #expect(queue.operationCount == 0)
    }

    @Test("N-091: a cancel ends the wait at once and leaves no trace", .timeLimit(.minutes(1)))
    func cancelWhileWaiting() async throws {
        let queue = queue(ScriptedPathMonitor(.unsatisfied))
        let id = queue.makeID()
        let task = Task { try await queue.run(ticket(), id: id) {} }
        while queue.operationCount == 0 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(queue.operationCount == 0)
    }

    @Test("N-027, N-028: a storm of operations and cancels ends at zero, never above six", .timeLimit(.minutes(1)))
    func storm() async throws {
        let queue = queue()
        let most = Peak()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<600 {
                group.addTask {
                    let task = Task {
                        try await queue.run(ticket(index % 3 == 0 ? .bulk : .normal), id: queue.makeID()) {
                            most.note(queue.executingCount)
                            await Task.yield()
                        }
                    }
                    if index % 2 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        #expect(queue.operationCount == 0)
        #expect((1...6).contains(most.value))
    }

    @Test("N-027: a paused queue starts nothing; an override stands above the path", .timeLimit(.minutes(1)))
    func pausing() async throws {
        let queue = queue(ScriptedPathMonitor(.unsatisfied))
        queue.pause()
        queue.setLimitOverride(1)
        let task = Task { try await queue.run(ticket(), id: queue.makeID()) {} }
        while queue.operationCount == 0 { await Task.yield() }
        #expect(queue.executingCount == 0)
        queue.resume()
        try await task.value
    }

    @Test("N-028: activity rises at once and falls to zero after 170 ms without any", .timeLimit(.minutes(1)))
    func lingering() async {
        activity.began()
        #expect(activity.count == 1)
        activity.ended()
        await clock.sleepers(1)
        clock.advance(by: .milliseconds(169))
        #expect(activity.count == 1)
        var counts = activity.counts.makeAsyncIterator()
        #expect(await counts.next() == 1)
        clock.advance(by: .milliseconds(1))
        #expect(await counts.next() == 0)
    }

    @Test("N-028: work that begins again within the 170 ms keeps the number up", .timeLimit(.minutes(1)))
    func noFlicker() async {
        activity.began()
        activity.ended()
        await clock.sleepers(1)
        activity.began()
        var counts = activity.counts.makeAsyncIterator()
        #expect(await counts.next() == 1)
        clock.advance(by: .milliseconds(170))
        activity.began()
        #expect(await counts.next() == 2)
        activity.ended()
        #expect(activity.count == 1)
    }
}

/// The largest number noted.
private final class Peak: Sendable {
    private let largest = Mutex(0)

    var value: Int { largest.withLock { $0 } }

    func note(_ number: Int) { largest.withLock { $0 = max($0, number) } }
}
