import Foundation

/// How long a stored response is good, and how old it is (RFC 9111, 4.2), in seconds.
struct Freshness: Sendable, Equatable {
    static let heuristicShare = 0.1
    static let heuristicMax: TimeInterval = 24 * 60 * 60

    let lifetime: TimeInterval
    let age: TimeInterval

    var isFresh: Bool { lifetime > age }

    /// How long ago it went stale; 0 while it is fresh.
    var staleness: TimeInterval { max(0, age - lifetime) }

    init(_ head: StoredHead, now: Date) {
        age = Self.age(head, now: now)
        // A wall clock that went back can't tell how old anything is.
        lifetime = now < head.responseTime ? 0 : Self.lifetime(head)
    }

    static func lifetime(_ head: StoredHead) -> TimeInterval {
        let control = head.cacheControl
        switch control.seconds("max-age") {
        case .value(let seconds): return seconds
        case .invalid: return 0
        case .absent: break
        }
        if head.headers.contains("Expires") {
            let expires = StoredHead.singleDate(head.headers, "Expires", now: head.responseTime)
            return max(0, expires?.timeIntervalSince(head.date) ?? 0)
        }
        guard StorageRule.isHeuristicallyCacheable(head.status) || control.has("public"),
            let modified = head.lastModified
        else { return 0 }
        return min(heuristicMax, max(0, head.date.timeIntervalSince(modified) * heuristicShare))
    }

    static func age(_ head: StoredHead, now: Date) -> TimeInterval {
        let first = head.headers.values(for: "Age").first?.split(separator: ",").first
        let told = first.flatMap { CacheControl.deltaSeconds($0.trimmingCharacters(in: .whitespaces)) } ?? 0
        let apparent = max(0, head.responseTime.timeIntervalSince(head.date))
        let corrected = told + max(0, head.responseTime.timeIntervalSince(head.requestTime))
        return max(apparent, corrected) + max(0, now.timeIntervalSince(head.responseTime))
    }
}
