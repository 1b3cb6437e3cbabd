import Foundation
import Testing

@testable import Haneke

@Suite("Shared caches and their places", .timeLimit(.minutes(1)))
struct SharedTests {
    @Test(
        "H-160: shared caches have their names, are the same each time, and stand where they were told before first use"
    )
    func shared() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("haneke-shared-\(ProcessInfo.processInfo.processIdentifier)")
        defer { try? FileManager.default.removeItem(at: directory) }
        #expect(Shared.setDirectory(directory))
        #expect(Shared.directory == directory)
        await withTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<16 { group.addTask { ObjectIdentifier(Shared.dataCache) } }
            for await identity in group { #expect(identity == ObjectIdentifier(Shared.dataCache)) }
        }
        #expect(Shared.dataCache.name == "shared-data")
        #expect(Shared.stringCache.name == "shared-strings")
        #expect(Shared.JSONCache.name == "shared-json")
        #expect(HanekeGlobals.SharedCaches.ImageCacheName == "shared-images")
        #expect(Shared.dataCache.directory.path == directory.appendingPathComponent("shared-data").path)
        #expect(!Shared.setDirectory(URL(fileURLWithPath: "/elsewhere")))
        #expect(Shared.directory == directory)
        #expect(try await Shared.JSONCache.fetch(key: "k", value: ["a": 1]).value["a"]?.int == 1)
        await Shared.JSONCache.flush()
    }

    #if os(Linux)
        @Test(
            "H-161: on Linux caches stand in XDG_CACHE_HOME if that is absolute, else in ~/.cache",
            arguments: [
                (["XDG_CACHE_HOME": "/x/cache", "HOME": "/home/a"], "/x/cache"),
                (["HOME": "/home/a"], "/home/a/.cache"),
                (["XDG_CACHE_HOME": "relative", "HOME": "/home/a"], "/home/a/.cache"),
                (["XDG_CACHE_HOME": "", "HOME": "/home/a"], "/home/a/.cache"),
            ])
        func platformDirectory(environment: [String: String], path: String) {
            #expect(CacheDirectory.platformDirectory(environment: environment).path == path)
        }
    #endif

    @Test("H-161: the base directory ends in io.haneke")
    func base() {
        #expect(CacheDirectory.base.lastPathComponent == "io.haneke")
        #expect(CacheDirectory.base.path.hasPrefix("/"))
    }

    @Test(
        "H-162: a cache stands at base/name, whatever the name",
        arguments: [
            ("plain", "plain"), ("", "%"), (".", "%2E"), ("..", "%2E%2E"), ("a/b", "a%2Fb"), ("50%", "50%25"),
            ("a\0", "a%00"),
            ("é 🎬", "é 🎬"),
        ])
    func place(name: String, component: String) throws {
        let directory = try TemporaryDirectory()
        let cache = Cache<Data>(name: name, directory: directory.url)
        #expect(cache.diskError == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == [component])
    }

    @Test("H-162: two caches of one name share what is on disk, pending or written; memory is each one's own")
    func twoOfOneName() async throws {
        let fixture = try CacheFixture(String.self)
        let other = fixture.sibling()
        let hold = try fixture.holdWrites()
        fixture.cache.set(value: "v", key: "k")
        #expect(other.contains(key: "k") == .disk)
        #expect(try await other.fetch(key: "k").value == "v")
        hold.resume()
        #expect(try await other.size == fixture.cache.size)
        fixture.cache.remove(key: "k")
        #expect(other.contains(key: "k") == .memory)
        other.handleMemoryPressure()
        #expect(other.contains(key: "k") == .none)
    }

    @Test("H-162: caches of different names are apart")
    func apart() async throws {
        let fixture = try CacheFixture(String.self)
        let other = fixture.sibling(named: "other")
        fixture.cache.set(value: "v", key: "k")
        #expect(other.contains(key: "k") == .none)
        #expect(try await other.size == 0)
    }
}
