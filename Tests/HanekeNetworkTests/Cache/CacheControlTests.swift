import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Cache-Control")
struct CacheControlTests {
    @Test(
        "N-045: what counts as a number of seconds",
        arguments: [
            ("max-age=5", CacheControl.Seconds.value(5)), ("MAX-AGE=5", .value(5)), ("max-age=\"5\"", .value(5)),
            ("max-age=005", .value(5)), ("max-age=99999999999999999999", .value(2_147_483_648)),
            ("max-age=2147483648", .value(2_147_483_648)), ("max-age=2147483647", .value(2_147_483_647)),
            ("a, max-age=5 ,b", .value(5)), ("max-age=5, max-age=5", .value(5)), ("", .absent), ("max-ages=5", .absent),
            ("x=\"max-age=5\"", .absent), ("x=\"a, max-age=5\"", .absent), ("x=\"\\\", max-age=5\"", .absent),
            ("max-age", .invalid), ("max-age=", .invalid), ("max-age=-1", .invalid), ("max-age=+1", .invalid),
            ("max-age=1.5", .invalid), ("max-age=1s", .invalid), ("max-age='5'", .invalid), ("max-age =5", .invalid),
            ("max-age= 5", .invalid), ("max-age=5, max-age=6", .invalid), ("max-age=5 6", .invalid),
            ("max-age=\"5", .invalid), ("max-age=5, max-age=x", .invalid), ("max-age=\u{0665}", .invalid),
        ])
    func seconds(_ line: String, _ expected: CacheControl.Seconds) {
        #expect(CacheControl(lines: [line]).seconds("max-age") == expected)
    }

    @Test("N-045: several lines are one list, names know no case, unknown ones do no harm")
    func lines() {
        let control = CacheControl(lines: ["foo=bar, No-Cache", "", "PRIVATE=\"x\" , max-age=1"])
        #expect(control.has("no-cache") && control.has("private") && !control.has("no-store"))
        #expect(control.seconds("max-age") == .value(1))
        #expect(CacheControl(lines: []).isEmpty)
    }
}
