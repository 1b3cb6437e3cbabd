import Foundation
import Testing

@testable import HanekeNetwork

@Suite("HTTP dates")
struct HTTPDateTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(
        "N-046: the three formats are one moment, names in any case",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "sUN, 06 nOV 1994 08:49:37 gmt", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ])
    func formats(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(
        "N-046: everything else is no date",
        arguments: [
            "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun,  06 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 CET",
            "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 +8:49:37 GMT", "1994-11-06T08:49:37Z",
        ])
    func invalid(_ text: String) { #expect(HTTPDate.parse(text, now: now) == nil) }

    @Test("N-046: a two-digit year more than 50 years ahead is in the past", arguments: [(73, 2073), (74, 1974)])
    func centuries(_ short: Int, _ expected: Int) throws {
        let short = try #require(HTTPDate.parse("Sunday, 06-Nov-\(short) 08:49:37 GMT", now: now))
        let long = try #require(HTTPDate.parse("Sun, 06 Nov \(expected) 08:49:37 GMT", now: now))
        #expect(short == long)
    }

    @Test("N-046: what is written is read again, over 400 years of days")
    func roundTrip() {
        for day in stride(from: -80_000.0, to: 80_000, by: 37) {
            let date = Date(timeIntervalSince1970: day * 86_400 + 12_345)
            #expect(HTTPDate.parse(HTTPDate.format(date), now: now) == date)
        }
        #expect(HTTPDate.format(Date(timeIntervalSince1970: 784_111_777.9)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.parse("Thu, 29 Feb 2024 00:00:00 GMT", now: now) != nil)
        #expect(HTTPDate.parse("Thu, 29 Feb 2100 00:00:00 GMT", now: now) == nil)
    }
}
