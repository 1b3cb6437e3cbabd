import Foundation
import TestSupport
import Testing

/// import and export, through the built tool.
@Suite("Trees")
struct TreeTests {
    @Test("what was imported comes out of export as the same tree")
    func roundTrip() throws {
        let store = try StoreUnderTest()
        try store.write("in/readme.txt", Data("hello".utf8))
        try store.write("in/sub/empty", Data())
        try store.write("in/sub/deeper/bytes", Data.sample(5_000))
        try store.write("in/large 🐎", Data.sample(400_000))
        try store.write("in/streamed", Data.sample(5 << 20))
        let run = try store.haneke("import", store.directory.path("in"), "--json")
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        #expect(try run.json()["imported"] as? Int == 5)
        #expect(try store.haneke("ls").text == "large 🐎\nreadme.txt\nstreamed\nsub/deeper/bytes\nsub/empty\n")
        #expect(try store.haneke("export", store.directory.path("out")).status == 0)
        #expect(try store.shell("diff -r in out").status == 0)
        // Again, over what is there.
        #expect(try store.haneke("export", store.directory.path("out")).status == 0)
        #expect(try store.shell("diff -r in out").status == 0)
    }

    @Test("no key leaves the exported directory, and all are there")
    func hostileKeys() throws {
        let store = try StoreUnderTest()
        let keys = [
            "../../x", "/etc/passwd", "..", ".", "a", "a/b", "a//b", "e/\u{301}../y", "../\u{301}../z", "%2Fetc/passwd",
        ]
        for key in keys { try store.haneke("put", key, input: Data(key.utf8)) }
        let run = try store.haneke("export", store.directory.path("o/u/t"), "--json")
        #expect(run.status == 0)
        #expect(try run.json()["exported"] as? Int == keys.count)
        #expect(try store.shell("find . -path ./store -prune -o -type f -print | grep -vc '^./o/u/t/'").output == "0\n")
        #expect(try store.shell("find o/u/t -type f | wc -l").output.contains("\(keys.count)"))
        #expect(try store.read("o/u/t/a") == Data("a".utf8))
        #expect(try store.read("o/u/t/a%2Fb") == Data("a/b".utf8))
        #expect(try store.read("o/u/t/%2Fetc/passwd") == Data("/etc/passwd".utf8))
    }

    @Test("export follows no link that stands in the directory")
    func links() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "link/file", input: Data("inside".utf8))
        try store.haneke("put", "leaf", input: Data("inside".utf8))
        try store.write("elsewhere/file", Data("outside".utf8))
        #expect(try store.shell("mkdir out; ln -s ../elsewhere out/link; ln -s ../elsewhere/file out/leaf").status == 0)
        #expect(try store.haneke("export", store.directory.path("out")).status == 0)
        #expect(try store.read("elsewhere/file") == Data("outside".utf8))
        #expect(try store.read("out/leaf") == Data("inside".utf8))
        #expect(try store.read("out/link%2Ffile") == Data("inside".utf8))
    }

    @Test("import follows no link, leaves the store out, and names what it can't take")
    func obstacles() throws {
        let store = try StoreUnderTest()
        try store.write("good", Data("good".utf8))
        try store.write("zlarge", Data.sample(50_000))
        try store.write("zlarger", Data.sample(500_000))
        try store.write("zlargest", Data.sample(3 << 20))
        #expect(try store.shell("ln -s good link; ln -s . loop; mkfifo pipe; printf x > $'bad\\xff'").status == 0)
        let run = try store.haneke("import", store.directory.path, "--capacity", "32K", "--json")
        #expect(run.status == 3)
        #expect(run.errorLines.count == 4)
        for word in ["UTF-8", "zlarge:", "zlarger:", "zlargest: a value of at least 3.0 MiB", "--capacity"] {
            #expect(run.errors.contains(word))
        }
        #expect(try run.json()["imported"] as? Int == 1)
        #expect(try run.json()["failed"] as? Int == 4)
        #expect(try store.haneke("ls").text == "good\n")
        #expect(try store.haneke("import", store.directory.path("missing")).status == 3)
    }

    @Test("more than the capacity: the limit holds, and what was imported first has gone")
    func eviction() throws {
        let store = try StoreUnderTest()
        for number in 100..<160 { try store.write("in/\(number)", Data.sample(6_000)) }
        #expect(
            try store.haneke("import", store.directory.path("in"), "--capacity", "128K", "--ttl", "3600").status == 0)
        let kept = try store.haneke("ls").text.split(separator: "\n").map(String.init)
        #expect(kept.count < 60 && kept == (160 - kept.count..<160).map(String.init))
        #expect(try #require(try store.haneke("stat", "--json").json()["bytes"] as? Int) <= 131_072)
        let again = try store.haneke("import", store.directory.path("in"), "--json").json()
        #expect(again["imported"] as? Int == 60)
        #expect(try #require(again["evicted"] as? Int) > 0)
    }

    #if os(Linux)
        @Test("a disk with no room ends the import: how many files went in, and how many did not")
        func diskFull() throws {
            let store = try StoreUnderTest()
            // In order: 300 in two commits, one that the limit on the size of a file refuses, and three never looked at.
            for number in 100..<400 { try store.write("in/a\(number)", Data.sample(10)) }
            try store.write("in/b", Data.sample(3 << 20))
            for number in 1...3 { try store.write("in/c\(number)", Data.sample(10)) }
            // Bash counts in KiB. An ignored SIGXFSZ leaves the error.
            let script = """
                trap '' XFSZ; ulimit -f 2048
                $haneke import in --json > report 2> errors; echo $?; cat errors; cat report >&2
                """
            let run = try store.shell(script)
            let lines = run.output.split(separator: "\n")
            try #require(lines.count == 3)
            #expect(lines[0] == "3")
            #expect(
                lines[1].contains("\"b\": no room on the file system") && lines[1].contains("haneke compact --capacity")
            )
            #expect(lines[1].hasSuffix("the import ended there: 300 files went in, 4 did not"))
            let report = try #require(try JSONSerialization.jsonObject(with: store.read("report")) as? [String: Any])
            #expect(report["imported"] as? Int == 300)
            #expect(report["failed"] as? Int == 4)
            #expect(try store.haneke("verify").status == 0)
        }
    #endif

    @Test("expired entries are not exported")
    func expired() throws {
        let store = try StoreUnderTest()
        try store.haneke("put", "over", "--ttl", "0", input: Data("x".utf8))
        let run = try store.haneke("export", store.directory.path("out"), "--json")
        #expect(try run.json()["exported"] as? Int == 0)
    }
}
