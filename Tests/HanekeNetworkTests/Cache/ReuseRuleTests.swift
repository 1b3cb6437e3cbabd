import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Reuse")
struct ReuseRuleTests {
    private func rule(
        _ response: String, age: Double, request: HTTPHeaders = [:], policy: CachePolicy = .cacheElseNetwork
    ) -> ReuseRule {
        ReuseRule(
            stored(["Cache-Control": response, "ETag": "\"1\""]), request: RequestDirectives(request), policy: policy,
            now: receipt + age)
    }

    @Test(
        "N-048, N-050: what a response says of itself",
        arguments: [
            ("max-age=10", 9.0, ReuseRule.Decision.fresh), ("max-age=10", 10, .validate),
            ("max-age=10, no-cache", 1, .validate), ("max-age=10, no-cache=\"x\"", 1, .validate),
            ("max-age=10, must-revalidate", 1, .fresh), ("max-age=10, must-revalidate", 11, .validate),
            ("max-age=10, stale-while-revalidate=5", 15, .staleWhileRevalidating),
            ("max-age=10, stale-while-revalidate=5", 16, .validate),
            ("max-age=10, stale-while-revalidate=5, must-revalidate", 11, .validate),
            ("max-age=10, stale-while-revalidate=x", 11, .validate),
        ])
    func responses(_ control: String, _ age: Double, _ expected: ReuseRule.Decision) {
        #expect(rule(control, age: age).decision == expected)
    }

    @Test(
        "N-049: what a request asks for",
        arguments: [
            ("no-cache", 1.0, ReuseRule.Decision.validate), ("max-age=0", 1, .validate), ("max-age=5", 5, .fresh),
            ("max-age=5", 6, .validate), ("min-fresh=4", 6, .fresh), ("min-fresh=5", 6, .validate),
            ("max-stale=5", 15, .stale), ("max-stale=5", 16, .validate), ("max-stale", 1e9, .stale),
            ("max-stale=x", 11, .validate), ("max-stale=5, max-age=12", 13, .validate), ("max-age=x", 1, .validate),
        ])
    func requests(_ control: String, _ age: Double, _ expected: ReuseRule.Decision) {
        #expect(rule("max-age=10", age: age, request: ["Cache-Control": control]).decision == expected)
    }

    @Test("N-048: no request and no policy makes a stale must-revalidate usable")
    func strict() {
        let control = "max-age=10, must-revalidate"
        let request: HTTPHeaders = ["Cache-Control": "max-stale"]
        for policy in [CachePolicy.cacheOnly, .staleWhileRevalidate(seconds: 99), .staleIfError(seconds: 99)] {
            let rule = rule(control, age: 11, request: request, policy: policy)
            #expect(rule.decision == .validate)
            #expect(!rule.mayReplaceError)
            #expect(!rule.mayBeShownStale)
        }
        #expect(rule(control, age: 9, policy: .cacheOnly).mayBeShownStale)
    }

    @Test("N-049: Pragma counts in a request without Cache-Control only")
    func pragma() {
        #expect(rule("max-age=10", age: 1, request: ["Pragma": "no-cache"]).decision == .validate)
        let both: HTTPHeaders = ["Pragma": "no-cache", "Cache-Control": "max-age=5"]
        #expect(rule("max-age=10", age: 1, request: both).decision == .fresh)
    }

    @Test("N-029: a policy's windows and the directives' are not added, the larger counts")
    func windows() {
        let policy = CachePolicy.staleWhileRevalidate(seconds: 20)
        #expect(rule("max-age=10", age: 30, policy: policy).decision == .staleWhileRevalidating)
        #expect(rule("max-age=10, stale-while-revalidate=5", age: 31, policy: policy).decision == .validate)
        #expect(rule("max-age=10", age: 30, policy: .staleIfError(seconds: 20)).mayReplaceError)
        #expect(!rule("max-age=10", age: 31, policy: .staleIfError(seconds: 20)).mayReplaceError)
        #expect(rule("max-age=10, stale-if-error=50", age: 60).mayReplaceError)
        #expect(rule("max-age=10", age: 60, request: ["Cache-Control": "stale-if-error=50"]).mayReplaceError)
        #expect(!rule("max-age=10", age: 11).mayReplaceError)
    }

    @Test("N-030: immutable counts while fresh")
    func immutable() {
        #expect(rule("max-age=10, immutable", age: 1).isImmutable)
        #expect(!rule("max-age=10, immutable", age: 11).isImmutable)
        #expect(!rule("max-age=10", age: 1).isImmutable)
    }
}
