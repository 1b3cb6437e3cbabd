import Foundation

/// Milliseconds since 1970 as people read them: `2026-03-01T12:00:00Z`, or a word where there is no such moment.
enum Moment {
    static func text(_ milliseconds: Int64?, none: String) -> String {
        guard let milliseconds else { return none }
        return Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(.iso8601)
    }
}
