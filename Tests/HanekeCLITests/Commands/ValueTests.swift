import Foundation
import TestSupport
import Testing

/// put, get, has, rm: single values, through the built tool.
@Suite("Values")
struct ValueTests {
    @Test(
        "what put takes from a file or a pipe, get gives back byte for byte", arguments: [0, 1, 1_000, 70_000, 3 << 20])
    func roundTrip(count: Int) throws {
        let store = try StoreUnderTest()
        let value = Data.sample(count)
        try store.write("file", value)
        #expect(try store.haneke("put", "piped", input: value).status == 0)
        #expect(try store.haneke("put", "filed", store.directory.path("file")).status == 0)
        for key in ["piped", "filed"] {
            let run = try store.haneke("get", key)
            #expect(run.status == 0)
            #expect(run.output == value)
            #expect(run.errors.isEmpty)
        }
        let script = "$haneke get piped | $haneke put again - && $haneke get again | cmp - file"
        #expect(try store.shell(script).status == 0)
    }

    #if os(Linux)
        @Test("put streams: 64 MiB through a pipe take no more memory than 4")
        func boundedMemory() throws {
            let store = try StoreUnderTest()
            try store.haneke("put", "k", input: Data("old".utf8))
            // When cat is done, all but the pipe's own 64 KiB has been read, and the tool still waits for the end.
            let script = """
                mkfifo pipe; head -c 67108864 /dev/urandom > large; head -c 4194304 large > small
                before=old; printf old > old
                for file in small large; do
                    $haneke put k pipe & tool=$!
                    exec 3> pipe; cat $file >&3
                    awk '/VmHWM/ { print $2 }' /proc/$tool/status
                    $haneke get k | cmp - $before && echo unseen
                    exec 3>&-; wait $tool && $haneke get k | cmp - $file && echo same
                    before=$file
                done
                """
            let lines = try store.shell(script).output.split(separator: "\n")
            try #require(lines.count == 6)
            let (small, large) = (try #require(Int(lines[0])), try #require(Int(lines[3])))
            #expect(large < small + (16 << 10))
            #expect([lines[1], lines[2], lines[4], lines[5]] == ["unseen", "same", "unseen", "same"])
        }
    #endif

    @Test("a value over the capacity is refused, also one that never ends; what was under the key has gone")
    func tooLarge() throws {
        let store = try StoreUnderTest()
        try store.write("file", Data.sample(3 << 20))
        for script in ["$haneke put k file", "cat file | $haneke put k", "yes | $haneke put k"] {
            #expect(try store.haneke("put", "k", "--capacity", "1M", input: Data("x".utf8)).status == 0)
            let run = try store.shell(script)
            #expect(run.status == 3)
            #expect(run.output.contains("key \"k\": a value of ") && run.output.contains("raise it with --capacity"))
            #expect(try store.haneke("has", "k").status == 1)
        }
        #expect(try store.shell("find store/blobs -type f").output.isEmpty)
        #expect(try store.haneke("verify").status == 0)
    }

    @Test("get -o writes a file whole, and leaves it alone on a miss")
    func outputFile() throws {
        let store = try StoreUnderTest()
        try store.write("out", Data("old".utf8))
        #expect(try store.haneke("get", "k", "-o", store.directory.path("out")).status == 1)
        #expect(try store.read("out") == Data("old".utf8))
        try store.haneke("put", "k", input: Data("new".utf8))
        #expect(try store.haneke("get", "k", "-o", store.directory.path("out")).output.isEmpty)
        #expect(try store.read("out") == Data("new".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.directory.path).sorted() == ["out", "store"])
        let run = try store.haneke("get", "k", "-o", store.directory.path("missing/out"))
        #expect(run.status == 3)
        #expect(run.errors.contains("missing/out"))
    }

    @Test("a miss is 1 and quiet, with or without a store, and asking makes none")
    func misses() throws {
        let store = try StoreUnderTest()
        for line in [["get", "k"], ["has", "k"], ["rm", "k"]] {
            let run = try ToolRun(["--store", store.store] + line)
            #expect(run.status == 1)
            #expect(run.output.isEmpty && run.errors.isEmpty)
        }
        #expect(!FileManager.default.fileExists(atPath: store.store))
        try store.haneke("put", "other")
        #expect(try store.haneke("get", "k").status == 1)
        #expect(try store.haneke("get", "other", "--bucket", "elsewhere").status == 1)
    }

    @Test("has and rm answer by their status; rm of several says 1 if one was not there")
    func hasAndRemove() throws {
        let store = try StoreUnderTest()
        for key in ["a", "b", "c"] { try store.haneke("put", key) }
        #expect(try store.haneke("has", "a").status == 0)
        #expect(try store.haneke("rm", "a", "b").status == 0)
        #expect(try store.haneke("has", "a").status == 1)
        let run = try store.haneke("rm", "c", "gone", "--json")
        #expect(run.status == 1)
        let report = try run.json()
        #expect(report["removed"] as? Int == 1)
        #expect(report["missing"] as? [String] == ["gone"])
    }

    @Test("rm --prefix removes all that start so, and nothing else")
    func removePrefix() throws {
        let store = try StoreUnderTest()
        for key in ["a/1", "a/2", "ab", "b"] { try store.haneke("put", key) }
        let run = try store.haneke("rm", "--prefix", "a/", "--json")
        #expect(run.status == 0)
        #expect(try run.json()["removed"] as? Int == 2)
        #expect(try store.haneke("ls").text == "ab\nb\n")
        #expect(try store.haneke("rm", "--prefix", "zz").status == 0)
        for line in [["rm"], ["rm", "k", "--prefix", "p"], ["rm", "--prefix", ""]] {
            #expect(try ToolRun(["--store", store.store] + line).status == 2)
        }
    }

    @Test("H-230: --ttl 0 has expired from the start; a long one has not, and is listed")
    func lifetimes() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "over", "--ttl", "0", input: Data("x".utf8))
        try store.haneke("put", "--ttl=86400", "lasting", input: Data("x".utf8))
        #expect(try store.haneke("get", "over").status == 1)
        #expect(try store.haneke("has", "over").status == 1)
        #expect(try store.haneke("get", "lasting").status == 0)
        let entry = try #require(try store.haneke("has", "lasting", "--json").json()["entry"] as? [String: Any])
        let written = try #require(entry["written_at_ms"] as? Int)
        #expect(entry["expires_at_ms"] as? Int == written + 86_400_000)
        for bad in ["-1", "soon", "nan", ""] { #expect(try store.haneke("put", "k", "--ttl=\(bad)").status == 2) }
    }

    @Test(
        "H-177: any text is a key",
        arguments: [
            "a b", "--", "-o", "🐎", "a/b\\c:d%", "line\nbreak", "é", "e\u{301}", String(repeating: "k", count: 65_536),
        ])
    func keys(key: String) throws {
        let store = try StoreUnderTest()
        #expect(try store.haneke("put", "--", key, input: Data(key.utf8)).status == 0)
        #expect(try store.haneke("get", "--", key).text == key)
        let listed = try store.haneke("ls", "--json").json()["entries"] as? [[String: Any]]
        #expect(listed?.first?["key"] as? String == key)
        #expect(try store.haneke("rm", "--", key).status == 0)
    }

    @Test("H-180: composed and decomposed é are two keys")
    func composition() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "é", input: Data("composed".utf8))
        #expect(try store.haneke("get", "e\u{301}").status == 1)
    }

    @Test("H-179, H-183: an empty key, one over 64 KiB and one that is no UTF-8 are wrong usage; nothing is made")
    func badKeys() throws {
        let store = try StoreUnderTest()
        for key in ["", String(repeating: "k", count: 65_537)] {
            let run = try store.haneke("put", key)
            #expect(run.status == 2)
            #expect(run.errors.contains("65,536"))
        }
        let run = try store.shell("printf x | $haneke put $'\\xff'")
        #expect(run.status == 2)
        #expect(run.output.contains("UTF-8"))
        #expect(!FileManager.default.fileExists(atPath: store.store))
    }

    @Test("get into a pipe that is closed ends quietly, and the store is sound")
    func closedPipe() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "large", input: Data.sample(4 << 20))
        let run = try store.shell("set -o pipefail; $haneke get large | head -c 1 > /dev/null")
        #expect(run.status == 0)
        #expect(run.output.isEmpty)
        #expect(try store.haneke("verify").status == 0)
    }

    @Test(
        "a full device is an error that names standard output",
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func fullOutput() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "k", input: Data.sample(100_000))
        let run = try store.shell("$haneke get k > /dev/full 2> errors; echo $?; cat errors")
        #expect(run.output.hasPrefix("3\n"))
        #expect(run.output.contains("standard output"))
    }

    @Test("get --json holds the value: as text, or in base 64 where it is none")
    func jsonValues() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "text", input: Data("zwölf".utf8))
        try store.haneke("put", "bytes", input: Data([0, 255]))
        let text = try store.haneke("get", "text", "--json").json()
        #expect(text["encoding"] as? String == "utf-8")
        #expect(text["value"] as? String == "zwölf")
        let bytes = try store.haneke("get", "bytes", "--json").json()
        #expect(bytes["encoding"] as? String == "base64")
        #expect(bytes["value"] as? String == Data([0, 255]).base64EncodedString())
        let miss = try store.haneke("get", "gone", "--json")
        #expect(miss.status == 1)
        #expect(try miss.json()["found"] as? Bool == false)
    }
}
