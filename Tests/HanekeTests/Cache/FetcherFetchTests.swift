import Foundation
import TestSupport
import Testing

@testable import Haneke

@Suite("Cache: fetch with a fetcher", .timeLimit(.minutes(1)))
struct FetcherFetchTests {
    @Test("H-060: a value in a tier is served without the fetcher")
    func present() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        fixture.cache.set(value: "v", key: "k")
        #expect(try await fixture.cache.fetch(fetcher: fetcher).value == "v")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(fetcher: fetcher).value == "v")
        #expect(fetcher.runCount == 0)
    }

    @Test("H-061: on a miss the fetcher runs once; its value is transformed, stored under its key and delivered")
    func miss() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f") { $0 + "!" })
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher, formatName: "f")
        await fetcher.starts.events(count: 1)
        #expect(!fetch.hasSucceeded)
        fetcher.succeed("v")
        #expect(try await fetch.value == "v!")
        #expect(fetch.source == .fetcher)
        #expect(try await fixture.cache.fetch(key: "k", formatName: "f").value == "v!")
        await fixture.cache.flush()
        #expect(try fixture.bucket("f").bytes(forKey: "k") == Array("v!".utf8))
        #expect(fetcher.runCount == 1)
        #expect(fixture.cache.statistics.loads == 1)
    }

    @Test("H-062: even a fetcher that answers synchronously delivers asynchronously")
    func synchronousFetcher() async throws {
        let fixture = try CacheFixture(String.self)
        let seen = Recorder<String>()
        fixture.cache.callbackQueue.suspend()
        let fetch = fixture.cache.fetch(fetcher: SimpleFetcher(key: "k", value: "v")) { seen.record($0) }
        #expect(!fetch.hasSucceeded && seen.events.isEmpty)
        fixture.cache.callbackQueue.resume()
        #expect(await seen.events(count: 1) == ["v"])
    }

    @Test("H-063, H-069: a fetcher's error is delivered unchanged, nothing is cached, and the next fetch runs anew")
    func failure() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        fetcher.fail(TestFailure(9))
        #expect(await thrown { _ = try await fetch.value } as? TestFailure == TestFailure(9))
        #expect(fixture.cache.contains(key: "k") == .none)
        let again = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 2)
        fetcher.succeed("v")
        #expect(try await again.value == "v")
    }

    @Test("H-064: an unknown format fails before fetch returns, and the fetcher is not called")
    func unknownFormat() throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        #expect(fixture.cache.fetch(fetcher: fetcher, formatName: "nowhere").hasFailed)
        #expect(fetcher.runCount == 0)
    }

    @Test("H-065: fetches of one key and format share one run, and all get its value", arguments: [2, 50])
    func coalesced(count: Int) async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetches = (0..<count).map { _ in fixture.cache.fetch(fetcher: fetcher) }
        let byKey = fixture.cache.fetch(key: "k")
        #expect(try fixture.cache.storage("original").waiterCount(CacheKey("k")) == count + 1)
        await fetcher.starts.events(count: 1)
        let late = fixture.cache.fetch(fetcher: fetcher)
        let reload = fixture.cache.fetch(fetcher: fetcher, policy: .reload)
        fetcher.succeed("v")
        for fetch in fetches + [byKey, late, reload] { #expect(try await fetch.value == "v") }
        #expect(fetcher.runCount == 1)
        #expect(try fixture.cache.storage("original").waiterCount(CacheKey("k")) == 0)
    }

    @Test("H-065: all waiters get the error of the run they share")
    func coalescedFailure() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetches = (0..<3).map { _ in fixture.cache.fetch(fetcher: fetcher) }
        await fetcher.starts.events(count: 1)
        fetcher.fail(TestFailure(5))
        for fetch in fetches {
            #expect(await thrown { _ = try await fetch.value } as? TestFailure == TestFailure(5))
        }
    }

    @Test("H-065: keys that differ only in composition are two flights")
    func separateFlights() async throws {
        let fixture = try CacheFixture(String.self)
        let composed = ScriptedFetcher<String>(key: "\u{E9}")
        let decomposed = ScriptedFetcher<String>(key: "e\u{301}")
        let fetches = [fixture.cache.fetch(fetcher: composed), fixture.cache.fetch(fetcher: decomposed)]
        await composed.starts.events(count: 1)
        await decomposed.starts.events(count: 1)
        composed.succeed("1")
        decomposed.succeed("2")
        #expect(try await fetches[0].value == "1")
        #expect(try await fetches[1].value == "2")
    }

    @Test("H-065: from many tasks at once the fetcher runs once", arguments: 0..<10)
    func stampede(round: Int) async throws {
        let fixture = try CacheFixture(String.self)
        let runs = Recorder<Int>()
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    try? await fixture.cache.fetch(
                        key: "k",
                        from: {
                            runs.record(1)
                            return "v"
                        }
                    ).value
                }
            }
            for await value in group { #expect(value == "v") }
        }
        #expect(runs.events.count == 1)
    }

    @Test("H-066: cancelling one of several waiters leaves the others their value")
    func cancelOne() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let first = fixture.cache.fetch(fetcher: fetcher)
        let second = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        first.cancel()
        fetcher.succeed("v")
        #expect(try await second.value == "v")
        #expect(await thrown { _ = try await first.value } is CancellationError)
        #expect(fetcher.cancels.events.isEmpty)
    }

    @Test("H-066: cancelling the last waiter cancels the fetcher, once; a new fetch starts anew")
    func cancelLast() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetches = (0..<2).map { _ in fixture.cache.fetch(fetcher: fetcher) }
        await fetcher.starts.events(count: 1)
        for fetch in fetches { fetch.cancel() }
        await fetcher.cancels.events(count: 1)
        fetcher.succeed("late")
        let again = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 2)
        fetcher.succeed("v")
        #expect(try await again.value == "v")
        #expect(fetcher.cancels.events.count == 1)
    }

    @Test("H-066, H-019: a task that awaits the only fetch takes the work along when it is cancelled")
    func cancelledTask() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let cache = fixture.cache
        let task = Task { try await cache.fetch(fetcher: fetcher).value }
        await fetcher.starts.events(count: 1)
        task.cancel()
        await fetcher.cancels.events(count: 1)
        #expect(await thrown { _ = try await task.value } is CancellationError)
    }

    @Test("H-066: an async fetcher's task is cancelled with the last waiter")
    func cancelAsyncFetcher() async throws {
        let fixture = try CacheFixture(String.self)
        let started = Gate()
        let ended = Recorder<Bool>()
        let fetch = fixture.cache.fetch(
            key: "k",
            from: {
                await withTaskCancellationHandler {
                    started.open()
                    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                        Task {
                            await ended.events(count: 1)
                            continuation.resume()
                        }
                    }
                    return "late"
                } onCancel: {
                    ended.record(true)
                }
            })
        await started.opened()
        fetch.cancel()
        #expect(await ended.events(count: 1) == [true])
        #expect(fixture.cache.contains(key: "k") == .none)
    }

    @Test("H-020: a fetch that is let go of is still cached")
    func dropped() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        let other = fixture.cache.fetch(key: "k")
        fetcher.succeed("v")
        #expect(try await other.value == "v")
        #expect(fixture.cache.fetch(key: "k").source == .memory)
    }

    @Test("H-067: formats of one key in flight are each transformed once")
    func formats() async throws {
        let fixture = try CacheFixture(String.self)
        let transforms = Recorder<String>()
        for name in ["f", "g"] {
            fixture.cache.addFormat(
                Format(name: name) { value in
                    transforms.record(name)
                    return value + name
                })
        }
        let fetches = ["f", "g", "f"].map { fixture.cache.fetch(key: "k", value: "v", formatName: $0) }
        #expect(try await fetches[0].value == "vf")
        #expect(try await fetches[1].value == "vg")
        #expect(try await fetches[2].value == "vf")
        #expect(transforms.events.sorted() == ["f", "g"])
    }

    @Test("H-068: a key that is removed during a fetch stays removed; the waiter gets its value", arguments: [0, 1, 2])
    func removedMeanwhile(how: Int) async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        switch how {
        case 0: fixture.cache.remove(key: "k")
        case 1: fixture.cache.removeAll()
        default: fixture.cache.remove(key: "k", fromAllFormats: true)
        }
        fetcher.succeed("v")
        #expect(try await fetch.value == "v")
        #expect(fixture.cache.contains(key: "k") == .none)
        await fixture.cache.flush()
        #expect(fixture.cache.contains(key: "k") == .none)
    }

    @Test("H-068: a set during a fetch wins over what the fetch brings; the waiter gets its value")
    func setMeanwhile() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        fixture.cache.set(value: "set", key: "k")
        fetcher.succeed("fetched")
        #expect(try await fetch.value == "fetched")
        #expect(try await fixture.cache.fetch(key: "k").value == "set")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k").value == "set")
    }

    @Test("H-068: a fetch that started after the removal may store again")
    func fetchedAfterRemoval() async throws {
        let fixture = try CacheFixture(String.self)
        let (old, new) = (ScriptedFetcher<String>(key: "k"), ScriptedFetcher<String>(key: "k"))
        let first = fixture.cache.fetch(fetcher: old)
        await old.starts.events(count: 1)
        fixture.cache.remove(key: "k")
        let second = fixture.cache.fetch(fetcher: new)
        await new.starts.events(count: 1)
        new.succeed("new")
        #expect(try await second.value == "new")
        old.succeed("old")
        #expect(try await first.value == "old")
        #expect(try await fixture.cache.fetch(key: "k").value == "new")
    }

    @Test("H-070: the value expression is evaluated only on a miss, once")
    func lazyValue() async throws {
        let fixture = try CacheFixture(String.self)
        let evaluations = Recorder<Int>()
        @Sendable func expensive() -> String {
            evaluations.record(1)
            return "v"
        }
        fixture.cache.set(value: "there", key: "present")
        #expect(try await fixture.cache.fetch(key: "present", value: expensive()).value == "there")
        #expect(evaluations.events.isEmpty)
        #expect(try await fixture.cache.fetch(key: "k", value: expensive()).value == "v")
        #expect(try await fixture.cache.fetch(key: "k", value: expensive()).value == "v")
        #expect(evaluations.events.count == 1)
    }

    @Test("H-070: a value expression may throw, and its error is the failure")
    func throwingValue() async throws {
        let fixture = try CacheFixture(String.self)
        @Sendable func failing() throws -> String { throw TestFailure(6) }
        let error = await thrown { _ = try await fixture.cache.fetch(key: "k", value: try failing()).value }
        #expect(error as? TestFailure == TestFailure(6))
    }

    @Test("H-070: fetch(path:) takes format, failure and success")
    func path() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f") { $0 + "!" })
        let path = try fixture.directory.file("text.txt", Data("text".utf8))
        let seen = Recorder<String>()
        fixture.cache.fetch(
            path: path, formatName: "f", failure: { seen.record("\($0)") }, success: { seen.record($0) })
        #expect(await seen.events(count: 1) == ["text!"])
        #expect(fixture.cache.fetch(key: path, formatName: "f").source == .memory)
    }

    @Test("H-071: reload skips the tiers, and the old value stays until the new one is stored")
    func reload() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "old", key: "k")
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher, policy: .reload)
        await fetcher.starts.events(count: 1)
        #expect(try await fixture.cache.fetch(key: "k").value == "old")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k").value == "old")
        fetcher.succeed("new")
        #expect(try await fetch.value == "new")
        #expect(try await fixture.cache.fetch(key: "k").value == "new")
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k").value == "new")
    }

    @Test("H-071: a reload that fails leaves the old value")
    func failedReload() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "old", key: "k")
        @Sendable func failing() throws -> String { throw TestFailure() }
        #expect(
            await thrown { _ = try await fixture.cache.fetch(key: "k", value: try failing(), policy: .reload).value }
                is TestFailure)
        #expect(try await fixture.cache.fetch(key: "k").value == "old")
    }

    @Test("H-065, H-071: a fetch that misses joins the reload under way")
    func missJoinsReload() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let reload = fixture.cache.fetch(fetcher: fetcher, policy: .reload)
        await fetcher.starts.events(count: 1)
        let other = ScriptedFetcher<String>(key: "k")
        let joined = fixture.cache.fetch(fetcher: other)
        // Wait until the lookup on disk has missed and the waiters are together.
        while try fixture.cache.storage("original").waiterCount(CacheKey("k"), policy: .reload) < 2 {
            await Task.yield()
        }
        fetcher.succeed("v")
        #expect(try await reload.value == "v")
        #expect(try await joined.value == "v")
        #expect(other.runCount == 0)
    }

    @Test("H-071: cacheOnly never runs the fetcher")
    func cacheOnly() async throws {
        let fixture = try CacheFixture(String.self)
        let fetcher = ScriptedFetcher<String>(key: "k")
        let error = await thrown { _ = try await fixture.cache.fetch(fetcher: fetcher, policy: .cacheOnly).value }
        #expect(error.map(\.hanekeCode) == .objectNotFound)
        let load = fixture.cache.fetch(fetcher: fetcher)
        await fetcher.starts.events(count: 1)
        #expect(
            await thrown { _ = try await fixture.cache.fetch(key: "k", policy: .cacheOnly).value }.map(\.hanekeCode)
                == .objectNotFound)
        fetcher.succeed("v")
        #expect(try await load.value == "v")
        #expect(try await fixture.cache.fetch(key: "k", policy: .cacheOnly).value == "v")
        #expect(fetcher.runCount == 1)
    }

    @Test("H-072: where it is allowed, an expired value is better than the fetcher's failure")
    func stale() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.set(value: "old", key: "k", lifetime: .zero)
        @Sendable func failing() throws -> String { throw TestFailure() }
        for _ in 0..<2 {
            let strict = fixture.cache.fetch(key: "k", value: try failing())
            #expect(await thrown { _ = try await strict.value } is TestFailure)
            let lenient = fixture.cache.fetch(key: "k", value: try failing(), policy: .cacheFirst.allowingStale)
            #expect(try await lenient.value == "old")
            #expect(lenient.isStale && lenient.source == .disk)
            await fixture.settle()
        }
        let fresh = fixture.cache.fetch(key: "k", value: "new", policy: .cacheFirst.allowingStale)
        #expect(try await fresh.value == "new")
        #expect(!fresh.isStale)
    }

    @Test("H-072: where no expired value is, the fetcher's failure is delivered")
    func nothingStale() async throws {
        let fixture = try CacheFixture(String.self)
        @Sendable func failing() throws -> String { throw TestFailure() }
        let fetch = fixture.cache.fetch(key: "k", value: try failing(), policy: .cacheFirst.allowingStale)
        #expect(await thrown { _ = try await fetch.value } is TestFailure)
    }

    @Test("H-109: a transform that throws is the failure, and nothing is stored")
    func throwingTransform() async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "f") { _ in throw TestFailure(3) })
        let fetched = await thrown { _ = try await fixture.cache.fetch(key: "k", value: "v", formatName: "f").value }
        #expect(fetched as? TestFailure == TestFailure(3))
        let set = await thrown { _ = try await fixture.cache.set(value: "v", key: "k", formatName: "f").value }
        #expect(set as? TestFailure == TestFailure(3))
        #expect(fixture.cache.contains(key: "k", formatName: "f") == .none)
        #expect(try await fixture.cache.size == 0)
    }
}
