import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Freshness")
struct FreshnessTests {
    @Test("N-044: max-age beats Expires, which beats the guess")
    func order() {
        let all: HTTPHeaders = [
            "Cache-Control": "max-age=10", "Expires": httpDate(100), "Date": httpDate(),
            "Last-Modified": httpDate(-10_000),
        ]
        #expect(Freshness.lifetime(stored(all)) == 10)
        #expect(Freshness.lifetime(stored(HTTPHeaders(Array(all.dropFirst())))) == 100)
        #expect(Freshness.lifetime(stored(HTTPHeaders(Array(all.dropFirst(2))))) == 1000)
        #expect(Freshness.lifetime(stored(["Date": httpDate()])) == 0)
    }

    @Test(
        "N-044: the guess is a tenth of the time since the change, a day at most, for some statuses or with public",
        arguments: [
            (200, -1000.0, "", 100.0), (404, -1000, "", 100), (302, -1000, "", 0), (302, -1000, "public", 100),
            (200, -100_000_000, "", 86_400), (200, 1000, "", 0),
        ])
    func heuristic(_ status: Int, _ modified: Double, _ control: String, _ expected: Double) {
        let headers: HTTPHeaders = [
            "Date": httpDate(), "Last-Modified": httpDate(modified), "Cache-Control": control,
        ]
        #expect(Freshness.lifetime(stored(headers, status: status)) == expected)
    }

    @Test(
        "N-046: an Expires that is no single date means stale",
        arguments: [["0"], ["-1"], ["x"], [httpDate(50), httpDate(50)], [""], [httpDate(-5)]])
    func badExpires(_ values: [String]) {
        var headers: HTTPHeaders = ["Date": httpDate(), "Last-Modified": httpDate(-10_000)]
        for value in values { headers.add(value, for: "Expires") }
        #expect(Freshness.lifetime(stored(headers)) == 0)
    }

    @Test("N-044: the time of receipt stands in for a Date that is missing or invalid", arguments: [nil, "yesterday"])
    func badDate(_ date: String?) {
        var headers: HTTPHeaders = ["Expires": httpDate(30)]
        headers["Date"] = date
        #expect(Freshness.lifetime(stored(headers)) == 30)
    }

    @Test("N-045: a max-age that can't be read means stale, whatever Expires says")
    func badMaxAge() {
        #expect(Freshness.lifetime(stored(["Cache-Control": "max-age=1.5", "Expires": httpDate(100)])) == 0)
    }

    @Test("N-035: s-maxage is not ours")
    func shared() { #expect(Freshness.lifetime(stored(["Cache-Control": "s-maxage=100"])) == 0) }

    @Test(
        "N-047: age is the larger of what was told and what the dates show, and grows",
        arguments: [
            // Age, Date, sent before receipt, seconds since receipt, expected
            (nil, 0.0, 0.0, 7.0, 7.0), ("5", 0, 0, 7, 12), ("5", -20, 0, 7, 27), ("5", 0, -3, 7, 15),
            ("5, 99", 0, 0, 0, 5), ("-5", 0, 0, 0, 0), ("5.5", 0, 0, 0, 0), ("x", 0, 0, 0, 0),
            ("99999999999", 0, 0, 0, 2_147_483_648), (nil, 60, 0, 1, 1),
        ] as [(String?, Double, Double, Double, Double)])
    func age(_ told: String?, _ date: Double, _ sent: Double, _ passed: Double, _ expected: Double) {
        var headers: HTTPHeaders = ["Date": httpDate(date)]
        headers["Age"] = told
        #expect(Freshness.age(stored(headers, sent: sent), now: receipt + passed) == expected)
    }

    @Test("N-047: when the wall clock went back behind the receipt, the entry is stale")
    func clockWentBack() {
        let head = stored(["Cache-Control": "max-age=1000"])
        #expect(Freshness(head, now: receipt + 999).isFresh)
        #expect(!Freshness(head, now: receipt + 1000).isFresh)
        #expect(!Freshness(head, now: receipt - 1).isFresh)
    }
}
