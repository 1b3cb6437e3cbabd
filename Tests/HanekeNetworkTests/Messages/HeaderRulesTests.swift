import Foundation
import Testing

@testable import HanekeNetwork

@Suite("What may be sent")
struct HeaderRulesTests {
    private func request(_ headers: HTTPHeaders, method: String = "GET", body: Data? = nil) throws -> TransportRequest {
        try TransportRequest(url: "http://h:81/", method: method, headers: headers, body: body)
    }

    @Test(
        "N-093: line breaks and NUL in a value are refused, never stripped",
        arguments: ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\u{7F}b"])
    func values(_ value: String) {
        let error = #expect(throws: NetworkError.self) { try request(["X-A": value]) }
        #expect(error?.code == .invalidHeader)
    }

    @Test("N-093: field names must be tokens", arguments: ["", "a b", "a:b", "a\r\n", "ä", "a\0"])
    func names(_ name: String) {
        let error = #expect(throws: NetworkError.self) { try request([name: "x"]) }
        #expect(error?.code == .invalidHeader)
    }

    @Test("N-093: the method must be a token", arguments: ["", "GE T", "GET\r\nX: y", "GET /x HTTP/1.1"])
    func methods(_ method: String) {
        let error = #expect(throws: NetworkError.self) { try request([:], method: method) }
        #expect(error?.code == .invalidHeader)
    }

    @Test("N-093: framing and Host that contradict the request are refused, equal ones pass")
    func contradictions() throws {
        let body = Data("12345".utf8)
        for headers: HTTPHeaders in [["Content-Length": "4"], ["Transfer-Encoding": "chunked"], ["Host": "evil"]] {
            let error = #expect(throws: NetworkError.self) { try request(headers, method: "POST", body: body) }
            #expect(error?.code == .invalidHeader)
        }
        _ = try request(["Content-Length": "5", "Host": "H:81"], method: "POST", body: body)
    }

    @Test("N-017: GET and HEAD carry no body", arguments: ["GET", "HEAD"])
    func bodies(_ method: String) {
        let error = #expect(throws: NetworkError.self) { try request([:], method: method, body: Data("x".utf8)) }
        #expect(error?.code == .bodyNotAllowed)
    }

    @Test("N-093: tabs, spaces and bytes above ASCII are values")
    func permitted() throws {
        _ = try request(["X-A": "a\tb  c", "X-Empty": "", "X-U": "ä"])
    }
}
