import Foundation
import HanekeStorage
import Synchronization
import TestSupport
import Testing

@testable import Hoard

/// Puts and removes that meet a load of their key.
@Suite("Overtaking", .timeLimit(.minutes(1)))
struct OvertakingTests {
    /// A clock whose next look at the wall clock, once armed, stops until it may go on.
    private final class StoppingClock: Sendable {
        let (reached, goesOn) = (Gate(), Gate())
        private let isArmed = Atomic(false)

        var clock: TreeClock {
            TreeClock(
                wall: {
                    if self.isArmed.exchange(false, ordering: .acquiringAndReleasing) {
                        self.reached.open()
                        self.goesOn.waitOnThread()
                    }
                    return TreeClock.system.wall()
                }, monotonic: TreeClock.system.monotonic)
        }

        func arm() { isArmed.store(true, ordering: .releasing) }
    }

    @Test(
        "T-032: a put that is on its way when a load begins wins, though it is written first",
        arguments: Place.allCases)
    func putUnderWay(place: Place) async throws {
        let directory = try TemporaryDirectory()
        let stop = StoppingClock()
        let context = try place.make(in: directory, clock: stop.clock)
        let (loading, putDone) = (Gate(), Gate())
        stop.arm()
        Thread.detachNewThread {
            context.put("k", "put")
            putDone.open()
        }
        // The put has begun and not written.
        await stop.reached.opened()
        async let loaded = context.value(for: "k") { () -> String? in
            loading.open()
            await putDone.opened()
            return "loaded"
        }
        await loading.opened()
        stop.goesOn.open()
        #expect(try await loaded == "loaded")
        #expect(context.get("k") == "put")
    }

    @Test("T-032: a load that begins during a remove of a branch around its key is not stored")
    func removeUnderWay() async throws {
        let context = MemoryContext()
        let name = context.loads.name("a/b".asKey(), Int.self)
        let outcome = try context.loads.writing(under: "a".asKey()) { () throws(TreeError) in
            Result {
                try context.loads.blockingValue(of: name) { number in
                    context.loads.storeUnlessOvertaken(name, number) { context.put("a/b", 1) }
                    return .success(2)
                }
            }
        }
        #expect(try outcome.get() as? Int == 2)
        #expect(!context.contains("a/b"))
        let later = try await context.value(for: "a/b") { 3 }
        #expect(later == 3)
        #expect(context.get("a/b") == 3)
    }

    @Test("T-032: a write waits for a load that is being stored, and is the last")
    func storingFirst() async throws {
        let directory = try TemporaryDirectory()
        let stop = StoppingClock()
        let context = try Place.disk.make(in: directory, clock: stop.clock)
        stop.arm()
        async let loaded = context.value(for: "k") { "loaded" }
        // The load stores.
        await stop.reached.opened()
        let (began, putDone) = (Gate(), Gate())
        Thread.detachNewThread {
            began.open()
            context.put("k", "put")
            putDone.open()
        }
        await began.opened()
        stop.goesOn.open()
        #expect(try await loaded == "loaded")
        await putDone.opened()
        #expect(context.get("k") == "put")
    }

    @Test("T-032: loads of two types that store under one key at once don't wait for each other")
    func twoTypes() async throws {
        let context = MemoryContext()
        let gates = [Gate(), Gate()]
        let names = [
            context.loads.name("k".asKey(), Int.self), context.loads.name("k".asKey(), String.self),
        ]
        let dones = [Gate(), Gate()]
        for index in 0..<2 {
            Thread.detachNewThread {
                _ = try? context.loads.blockingValue(of: names[index]) { number in
                    context.loads.storeUnlessOvertaken(names[index], number) {
                        gates[index].open()
                        gates[1 - index].waitOnThread()
                        context.put("k", index)
                    }
                    return .success(nil)
                }
                dones[index].open()
            }
        }
        for done in dones { await done.opened() }
        #expect(context.get("k") == 0 || context.get("k") == 1)
    }

    @Test("T-029, T-032: a view's load is one of the whole context: a put elsewhere wins, other branches load apart")
    func views() async throws {
        let context = MemoryContext()
        context.put("u/1/x", 0)
        context.put("u/2/x", 0)
        let first: any Context = try #require(context.get("u/1"))
        let second: any Context = try #require(context.get("u/2"))
        let (loading, gate) = (Gate(), Gate())
        async let slow = first.value(for: "name") { () -> String? in
            loading.open()
            await gate.opened()
            return "one"
        }
        await loading.opened()
        #expect(try await second.value(for: "name") { "two" } == "two")
        context.put("u/1/name", "put")
        gate.open()
        #expect(try await slow == "one")
        #expect(context.get("u/1/name") == "put")
    }

    @Test("T-042, T-047: an entry that is no record reads as missing, goes, and is told")
    func damaged() async throws {
        let directory = try TemporaryDirectory()
        let context = try DiskContext(dirUrl: URL(fileURLWithPath: directory.path("tree")))
        context.put("k", 1)
        let entries = context.space.shelf.entries
        try entries.set([1], forKey: "k".asKey().encoded, metadata: [9])
        var events = context.events.makeAsyncIterator()
        let value: Int? = context.get("k")
        #expect(value == nil)
        #expect(try !entries.contains("k".asKey().encoded))
        #expect(await events.next() == .corrupted("k".asKey()))
    }
}
