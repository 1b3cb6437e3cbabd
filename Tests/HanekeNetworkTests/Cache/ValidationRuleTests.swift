import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Validation")
struct ValidationRuleTests {
    private func conditions(_ chosen: StoredHead?, _ variants: [StoredHead] = []) -> [String] {
        ValidationRule.conditions(chosen, variants: variants).map { "\($0.name): \($0.value)" }
    }

    @Test("N-051: the exact tag, and the date if it is one")
    func conditions() {
        #expect(conditions(stored(["ETag": "W/\"a\""])) == ["If-None-Match: W/\"a\""])
        #expect(conditions(stored(["Last-Modified": httpDate()])) == ["If-Modified-Since: \(httpDate())"])
        #expect(conditions(stored(["ETag": "x", "Last-Modified": httpDate()])).count == 2)
        #expect(conditions(stored(["Last-Modified": "yesterday"])).isEmpty)
        #expect(conditions(stored([:])).isEmpty)
    }

    @Test("N-051: without a match, at most five tags of the variants")
    func tags() {
        let variants = (0..<7).map { stored(["ETag": "\"\($0)\""]) }
        #expect(conditions(nil, variants).first?.split(separator: ",").count == 5)
        #expect(conditions(nil, [stored([:])]).isEmpty)
    }

    @Test("N-052, N-053: which entry a 304 is about")
    func selection() {
        let (a, b) = (stored(["ETag": "\"a\""]), stored(["ETag": "W/\"b\""]))
        func pick(_ headers: HTTPHeaders, chosen: StoredHead? = nil) -> StoredHead? {
            ValidationRule.selected(by: ResponseHead(status: 304, headers: headers), chosen: chosen, variants: [a, b])
        }
        #expect(pick(["ETag": "\"a\""]) == a)
        #expect(pick(["ETag": "\"b\""]) == nil)
        #expect(pick(["ETag": "W/\"b\""]) == b)
        #expect(pick(["ETag": "\"foreign\""], chosen: a) == nil)
        #expect(pick([:], chosen: a) == a)
        #expect(pick([:]) == nil)
    }

    @Test("N-052: fields of the 304 replace stored ones, but not those that describe the bytes")
    func merge() {
        let old = stored([
            "A": "1", "A": "2", "B": "3", "Content-Length": "9", "Content-Encoding": "gzip", "Age": "50", "Vary": "X",
        ])
        let answer = ResponseHead(
            status: 304,
            headers: ["a": "4", "Content-Length": "0", "Content-Encoding": "br", "Connection": "close", "Vary": "Y"])
        let new = ValidationRule.refreshed(
            old, by: answer, request: ["Y": "q"], sent: receipt + 10, received: receipt + 11)
        #expect(new.headers.values(for: "A") == ["4"])
        #expect(new.headers["B"] == "3")
        #expect(new.headers["Content-Length"] == "9")
        #expect(new.headers["Content-Encoding"] == "gzip")
        #expect(!new.headers.contains("Age") && !new.headers.contains("Connection"))
        #expect(new.selectors == [.init(name: "y", value: "q")])
        #expect(new.responseTime == receipt + 11)
    }

    @Test("N-056: a HEAD that agrees updates the entry, one that differs makes it doubtful")
    func head() {
        let old = stored(["ETag": "\"a\"", "Content-Length": "9", "Cache-Control": "max-age=1"])
        func update(_ headers: HTTPHeaders) -> StoredHead {
            ValidationRule.updated(
                old, byHead: ResponseHead(status: 200, headers: headers), sent: receipt, received: receipt + 5)
        }
        let same = update(["ETag": "\"a\"", "Content-Length": "9", "Cache-Control": "max-age=99"])
        #expect(!same.needsValidation && same.headers["Cache-Control"] == "max-age=99")
        #expect(update(["ETag": "\"b\""]).needsValidation)
        #expect(update(["Content-Length": "8"]).needsValidation)
    }
}
