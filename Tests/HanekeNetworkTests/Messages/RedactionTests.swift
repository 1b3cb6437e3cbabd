import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Secrets in texts")
struct RedactionTests {
    @Test(
        "N-105: user information and secret parameters print as ***",
        arguments: [
            ("http://u:p@h/x", "http://***@h/x"), ("http://h/@x", "http://h/@x"),
            ("http://h/?a=1&token=s&b=2", "http://h/?a=1&token=***&b=2"),
            ("http://h/?API_KEY=s", "http://h/?API_KEY=***"),
            ("http://h/?%74oken=s#f", "http://h/?%74oken=***#f"), ("http://h/?token", "http://h/?token"),
            ("http://h/?monkey=s", "http://h/?monkey=s"), ("http://a@b@h/", "http://***@h/"), ("nonsense", "nonsense"),
        ])
    func url(_ text: String, _ expected: String) {
        #expect(Redaction.url(text) == expected)
    }

    @Test("N-105: a text is printed in one line of bounded length")
    func printable() {
        #expect(Redaction.printable("a\r\n\u{1B}[31m") == "a\\r\\n\\u{1B}[31m")
        #expect(Redaction.printable(String(repeating: "x", count: 300)).count == 201)
    }

    @Test("N-105: an error hides the secrets of its address")
    func error() {
        let error = NetworkError(.dns, "no such name", url: "https://u:pw@h/?sig=abc")
        #expect(error.description == "dns: https://***@h/?sig=***: no such name")
        #expect(error.localizedDescription == error.description)
    }

    @Test("Errors of one kind are equal, whatever their address; a timeout's phase belongs to its kind")
    func equality() throws {
        let target = try WebURL("http://h/")
        #expect(NetworkError(.dns, "a", url: "http://a/") == NetworkError(.dns, "b"))
        #expect(NetworkError(.dns, "a") != NetworkError(.tls, "a"))
        #expect(
            NetworkError.timeout(.idle, limit: .seconds(1), target)
                != NetworkError.timeout(.connect, limit: .seconds(1), target))
        #expect(NetworkError(.connect, "").isTransient)
        #expect(!NetworkError(.badURL, "").isTransient)
    }
}
