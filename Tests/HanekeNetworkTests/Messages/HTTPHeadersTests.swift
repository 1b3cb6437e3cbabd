import Testing

@testable import HanekeNetwork

@Suite("Header fields")
struct HTTPHeadersTests {
    @Test("N-078: access ignores case, the list keeps case and order")
    func access() {
        let headers: HTTPHeaders = ["X-One": "1", "content-TYPE": "text/plain", "x-one": "2"]
        #expect(headers["CONTENT-type"] == "text/plain")
        #expect(headers["x-ONE"] == "1, 2")
        #expect(headers.values(for: "X-ONE") == ["1", "2"])
        #expect(headers.map(\.name) == ["X-One", "content-TYPE", "x-one"])
        #expect(headers["Missing"] == nil)
        #expect(!headers.contains("Missing"))
    }

    @Test("N-078: Set-Cookie is never joined")
    func setCookie() {
        let headers: HTTPHeaders = ["Set-Cookie": "a=1, x", "set-cookie": "b=2"]
        #expect(headers["Set-Cookie"] == "a=1, x")
        #expect(headers.values(for: "SET-COOKIE") == ["a=1, x", "b=2"])
    }

    @Test("N-078: setting replaces every line of the name at the place of the first; nil removes")
    func setting() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3", "C": "4"]
        headers["a"] = "5"
        #expect(headers.map { "\($0.name)=\($0.value)" } == ["a=5", "B=2", "C=4"])
        headers["b"] = nil
        #expect(headers.map(\.name) == ["a", "C"])
        headers.add("6", for: "C")
        #expect(headers["c"] == "4, 6")
    }

    @Test("N-105: the description hides secrets")
    func description() {
        let headers: HTTPHeaders = ["authorization": "Basic c2VjcmV0", "Accept": "a"]
        #expect(headers.description == "authorization: ***\nAccept: a")
    }

    @Test("N-096: equal lengths count as one, different ones contradict")
    func declaredLength() {
        func length(_ values: String...) -> ResponseHead.DeclaredLength {
            let fields = values.map { HTTPHeaders.Field(name: "Content-Length", value: $0) }
            return ResponseHead(status: 200, headers: HTTPHeaders(fields)).declaredLength
        }
        #expect(length() == .none)
        #expect(length("12") == .length(12))
        #expect(length("12", "12") == .length(12))
        #expect(length("12, 12") == .length(12))
        #expect(length("12", "13") == .contradictory)
        #expect(length("12,13") == .contradictory)
        #expect(length("-1") == .contradictory)
        #expect(length("+1") == .contradictory)
        #expect(length("1 2") == .contradictory)
        #expect(length("99999999999999999999") == .contradictory)
        #expect(length("") == .contradictory)
    }
}
