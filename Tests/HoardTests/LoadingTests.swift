import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hoard

@Suite("Loading")
struct LoadingTests {
    private struct Broken: Error {}
    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    @Test("T-030: a default is not stored; a loaded value is, and a loader that asks for itself gets nil")
    func sync() {
        let context = MemoryContext()
        #expect(context.get("k", default: 5) == 5)
        #expect(!context.contains("k"))
        let made: Int? = context.get("k", validFor: 60) {
            let inner: Int? = context.get("k") { 1 }
            #expect(inner == nil)
            return 2
        }
        #expect(made == 2)
        #expect(context.get("k") == 2)
    }

    @Test("T-031: the callback comes once, asynchronously; a dropped done is nil, a second one is ignored")
    func callbacks() async {
        let context = MemoryContext()
        let result = await withCheckedContinuation { continuation in
            context.getAsync(
                key: "somekey",
                loader: { done in
                    done("value")
                    done("second")
                },
                callback: { (result: String?) in continuation.resume(returning: result) })
        }
        #expect(result == "value")
        let dropped = await withCheckedContinuation { continuation in
            context.getAsync(
                key: "other", loader: { _ in }, callback: { (result: Int?) in continuation.resume(returning: result) })
        }
        #expect(dropped == nil)
        let missing = await withCheckedContinuation { continuation in
            context.getAsync(key: "none") { (result: Int?) in continuation.resume(returning: result) }
        }
        #expect(missing == nil)
    }

    @Test("T-032: many misses load once; a put meanwhile wins; another type loads for itself")
    func coalescing() async throws {
        let context = MemoryContext()
        let gate = Gate()
        let runs = Counter()
        let name = context.loads.name("k".asKey(), Int.self)
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await context.value(for: "k") {
                        runs.count.add(1, ordering: .relaxed)
                        await gate.opened()
                        return 7
                    }
                }
            }
            while context.loads.waiterCount(name) < 10 { await Task.yield() }
            #expect(try await context.value(for: "k") { "text" } == "text")
            context.put("k", 9)
            gate.open()
            for try await value in group { #expect(value == 7) }
        }
        #expect(runs.count.load(ordering: .relaxed) == 1)
        #expect(context.get("k") == 9)
    }

    @Test("T-032: cancelling the last waiter cancels the loader and drops its result")
    func cancelling() async throws {
        let context = MemoryContext()
        let (cancelled, done) = (Gate(), Gate())
        let name = context.loads.name("k".asKey(), Int.self)
        let waiter = Task {
            try await context.value(for: "k") {
                await withTaskCancellationHandler {
                    await cancelled.opened()
                } onCancel: {
                    cancelled.open()
                }
                done.open()
                return 7
            }
        }
        while context.loads.waiterCount(name) < 1 { await Task.yield() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        await done.opened()
        #expect(!context.contains("k"))
    }

    @Test("T-033: nil and errors are not stored; the next get loads anew")
    func failures() async throws {
        let context = MemoryContext()
        await #expect(throws: Broken.self) {
            try await context.value(for: "k") { () -> Int? in throw Broken() }
        }
        #expect(try await context.value(for: "k") { nil as Int? } == nil)
        #expect(try await context.value(for: "k") { 3 } == 3)
        await #expect(throws: TreeError.recursiveLoad) {
            try await context.value(for: "r") { try await context.value(for: "r") { 1 } }
        }
    }
}
