import Foundation

/// What a private cache may keep (RFC 9111, 3; N-034…N-043).
enum StorageRule {
    /// Body bytes over which nothing is stored.
    static let bodyBytesMax = 50 * 1024 * 1024
    /// A body may take this share of the capacity.
    static let capacityShare = 10

    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// True if a request of this kind takes part in caching at all.
    static func isCacheable(method: String, headers: HTTPHeaders) -> Bool {
        method == "GET" && !headers.contains("Range") && !ValidationRule.isConditional(headers)
            && !CacheControl(headers).has("no-store")
    }

    /// True if a complete final answer to a cacheable request may be kept.
    static func mayStore(_ head: ResponseHead) -> Bool {
        let control = CacheControl(head.headers)
        guard head.status >= 200, head.status != 206, head.status != 304, VaryRule.names(head.headers) != nil
        else { return false }
        // Who understands the status may ignore the no-store beside it (RFC 9111, 5.2.2.3).
        if control.has("must-understand") {
            guard isUnderstood(head.status) else { return false }
        } else if control.has("no-store") {
            return false
        }
        if control.has("no-cache") {
            return head.headers.contains("ETag") || head.headers.contains("Last-Modified")
        }
        let isExplicit =
            control.has("max-age") || head.headers.contains("Expires") || control.has("private")
            || control.has("public")
        return isExplicit || isHeuristicallyCacheable(head.status)
    }

    /// The lines to keep, in order: all but those that belong to the connection (N-041).
    static func storedHeaders(_ headers: HTTPHeaders) -> HTTPHeaders {
        let listed = headers.values(for: "Connection").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        return HTTPHeaders(
            headers.filter { field in !(connectionFields + listed).contains { $0.isSameToken(as: field.name) } })
    }

    static func mayStore(bodyBytes: Int, capacityBytes: UInt64) -> Bool {
        bodyBytes <= bodyBytesMax && UInt64(bodyBytes) <= capacityBytes / UInt64(capacityShare)
    }

    private static let connectionFields = [
        "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info",
        "Proxy-Authorization", "TE", "Transfer-Encoding", "Upgrade", "Trailer",
    ]

    /// The statuses of RFC 9110, 15.
    private static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }
}
