import Foundation
import HanekeStorage
import Synchronization
import Testing

@testable import Haneke

@Suite("Cache: parent formats", .timeLimit(.minutes(1)))
struct ParentFormatTests {
    /// `leaf` is made of `middle`, which is made of `root`, which is made of originals; each adds its initial.
    private func family(rootCapacity: UInt64 = .max) throws -> CacheFixture<String> {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "root", diskCapacity: rootCapacity) { $0 + "r" })
        fixture.cache.addFormat(Format(name: "middle") { $0 + "m" }.with { $0.parent = "root" })
        fixture.cache.addFormat(Format(name: "leaf") { $0 + "l" }.with { $0.parent = "middle" })
        return fixture
    }

    @Test("H-110: what is missing is made of the parent's value, in memory or on disk", arguments: [false, true])
    func parent(onDisk: Bool) async throws {
        let fixture = try family()
        _ = try await fixture.cache.set(value: "v", key: "k", formatName: "root").value
        if onDisk { await fixture.settle() }
        let fetch = fixture.cache.fetch(key: "k", formatName: "middle")
        #expect(try await fetch.value == "vrm")
        #expect(fetch.source == .parentFormat)
        #expect(fixture.cache.fetch(key: "k", formatName: "middle").source == .memory)
        await fixture.settle()
        #expect(fixture.cache.contains(key: "k", formatName: "middle") == .disk)
        #expect(fixture.cache.statistics.loads == 0)
    }

    @Test("H-111: the values made on the way are stored in each format passed")
    func recursive() async throws {
        let fixture = try family()
        _ = try await fixture.cache.set(value: "v", key: "k", formatName: "root").value
        let fetch = fixture.cache.fetch(key: "k", formatName: "leaf", policy: .cacheOnly)
        #expect(try await fetch.value == "vrml")
        #expect(fetch.source == .parentFormat)
        await fixture.settle()
        #expect(try await fixture.cache.fetch(key: "k", formatName: "middle").value == "vrm")
        #expect(fixture.cache.contains(key: "k", formatName: "leaf") == .disk)
    }

    @Test(
        "H-112: a fetcher runs once, and its value goes through all transforms from the root down",
        arguments: [FetchPolicy.cacheFirst, .reload])
    func fetcher(policy: FetchPolicy) async throws {
        let fixture = try family()
        let runs = Recorder<Int>()
        let fetch = fixture.cache.fetch(
            key: "k", formatName: "leaf", policy: policy,
            from: {
                runs.record(1)
                return "v"
            })
        #expect(try await fetch.value == "vrml")
        #expect(fetch.source == .fetcher)
        await fixture.settle()
        for (name, value) in [("root", "vr"), ("middle", "vrm"), ("leaf", "vrml")] {
            #expect(try await fixture.cache.fetch(key: "k", formatName: name).value == value)
        }
        #expect(runs.events.count == 1)
        #expect(fixture.cache.statistics.loads == 1)
    }

    @Test("H-113: where no ancestor has it and there is no fetcher, the asked format fails with -100")
    func nobody() async throws {
        let fixture = try family()
        let error = await thrown { _ = try await fixture.cache.fetch(key: "k", formatName: "leaf").value }
        #expect(error?.hanekeCode == .objectNotFound)
        #expect("\(try #require(error))".contains("\"leaf\""))
    }

    @Test("H-114: a cycle is refused with -103, and nothing changes")
    func cycle() async throws {
        let fixture = try family()
        let own = fixture.cache.addFormat(Format(name: "self").with { $0.parent = "self" })
        #expect(own?.code == .formatCycle)
        let long = fixture.cache.addFormat(Format(name: "root") { $0 + "?" }.with { $0.parent = "leaf" })
        #expect(long?.code == .formatCycle)
        #expect(long?.description.contains("\"root\" → \"leaf\" → \"middle\" → \"root\"") == true)
        #expect(fixture.cache.formats.map(\.name) == ["leaf", "middle", "original", "root"])
        #expect(try await fixture.cache.set(value: "v", key: "k", formatName: "root").value == "vr")
    }

    @Test(
        "H-115: a parent that is not there fails with -101 and is named, with a fetcher, too", arguments: [false, true])
    func missing(withFetcher: Bool) async throws {
        let fixture = try CacheFixture(String.self)
        fixture.cache.addFormat(Format(name: "child").with { $0.parent = "absent" })
        let fetch =
            withFetcher
            ? fixture.cache.fetch(key: "k", value: "v", formatName: "child")
            : fixture.cache.fetch(key: "k", formatName: "child")
        let error = await thrown { _ = try await fetch.value }
        #expect(error?.hanekeCode == .formatNotFound)
        #expect("\(try #require(error))".contains("\"absent\""))
    }

    @Test("H-116: siblings that ask at once have their parent made once")
    func siblings() async throws {
        let fixture = try CacheFixture(String.self)
        let transforms = Recorder<String>()
        let fetcher = ScriptedFetcher<String>(key: "k")
        fixture.cache.addFormat(
            Format(name: "parent") {
                transforms.record($0)
                return $0 + "p"
            })
        let names = (0..<8).map { "child \($0)" }
        for name in names { fixture.cache.addFormat(Format(name: name) { $0 + "c" }.with { $0.parent = "parent" }) }
        let fetches = names.map { fixture.cache.fetch(fetcher: fetcher, formatName: $0) }
        await fetcher.starts.events(count: 1)
        fetcher.succeed("v")
        for fetch in fetches { #expect(try await fetch.value == "vpc") }
        #expect(fetcher.runCount == 1)
        #expect(transforms.events == ["v"])
    }

    @Test("H-066, H-116: cancelling the last child's fetch cancels the parent's work")
    func cancelled() async throws {
        let fixture = try family()
        let fetcher = ScriptedFetcher<String>(key: "k")
        let fetch = fixture.cache.fetch(fetcher: fetcher, formatName: "leaf")
        await fetcher.starts.events(count: 1)
        fetch.cancel()
        await fetcher.cancels.events(count: 1)
        #expect(fetch.isCancelled)
    }

    @Test("H-117: removing from the parent leaves the children's values; from all formats takes them along")
    func removing() async throws {
        let fixture = try family()
        _ = try await fixture.cache.fetch(key: "k", value: "v", formatName: "middle").value
        fixture.cache.remove(key: "k", formatName: "root")
        await fixture.settle()
        #expect(fixture.cache.contains(key: "k", formatName: "root") == .none)
        #expect(try await fixture.cache.fetch(key: "k", formatName: "middle").value == "vrm")
        fixture.cache.remove(key: "k", fromAllFormats: true)
        #expect(fixture.cache.contains(key: "k", formatName: "middle") == .none)
        await fixture.settle()
        #expect(fixture.cache.contains(key: "k", formatName: "middle") == .none)
    }

    @Test("H-118: a parent without a disk capacity is made and used, in memory alone")
    func memoryOnly() async throws {
        let fixture = try family(rootCapacity: 0)
        #expect(try await fixture.cache.fetch(key: "k", value: "v", formatName: "middle").value == "vrm")
        #expect(fixture.cache.contains(key: "k", formatName: "root") == .memory)
        await fixture.settle()
        #expect(fixture.cache.contains(key: "k", formatName: "root") == .none)
        #expect(fixture.cache.contains(key: "k", formatName: "middle") == .disk)
    }

    @Test("H-063: a fetcher's failure reaches the child unchanged, and nothing is stored")
    func failure() async throws {
        let fixture = try family()
        let fetch = fixture.cache.fetch(key: "k", formatName: "leaf", from: { throw TestFailure(3) })
        #expect(await thrown { _ = try await fetch.value } as? TestFailure == TestFailure(3))
        for name in ["root", "middle", "leaf"] { #expect(fixture.cache.contains(key: "k", formatName: name) == .none) }
    }
}
