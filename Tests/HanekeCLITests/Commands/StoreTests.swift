import Foundation
import TestSupport
import Testing

/// ls, stat, clear, verify, compact, capacities, and stores that can't be used.
@Suite("Stores")
struct StoreTests {
    @Test("ls lists in the order of bytes, by prefix, and least recently used first")
    func listing() throws {
        let store = try StoreUnderTest()
        for key in ["b", "a/2", "a/1", "ä"] { try store.haneke("put", key, input: Data("value".utf8)) }
        #expect(try store.haneke("ls").text == "a/1\na/2\nb\nä\n")
        #expect(try store.haneke("ls", "--prefix", "a/").text == "a/1\na/2\n")
        #expect(try store.haneke("ls", "--lru").text == "b\na/2\na/1\nä\n")
        try store.haneke("get", "b")
        // has and ls are no use.
        try store.haneke("has", "a/2")
        #expect(try store.haneke("ls", "--lru").text == "a/2\na/1\nä\nb\n")
        let rows = try store.haneke("ls", "--long").text.split(separator: "\n")
        #expect(rows.count == 5)
        #expect(rows[1].hasSuffix("never                 a/1"))
        let entries = try #require(
            try store.haneke("ls", "--json", "--prefix", "b").json()["entries"] as? [[String: Any]])
        #expect(entries.count == 1)
        #expect(entries[0]["key"] as? String == "b")
        #expect(entries[0]["value_bytes"] as? Int == 5)
        #expect(entries[0]["expired"] as? Bool == false)
    }

    @Test("stat --json has every count, and they are right")
    func statistics() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "a", input: Data.sample(1_000))
        try store.haneke("put", "b", "--ttl", "0", input: Data.sample(500))
        try store.haneke("get", "a")
        try store.haneke("get", "gone")
        try store.haneke("get", "b")
        try store.haneke("compact", "--capacity", "1M")
        let report = try store.haneke("stat", "--json").json()
        let expected = [
            "entries": 2, "payload_bytes": 1_500, "capacity_bytes": 1_048_576, "hits": 1, "misses": 2, "writes": 2,
            "evictions": 0, "expirations": 1, "corruptions": 0, "refused": 0,
        ]
        for (name, number) in expected { #expect(report[name] as? Int == number, "\(name)") }
        #expect(try #require(report["bytes"] as? Int) >= 1_500)
        #expect(try #require(report["disk_bytes"] as? Int) > 0)
        #expect(report["bucket"] as? String == "default")
        #expect(report["buckets"] as? [String] == ["default"])
        #expect(try store.haneke("stat").text.contains("1.0 MiB"))
        try store.haneke("compact", "--capacity", "unlimited")
        let unlimited = try store.haneke("stat", "--json").json()
        #expect(unlimited["capacity_bytes"] is NSNull)
    }

    @Test("H-174: a value over the capacity is refused with a remedy, and nothing is evicted for it")
    func refused() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "small", "--capacity", "16K", input: Data("small".utf8))
        let run = try store.haneke("put", "large", input: Data.sample(20_000))
        #expect(run.status == 3)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains("\"large\"") && run.errors.contains("--capacity"))
        #expect(run.errors.contains("an older value of the key is gone"))
        #expect(try store.haneke("ls").text == "small\n")
        #expect(try store.haneke("stat", "--json").json()["refused"] as? Int == 1)
    }

    @Test("the capacity is kept in the store; least recently used entries go first, and lowering it evicts at once")
    func capacity() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "0", "--capacity", "64K", input: Data.sample(8_000))
        for key in 1..<12 {
            try store.haneke("get", "0")
            try store.haneke("put", "\(key)", input: Data.sample(8_000))
        }
        let report = try store.haneke("stat", "--json").json()
        #expect(try #require(report["bytes"] as? Int) <= 65_536)
        #expect(try #require(report["evictions"] as? Int) > 0)
        #expect(try store.haneke("has", "0").status == 0)
        #expect(try store.haneke("has", "1").status == 1)
        // A reading command would not be expected to evict: it refuses.
        #expect(try store.haneke("ls", "--capacity", "20000").status == 2)
        #expect(try store.haneke("stat", "--json").json()["capacity_bytes"] as? Int == 65_536)
        try store.haneke("compact", "--capacity", "20000")
        #expect(try #require(try store.haneke("stat", "--json").json()["bytes"] as? Int) <= 20_000)
    }

    @Test("the order of eviction is kept in the store: by sieve what was read stays, however long ago")
    func eviction() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "0", "--capacity", "64K", "--eviction", "sieve", input: Data.sample(8_000))
        try store.haneke("get", "0")
        for key in 1..<9 { try store.haneke("put", "\(key)", input: Data.sample(8_000)) }
        #expect(try store.haneke("has", "0").status == 0)
        #expect(try store.haneke("has", "1").status == 1)
        let report = try store.haneke("stat", "--json").json()
        #expect(report["eviction"] as? String == "sieve")
        #expect(try #require(report["evictions"] as? Int) > 0)
        // A reading command would not be expected to change it: it refuses.
        #expect(try store.haneke("stat", "--eviction", "lru").status == 2)
        try store.haneke("compact", "--eviction", "lru")
        #expect(try store.haneke("stat").text.contains("eviction     lru\n"))
        try store.haneke("put", "9", input: Data.sample(8_000))
        #expect(try store.haneke("has", "0").status == 1)
    }

    @Test("clear empties one bucket and leaves the others")
    func clear() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "a")
        try store.haneke("put", "a", "--bucket", "other")
        #expect(try store.haneke("clear", "--json").json()["removed"] as? Int == 1)
        #expect(try store.haneke("ls").text.isEmpty)
        #expect(try store.haneke("ls", "--bucket", "other").text == "a\n")
    }

    @Test("compact and verify say what they found")
    func upkeep() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "a", input: Data.sample(1_000))
        let verified = try store.haneke("verify", "--json").json()
        #expect(verified["sound"] as? Bool == true)
        #expect(verified["entries"] as? Int == 1)
        #expect(try store.haneke("verify").text.contains("sound"))
        #expect(try store.haneke("verify", "--bucket", "none").status == 3)
        let compacted = try store.haneke("compact", "--json").json()
        #expect(compacted["freed_bytes"] is Int && compacted["disk_bytes"] is Int)
    }

    /// A store with the values "large", which is spoiled on the disk, and "small".
    private static func spoiled() throws -> StoreUnderTest {
        let store = try StoreUnderTest()
        try store.haneke("put", "small", input: Data("hello".utf8))
        // Over the threshold, so that the value is a file that can be spoiled.
        try store.haneke("put", "large", input: Data.sample(400_000))
        let blobs = try #require(FileManager.default.enumerator(atPath: store.store + "/blobs"))
        let name = try #require(blobs.compactMap { $0 as? String }.first { $0.contains("/") })
        let file = try #require(FileHandle(forUpdatingAtPath: store.store + "/blobs/" + name))
        try file.seek(toOffset: 1_000)
        try file.write(contentsOf: Data("spoiled".utf8))
        try file.close()
        return store
    }

    @Test("export names what is damaged, writes the rest and ends with 3")
    func damageLeftOut() throws {
        let store = try Self.spoiled()
        let run = try store.haneke("export", store.directory.path("out"))
        #expect(run.status == 3)
        #expect(run.errors.contains("\"large\""))
        #expect(try store.read("out/small") == Data("hello".utf8))
        #expect(!FileManager.default.fileExists(atPath: store.directory.path("out/large")))
    }

    @Test("what get finds damaged is gone and counted for the next one")
    func damageGoes() throws {
        let store = try Self.spoiled()
        #expect(try store.haneke("get", "large").status == 1)
        #expect(try store.haneke("verify").status == 0)
        #expect(try store.haneke("stat", "--json").json()["corruptions"] as? Int == 1)
    }

    @Test("verify finds a damaged value: 3, one line, one document; get misses it")
    func damage() throws {
        let store = try Self.spoiled()
        let run = try store.haneke("verify", "--json")
        #expect(run.status == 3)
        #expect(run.errorLines.count == 1)
        #expect(try run.json()["sound"] as? Bool == false)
        #expect(try run.json()["damaged_records"] as? Int == 1)
        #expect(try store.haneke("get", "large").status == 1)
    }

    @Test("verify of a store that does not open sound names the tool's own remedy")
    func damagedStore() throws {
        let store = try StoreUnderTest()
        for key in 0..<100 { try store.haneke("put", "\(key)", input: Data.sample(3_000)) }
        let file = try #require(FileHandle(forUpdatingAtPath: store.store + "/data.mdb"))
        let size = try file.seekToEnd()
        for offset in stride(from: 3 * 4_096, to: size, by: 3 * 4_096) {
            try file.seek(toOffset: offset)
            try file.write(contentsOf: Data("spoiled".utf8))
        }
        try file.close()
        let run = try store.haneke("verify")
        #expect(run.status == 3)
        #expect(run.errors.contains("the store is damaged; any command but verify salvages what is whole"))
        #expect(try store.haneke("ls").status == 0)
        #expect(try store.haneke("verify").status == 0)
    }

    @Test("a question to a store or bucket that is not there is an error with a remedy")
    func missingStore() throws {
        let store = try StoreUnderTest()
        for command in ["ls", "stat", "clear", "verify", "compact"] {
            let run = try store.haneke(command)
            #expect(run.status == 3)
            #expect(run.errors.contains(store.store) && run.errors.contains("--store"))
        }
        let capacity = try store.haneke("compact", "--capacity", "1M")
        #expect(capacity.status == 3)
        #expect(try store.haneke("export", store.directory.path("out")).status == 3)
        #expect(!FileManager.default.fileExists(atPath: store.store))
        try store.haneke("put", "a", "--bucket", "mine")
        let run = try store.haneke("ls")
        #expect(run.status == 3)
        #expect(run.errors.contains("\"mine\""))
    }

    @Test("a file where the directory should be, and a directory that may not be written, are named in one line")
    func unusable() throws {
        let store = try StoreUnderTest()
        try store.write("store", Data("a file".utf8))
        for line in [["put", "k"], ["get", "k"], ["stat"]] {
            let run = try ToolRun(["--store", store.store] + line)
            #expect(run.status == 3)
            #expect(run.errorLines.count == 1)
            #expect(run.errors.contains(store.store))
        }
        // proc refuses new directories to everyone, root included.
        if FileManager.default.fileExists(atPath: "/proc/self") {
            let run = try ToolRun(["--store", "/proc/haneke", "put", "k"])
            #expect(run.status == 3)
            #expect(run.errors.contains("/proc/haneke"))
        }
        #expect(try store.haneke("put", "k", store.directory.path("missing")).status == 3)
        #expect(try store.haneke("put", "k", store.directory.path).status == 3)
    }

    @Test("wrong usage is 2, one line, and with --json still one document")
    func usage() throws {
        let store = try StoreUnderTest()
        let run = try store.haneke("frob", "--json")
        #expect(run.status == 2)
        #expect(run.errorLines.count == 1)
        #expect(try run.json()["exit_status"] as? Int == 2)
        #expect(try ToolRun([]).status == 2)
        #expect(try store.haneke("put", "k", "--capacity", "much").status == 2)
        #expect(try store.haneke("put", "k", "--eviction", "fifo").status == 2)
        #expect(!FileManager.default.fileExists(atPath: store.store))
    }

    @Test("help and version are answers")
    func help() throws {
        let help = try ToolRun(["--help"])
        #expect(help.status == 0)
        #expect(help.text.contains("Exit status"))
        #expect(try ToolRun(["get", "-h"]).text.contains("haneke get"))
        let version = try ToolRun(["--version"]).text
        #expect(version.wholeMatch(of: /haneke \d+\.\d+\.\d+\n/) != nil)
    }

    @Test("two processes that write at once lose nothing")
    func together() throws {
        let store = try StoreUnderTest()
        let script = """
            for n in 1 2 3 4 5 6 7 8; do (for k in a b c; do echo $n$k | $haneke put $n$k; done) & done; wait
            $haneke ls | wc -l
            """
        #expect(try store.shell(script).output.trimmingCharacters(in: .whitespacesAndNewlines) == "24")
        #expect(try store.haneke("verify").status == 0)
    }
}
