import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Redirects")
struct RedirectTests {
    private func hop(
        _ url: String, method: String = "GET", headers: HTTPHeaders = [:], body: Data? = nil
    ) throws -> RequestHop {
        try RequestHop(NetworkRequest(url, method: method, headers: headers, body: body))
    }

    private func head(_ status: Int, _ location: String?) -> ResponseHead {
        ResponseHead(status: status, headers: location.map { ["Location": $0] } ?? [:])
    }

    @Test(
        "N-087: which method goes on, and whether with its body",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
            (308, "POST", "POST"),
            (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
            (301, "HEAD", "HEAD"),
            (307, "GET", "GET"),
        ])
    func methods(_ status: Int, _ method: String, _ expected: String) throws {
        let body = method == "POST" || method == "PUT" ? Data("x".utf8) : nil
        let first = try hop(
            "http://h/a", method: method, headers: ["Content-Type": "text/x", "X-Kept": "1"], body: body)
        let next = try #require(try first.following(head(status, "/b")))
        #expect(next.method == expected)
        #expect(next.target.string == "http://h/b")
        #expect(next.body?.data == (expected == method ? body : nil))
        #expect(next.headers.contains("Content-Type") == (expected == method))
        #expect(next.headers["X-Kept"] == "1")
    }

    @Test("N-087: secrets stay with their origin, and stay dropped on the way back")
    func secrets() throws {
        let headers: HTTPHeaders = [
            "Authorization": "a", "cookie": "b", "Proxy-Authorization": "c", "X-Api-Key": "d", "X": "e",
        ]
        let first = try hop("https://h/", headers: headers)
        let same = try #require(try first.following(head(302, "/other")))
        #expect(same.headers["Authorization"] == "a")
        for other in ["https://h:444/", "https://other/", "https://sub.h/"] {
            let away = try #require(try first.following(head(302, other)))
            #expect(away.headers.map(\.name).filter { $0 != "Accept-Encoding" && $0 != "User-Agent" } == ["X"])
            let back = try #require(try away.following(head(302, "https://h/")))
            #expect(!back.headers.contains("Authorization"))
        }
    }

    @Test("N-087: https never leads to http, the other way is fine")
    func downgrade() throws {
        let error = #expect(throws: NetworkError.self) {
            try hop("https://h/").following(head(301, "http://h/?token=s"))
        }
        #expect(error?.code == .insecureRedirect)
        #expect(error?.description.contains("token=s") == false)
        #expect(try hop("http://h/").following(head(301, "https://h/"))?.target.isSecure == true)
    }

    @Test(
        "N-087: without a usable Location the 3xx is the answer",
        arguments: [nil, "ftp://h/", "http://h:99999/", "mailto:a@b"])
    func unusable(_ location: String?) throws {
        #expect(try hop("http://h/").following(head(302, location)) == nil)
    }

    @Test("N-087: other statuses lead nowhere", arguments: [200, 201, 300, 304, 305, 404])
    func otherStatuses(_ status: Int) throws {
        #expect(try hop("http://h/").following(head(status, "/b")) == nil)
    }

    @Test("N-086: credentials in a URL become basic authentication, over https or loopback only")
    func credentials() async throws {
        let server = try LoopbackServer { _ in .response() }
        _ = try await get("http://us%20er:p%40ss@127.0.0.1:\(server.port)/")
        let request = try #require(server.requests.first)
        #expect(request["Authorization"] == "Basic " + Data("us er:p@ss".utf8).base64EncodedString())
        #expect(!request.head.contains("p%40ss"))
        let error = #expect(throws: NetworkError.self) { try hop("http://u:secret@example.com/") }
        #expect(error?.code == .insecureCredentials)
        #expect(error?.description.contains("secret") == false)
        #expect(try hop("https://u:p@example.com/").headers["Authorization"] != nil)
        var permitted = try NetworkRequest("http://u:p@example.com/")
        permitted.allowsBasicOverHTTP = true
        #expect(try RequestHop(permitted).headers["Authorization"] != nil)
        #expect(permitted.description == "GET http://***@example.com/")
    }

    @Test("N-087: a chain is followed to its end, on one connection")
    func chain() async throws {
        let server = try LoopbackServer { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number < 10
                ? .response(status: 302, headers: [("Location", "/\(number + 1)")], body: "moved")
                : .response(body: "end")
        }
        let response = try await get(server.urlString("/0"))
        #expect(response.body == Data("end".utf8))
        #expect(response.url.path == "/10")
        #expect(server.requestCount == 11)
        #expect(server.counts.connections == 1)
    }

    @Test("N-087: a circle ends with the eleventh redirect")
    func circle() async throws {
        let server = try LoopbackServer { _ in .response(status: 302, headers: [("Location", "/?token=s")]) }
        let error = await expectFailure(.tooManyRedirects) { try await get(server.urlString()) }
        #expect(error?.chain.count == 12)
        #expect(error?.chain.last?.hasSuffix("/?token=***") == true)
        #expect(server.requestCount == 11)
    }

    @Test("N-087: a redirect is delivered when following is off")
    func notFollowed() async throws {
        let server = try LoopbackServer { _ in .response(status: 302, headers: [("Location", "/b")], body: "x") }
        let response = try await get(server.urlString()) { $0.followsRedirects = false }
        #expect(response.status == 302)
        #expect(response.body == Data("x".utf8))
    }

    @Test("N-087: the endless body of a redirect is not read to its end")
    func endlessRedirectBody() async throws {
        let server = try LoopbackServer { request in
            guard request.path == "/a" else { return .response(body: "end") }
            return .script { connection in
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n")
                while true { try connection.send(Data(repeating: 1, count: 16 * 1024)) }
            }
        }
        #expect(try await get(server.urlString("/a")).body == Data("end".utf8))
    }
}
