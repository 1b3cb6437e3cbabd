import Foundation

/// Asking whether a stored response is still right, and what the answer does to it (RFC 9111, 4.3; N-051…N-056).
enum ValidationRule {
    /// Tags sent when no variant matches but others might.
    static let tagsMax = 5

    private static let conditions = [
        "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]

    /// True if the caller asks a condition of its own: then the cache keeps out of it.
    static func isConditional(_ headers: HTTPHeaders) -> Bool { conditions.contains { headers.contains($0) } }

    /// The field lines that ask about the chosen response, or about all variants if none was chosen.
    static func conditions(_ chosen: StoredHead?, variants: [StoredHead]) -> [HTTPHeaders.Field] {
        guard let chosen else {
            let tags = variants.sorted { $0.responseTime > $1.responseTime }.compactMap(\.etag).prefix(tagsMax)
            return tags.isEmpty ? [] : [.init(name: "If-None-Match", value: tags.joined(separator: ", "))]
        }
        var fields: [HTTPHeaders.Field] = []
        if let etag = chosen.etag { fields.append(.init(name: "If-None-Match", value: etag)) }
        if chosen.lastModified != nil, let value = chosen.headers["Last-Modified"] {
            fields.append(.init(name: "If-Modified-Since", value: value))
        }
        return fields
    }

    /// Which stored response a 304 is about; nil if none.
    static func selected(
        by answer: ResponseHead, chosen: StoredHead?, variants: [StoredHead]
    ) -> StoredHead? {
        let tag = answer.headers.values(for: "ETag").first
        if let tag, !tag.hasPrefix("W/") { return VaryRule.newest(variants.filter { $0.strongETag == tag }) }
        if let tag {
            return VaryRule.newest(variants.filter { $0.etag.map(opaque) == opaque(tag) })
        }
        if answer.headers.contains("Last-Modified") {
            return VaryRule.newest(
                variants.filter { $0.headers["Last-Modified"] == answer.headers["Last-Modified"] }) ?? chosen
        }
        return chosen
    }

    /// The stored head with what the 304 says anew.
    static func refreshed(
        _ stored: StoredHead, by answer: ResponseHead, request: HTTPHeaders, sent: Date, received: Date
    ) -> StoredHead {
        var result = stored
        result.headers["Age"] = nil
        result.headers = merged(result.headers, with: answer.headers)
        result.requestTime = sent
        result.responseTime = received
        result.needsValidation = false
        result.selectors = VaryRule.selectors(VaryRule.names(result.headers) ?? [], in: request)
        return result
    }

    /// What a HEAD says of the entry: the head to keep, which is marked as doubtful if they differ (N-056).
    static func updated(_ stored: StoredHead, byHead answer: ResponseHead, sent: Date, received: Date) -> StoredHead {
        var result = stored
        let differs = ["ETag", "Last-Modified", "Content-Length"].contains { name in
            answer.headers.contains(name) && answer.headers[name] != stored.headers[name]
        }
        guard !differs else {
            result.needsValidation = true
            return result
        }
        result.headers["Age"] = nil
        result.headers = merged(result.headers, with: answer.headers)
        result.requestTime = sent
        result.responseTime = received
        return result
    }

    /// Fields that describe the stored bytes stay as they are.
    private static func merged(_ stored: HTTPHeaders, with answer: HTTPHeaders) -> HTTPHeaders {
        let fixed = ["Content-Length", "Content-Encoding", "Content-Range"]
        let news = StorageRule.storedHeaders(answer)
            .filter { field in !fixed.contains { $0.isSameToken(as: field.name) } }
        let kept = stored.filter { field in !news.contains { $0.name.isSameToken(as: field.name) } }
        return HTTPHeaders(kept + news)
    }

    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}
