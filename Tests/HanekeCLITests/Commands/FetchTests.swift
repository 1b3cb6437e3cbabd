import Foundation
import TestSupport
import Testing

/// fetch, through the built tool and a server of the test's own.
@Suite("Fetch")
struct FetchTests {
    @Test("the network answers once, then the disk; get and ls see the entry")
    func tiers() throws {
        let store = try StoreUnderTest()
        let value = Data.sample(100_000)
        let server = try LoopbackServer { _ in .response(body: value) }
        let url = server.urlString("/file?q=1")
        let first = try store.haneke("fetch", url)
        #expect(first.status == 0)
        #expect(first.output == value)
        #expect(first.errors.contains("from network"))
        let second = try store.haneke("fetch", url)
        #expect(second.output == value)
        #expect(second.errors.contains("from disk"))
        #expect(server.requestCount == 1)
        #expect(try store.haneke("get", url).output == value)
        #expect(try store.haneke("ls").text == url + "\n")
    }

    @Test("user and password of a URL are on no screen, in no document and in no key")
    func credentials() throws {
        let store = try StoreUnderTest()
        let server = try LoopbackServer { $0.path == "/a" ? .response(body: "hello") : .response(status: 404) }
        for path in ["/a", "/missing"] {
            let url = server.urlString(path).replacingOccurrences(of: "http://", with: "http://user:s3cret@")
            for run in [try store.haneke("fetch", url), try store.haneke("fetch", url, "--json")] {
                #expect(!run.errors.contains("s3cret") && !run.text.contains("s3cret"))
            }
        }
        #expect(try store.haneke("ls").text == server.urlString("/a") + "\n")
    }

    @Test("each hit and each miss is counted, whatever still runs when the tool ends")
    func counts() throws {
        let store = try StoreUnderTest()
        let server = try LoopbackServer { $0.path == "/" ? .response(body: "hello") : .response(status: 404) }
        for _ in 0..<20 { try store.haneke("fetch", server.urlString()) }
        for _ in 0..<5 { try store.haneke("fetch", server.urlString("/gone")) }
        let counted = try store.haneke("stat", "--json").json()
        #expect(counted["hits"] as? Int == 19)
        #expect(counted["misses"] as? Int == 6)
    }

    @Test("--json is one document with the source; -o writes the value to a file")
    func documents() throws {
        let store = try StoreUnderTest()
        let server = try LoopbackServer { _ in .response(body: "hello") }
        let report = try store.haneke("fetch", server.urlString(), "--json").json()
        #expect(report["source"] as? String == "network")
        #expect(report["value"] as? String == "hello")
        let run = try store.haneke("fetch", server.urlString(), "--json", "-o", store.directory.path("out"))
        #expect(try run.json()["source"] as? String == "disk")
        #expect(try store.read("out") == Data("hello".utf8))
    }

    @Test("--ttl and --capacity go with the entry and the bucket")
    func limits() throws {
        let store = try StoreUnderTest()
        let server = try LoopbackServer { _ in .response(body: "hello") }
        let line = ["fetch", server.urlString(), "--bucket", "b", "--ttl", "0", "--capacity", "1M"]
        for _ in 0..<2 {
            let run = try ToolRun(["--store", store.store] + line)
            #expect(run.text == "hello")
            #expect(run.errors.contains("from network"))
        }
        #expect(server.requestCount == 2)
        #expect(try store.haneke("stat", "--bucket", "b", "--json").json()["capacity_bytes"] as? Int == 1_048_576)
        // A fetch without --capacity leaves it as it is.
        try store.haneke("fetch", server.urlString(), "--bucket", "b")
        #expect(try store.haneke("stat", "--bucket", "b", "--json").json()["capacity_bytes"] as? Int == 1_048_576)
    }

    @Test(
        "a status, a refused connection and a body cut short are 3, in one line that names the URL",
        arguments: ["/404", "/500", "/cut", ""])
    func failures(path: String) throws {
        let store = try StoreUnderTest()
        let server = try LoopbackServer { request in
            request.path == "/cut"
                ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
                : .response(status: Int(request.path.dropFirst()) ?? 200)
        }
        let url = server.urlString(path)
        if path.isEmpty { server.stop() }
        let run = try store.haneke("fetch", url)
        #expect(run.status == 3)
        #expect(run.output.isEmpty)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains("127.0.0.1:\(server.port)"))
        #expect(try store.haneke("ls").text.isEmpty)
    }

    @Test("a value over the capacity is written, and said to be not kept, with the tool's remedy")
    func notKept() throws {
        let store = try StoreUnderTest()
        let value = Data.sample(100_000)
        let server = try LoopbackServer { _ in .response(body: value) }
        let run = try store.haneke("fetch", server.urlString(), "--capacity", "50K")
        #expect(run.status == 0)
        #expect(run.output == value)
        #expect(run.errorLines.count == 2)
        #expect(run.errors.contains("could not write") && run.errors.contains("raise it with --capacity"))
    }

    @Test(
        "a port that there is none of is wrong usage that names it, and makes no store",
        arguments: [
            ("http://127.0.0.1:99999/", "99999"), ("http://h:0", "0"), ("https://[::1]:65536/?a:1", "65536"),
            ("http://h:99999999999999999999#:1", "99999999999999999999"), ("http://user:s3cret@h:70000/a@b", "70000"),
        ])
    func badPorts(url: String, port: String) throws {
        let store = try StoreUnderTest()
        let run = try store.haneke("fetch", url)
        #expect(run.status == 2)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains("there is no port \(port); ports go from 1 to 65535"))
        #expect(!run.errors.contains("s3cret"))
        #expect(!FileManager.default.fileExists(atPath: store.store))
    }

    @Test(
        "what is no http or https URL is wrong usage",
        arguments: ["", "example", "ftp://h/f", "http://", "/etc/passwd"])
    func badURLs(text: String) throws {
        let store = try StoreUnderTest()
        #expect(try store.haneke("fetch", text).status == 2)
    }
}
