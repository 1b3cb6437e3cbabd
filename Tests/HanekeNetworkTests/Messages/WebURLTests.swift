import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Addresses")
struct WebURLTests {
    @Test(
        "N-092: a bad URL is refused with its reason",
        arguments: [
            ("", "empty"), ("example.com/a", "scheme"), ("file:///etc/passwd", "file"), ("ftp://h/", "ftp"),
            ("http://", "host"), ("http:///path", "host"), ("http://h:0/", "port"), ("http://h:65536/", "port"),
            ("http://h:8o/", "port"), ("http://a b/", "character"), ("http://a%20b/", "character"),
            ("http://[::1", "character"), ("http://[zz]/", "IPv6"), ("http://h/\r\nX: y", "control"),
            ("http://h/\0", "control"), ("http://u%FF@h/", "percent"), ("javascript://h/", "javascript"),
        ])
    func refused(_ text: String, _ reason: String) {
        let error = #expect(throws: NetworkError.self) { try NetworkRequest(text) }
        #expect(error?.code == .badURL)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test("N-092: more than 8 KiB is refused, 8 KiB is not")
    func length() throws {
        let prefix = "http://h/"
        _ = try WebURL(prefix + String(repeating: "a", count: WebURL.lengthMax - prefix.count))
        #expect(throws: NetworkError.self) {
            try WebURL(prefix + String(repeating: "a", count: WebURL.lengthMax - prefix.count + 1))
        }
    }

    @Test(
        "N-007: what needs encoding is encoded once",
        arguments: [
            ("http://H", "http://h/"), ("HTTPS://Ex.com:443/a?b#c", "https://ex.com/a?b"),
            ("http://h/a b", "http://h/a%20b"), ("http://h/%41%zz", "http://h/%41%25zz"),
            ("http://h/%", "http://h/%25"),
            ("http://h/ä?ö=ü", "http://h/%C3%A4?%C3%B6=%C3%BC"), ("http://h?q", "http://h/?q"),
            ("http://h?", "http://h/?"),
            ("http://h:8080/", "http://h:8080/"), ("http://[::1]:81/x", "http://[::1]:81/x"),
            ("http://h:/", "http://h/"),
            ("http://u:p@h/x", "http://h/x"), ("http://h\\@evil/", "http://h/%5C@evil/"),
        ])
    func encoded(_ text: String, _ expected: String) throws {
        #expect(try WebURL(text).string == expected)
    }

    @Test("N-086: user and password are taken out and decoded")
    func credentials() throws {
        let url = try WebURL("http://us%40er:p%3Aw:x@h/")
        #expect(url.credentials == .init(user: "us@er", password: "p:w:x"))
        #expect(url.host == "h")
        #expect(try WebURL("http://@h/").credentials == nil)
        #expect(try WebURL("http://only@h/").credentials == .init(user: "only", password: ""))
    }

    @Test(
        "N-087: a reference resolves against its base",
        arguments: [
            ("/x", "https://h/x"), ("x", "https://h/a/x"), ("../x", "https://h/x"), ("?q", "https://h/a/b?q"),
            ("//other/x", "https://other/x"), ("http://other:81/y", "http://other:81/y"), ("/a b", "https://h/a%20b"),
        ])
    func resolving(_ reference: String, _ expected: String) throws {
        #expect(try WebURL("https://h/a/b").resolving(reference)?.string == expected)
    }

    @Test(
        "N-087: a reference to anything but http and https resolves to nothing",
        arguments: ["ftp://h/", "data:x", "http://"])
    func unresolvable(_ reference: String) throws {
        #expect(try WebURL("https://h/").resolving(reference) == nil)
    }

    @Test("N-088: names and addresses of this machine are known as loopback")
    func loopback() throws {
        for text in [
            "http://localhost/", "http://a.localhost/", "http://127.0.0.1/", "http://127.9.9.9/", "http://[::1]/",
        ] {
            #expect(try WebURL(text).isLoopback, "\(text)")
        }
        for text in [
            "http://127.0.0.1.example.com/", "http://localhost.example.com/", "http://10.0.0.1/", "http://[::2]/",
        ] {
            #expect(try !WebURL(text).isLoopback, "\(text)")
        }
    }

    @Test("N-092: a URL value with a foreign scheme fails when it is sent")
    func urlValue() async {
        await expectFailure(.badURL) {
            try await NetworkClient(transport: makeTransport()).send(NetworkRequest(url: URL(filePath: "/etc/passwd")))
        }
    }
}
