import Dispatch
import TestSupport
import Testing

@testable import Haneke

@Suite("Fetch", .timeLimit(.minutes(1)))
struct FetchTests {
    private let queue = DispatchQueue(label: "fetch tests")

    private func pending() -> (core: FetchCore<Int>, fetch: Fetch<Int>) {
        let core = FetchCore<Int>(callbackQueue: queue)
        return (core, Fetch(core))
    }

    private func succeeded(_ value: Int) -> FetchCore<Int>.Outcome { .success(.init(value: value, source: .memory)) }

    @Test("H-010: a new fetch has neither succeeded nor failed")
    func new() {
        let fetch = pending().fetch
        #expect(!fetch.hasSucceeded && !fetch.hasFailed && !fetch.isCancelled)
        #expect(fetch.source == nil)
    }

    @Test("H-011, H-021: after success it has succeeded, and tells the source")
    func afterSuccess() {
        let (core, fetch) = pending()
        core.settle(succeeded(1))
        #expect(fetch.hasSucceeded && !fetch.hasFailed)
        #expect(fetch.source == .memory)
    }

    @Test("H-011: after failure it has failed")
    func afterFailure() {
        let (core, fetch) = pending()
        core.settle(.failure(TestFailure()))
        #expect(!fetch.hasSucceeded && fetch.hasFailed)
        #expect(fetch.source == nil)
    }

    @Test("H-012: onSuccess after success runs at once with the value")
    func lateSuccess() {
        let (core, fetch) = pending()
        core.settle(succeeded(7))
        let seen = Recorder<Int>()
        fetch.onSuccess { seen.record($0) }
        #expect(seen.events == [7])
    }

    @Test("H-013: onFailure after failure runs at once with the error")
    func lateFailure() {
        let (core, fetch) = pending()
        core.settle(.failure(TestFailure(3)))
        let seen = Recorder<TestFailure?>()
        fetch.onFailure { seen.record($0 as? TestFailure) }
        #expect(seen.events == [TestFailure(3)])
    }

    @Test("H-006, H-014: of the closures of both kinds only those of the outcome run", arguments: [true, false])
    func onlyOneKind(succeeds: Bool) async {
        let (core, fetch) = pending()
        let seen = Recorder<String>()
        fetch.onSuccess { _ in seen.record("success") }.onFailure { _ in seen.record("failure") }
        core.settle(succeeds ? succeeded(1) : .failure(TestFailure()))
        _ = try? await fetch.value
        fetch.onSuccess { _ in seen.record("success") }.onFailure { _ in seen.record("failure") }
        queue.sync {}
        #expect(seen.events == (succeeds ? ["success", "success"] : ["failure", "failure"]))
    }

    @Test("H-015: both return the fetch itself")
    func chain() {
        let fetch = pending().fetch
        #expect(fetch.onSuccess { _ in } === fetch)
        #expect(fetch.onFailure { _ in } === fetch)
    }

    @Test("H-016: a second settlement is ignored")
    func secondSettlement() async throws {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        fetch.onSuccess { seen.record($0) }
        core.settle(succeeded(1))
        core.settle(succeeded(2))
        core.settle(.failure(TestFailure()))
        #expect(try await fetch.value == 1)
        queue.sync {}
        #expect(seen.events == [1])
        #expect(!fetch.hasFailed)
    }

    @Test("H-008: closures run in the order in which they were attached")
    func order() async {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        for number in 0..<10 { fetch.onSuccess { _ in seen.record(number) } }
        core.settle(succeeded(0))
        await seen.events(count: 10)
        #expect(seen.events == Array(0..<10))
    }

    @Test("H-008: what is attached while earlier closures wait for the queue runs behind them")
    func orderWhileWaiting() async {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        fetch.onSuccess { _ in seen.record(1) }
        queue.suspend()
        core.settle(succeeded(0))
        fetch.onSuccess { _ in seen.record(2) }
        #expect(seen.events == [])
        queue.resume()
        await seen.events(count: 2)
        #expect(seen.events == [1, 2])
    }

    @Test("H-008: a closure attached by a closure runs after those attached before")
    func nestedOrder() async {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        fetch.onSuccess { _ in
            seen.record(1)
            fetch.onSuccess { _ in seen.record(3) }
        }
        fetch.onSuccess { _ in seen.record(2) }
        core.settle(succeeded(0))
        await seen.events(count: 3)
        #expect(seen.events == [1, 2, 3])
    }

    @Test("H-001: closures of a pending fetch run on its callback queue")
    func callbackQueue() async {
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let (core, fetch) = pending()
        let seen = Recorder<Bool?>()
        fetch.onSuccess { _ in seen.record(DispatchQueue.getSpecific(key: key)) }
        core.settle(succeeded(0))
        await seen.events(count: 1)
        #expect(seen.events == [true])
    }

    @Test("H-017: after cancel no closure runs, value throws CancellationError, and both flags stay false")
    func cancelPending() async {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        fetch.onSuccess { seen.record($0) }.onFailure { _ in seen.record(-1) }
        fetch.cancel()
        core.settle(succeeded(1))
        queue.sync {}
        #expect(seen.events == [])
        #expect(!fetch.hasSucceeded && !fetch.hasFailed && fetch.isCancelled)
        #expect(await thrown { _ = try await fetch.value } is CancellationError)
    }

    @Test("H-017: a fetch whose closures still wait for the queue can be cancelled")
    func cancelDecided() async {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        fetch.onSuccess { seen.record($0) }
        queue.suspend()
        core.settle(succeeded(1))
        fetch.cancel()
        queue.resume()
        queue.sync {}
        #expect(seen.events == [])
        #expect(!fetch.hasSucceeded)
    }

    @Test("H-018: cancel after the end, or twice, does nothing")
    func cancelLate() async throws {
        let (core, fetch) = pending()
        core.settle(succeeded(5))
        fetch.cancel()
        fetch.cancel()
        #expect(fetch.hasSucceeded && !fetch.isCancelled)
        #expect(try await fetch.value == 5)

        let (otherCore, other) = pending()
        let withdrawals = Recorder<Int>()
        otherCore.setWithdrawal { withdrawals.record(1) }
        other.cancel()
        other.cancel()
        #expect(withdrawals.events == [1])
    }

    @Test("H-005: value gives what onSuccess gets and throws what onFailure gets")
    func asyncForm() async throws {
        let (core, fetch) = pending()
        async let value = fetch.value
        core.settle(succeeded(9))
        #expect(try await value == 9)

        let (failedCore, failed) = pending()
        failedCore.settle(.failure(TestFailure(4)))
        #expect(await thrown { _ = try await failed.value } as? TestFailure == TestFailure(4))
    }

    @Test("H-019: cancelling a task that waits ends its waiting alone")
    func cancelWaiter() async throws {
        let (core, fetch) = pending()
        let first = Task { try await fetch.value }
        let second = Task { try await fetch.value }
        first.cancel()
        #expect(await thrown { _ = try await first.value } is CancellationError)
        core.settle(succeeded(2))
        #expect(try await second.value == 2)
        #expect(try await fetch.value == 2)
        #expect(!fetch.isCancelled)
    }

    @Test("H-019: a task that is cancelled before it waits does not wait")
    func cancelledBeforeWaiting() async {
        let fetch = pending().fetch
        let gate = Gate()
        let task = Task {
            await gate.opened()
            return try await fetch.value
        }
        task.cancel()
        gate.open()
        #expect(await thrown { _ = try await task.value } is CancellationError)
    }

    @Test("a fetch that only cancelled tasks knew withdraws when it is let go of")
    func forsaken() async {
        let core = FetchCore<Int>(callbackQueue: queue)
        let withdrawals = Recorder<Int>()
        core.setWithdrawal { withdrawals.record(1) }
        let task = Task { try await Fetch(core).value }
        task.cancel()
        _ = try? await task.value
        await withdrawals.events(count: 1)
        #expect(core.isCancelled)
    }

    @Test("H-020: a fetch that is let go of with closures attached goes on")
    func dropped() async {
        let core = FetchCore<Int>(callbackQueue: queue)
        let seen = Recorder<Int>()
        Fetch(core).onSuccess { seen.record($0) }
        core.settle(succeeded(8))
        #expect(await seen.events(count: 1) == [8])
    }

    @Test("H-006: settling, cancelling and attaching from many threads end in one outcome", arguments: 0..<20)
    func race(round: Int) async {
        let (core, fetch) = pending()
        let seen = Recorder<Int>()
        fetch.onSuccess { seen.record($0) }.onFailure { _ in seen.record(-1) }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { core.settle(succeeded(number)) } }
            group.addTask { core.settle(.failure(TestFailure())) }
            if round.isMultiple(of: 2) { group.addTask { fetch.cancel() } }
            group.addTask { _ = try? await fetch.value }
        }
        _ = try? await fetch.value
        queue.sync {}
        #expect(seen.events.count == (fetch.isCancelled ? 0 : 1))
    }
}
