import Foundation

/// Everything that is kept of a response beside its body.
struct StoredHead: Sendable, Equatable {
    /// One field that the response's `Vary` names, with what the request had under it.
    struct Selector: Sendable, Equatable, Codable {
        /// In lower case.
        let name: String
        /// Nil if the request had no such field.
        let value: String?
    }

    var url: String
    var status: Int
    var version: String
    var headers: HTTPHeaders
    /// When the request was sent and its answer received.
    var requestTime: Date
    var responseTime: Date
    var selectors: [Selector] = []
    /// False if the body is still in the coding that its header names.
    var bodyIsDecoded = false
    /// Something has happened that makes the response doubtful (N-037, N-056).
    var needsValidation = false

    var cacheControl: CacheControl { CacheControl(headers) }

    /// The origin's clock; the time of receipt if it is missing or unreadable (N-044).
    var date: Date {
        Self.singleDate(headers, "Date", now: responseTime) ?? responseTime
    }

    var lastModified: Date? { Self.singleDate(headers, "Last-Modified", now: responseTime) }

    var etag: String? {
        let values = headers.values(for: "ETag")
        return values.count == 1 && !values[0].isEmpty ? values[0] : nil
    }

    var hasValidator: Bool { etag != nil || lastModified != nil }

    /// True for an ETag that stands for the exact bytes.
    var strongETag: String? { etag.flatMap { $0.hasPrefix("W/") ? nil : $0 } }

    static func singleDate(_ headers: HTTPHeaders, _ name: String, now: Date) -> Date? {
        let values = headers.values(for: name)
        return values.count == 1 ? HTTPDate.parse(values[0], now: now) : nil
    }
}

extension StoredHead: Codable {
    private enum CodingKeys: String, CodingKey {
        case url, status, version, lines, requestTime, responseTime, selectors, bodyIsDecoded, needsValidation
    }

    init(from decoder: any Decoder) throws {
        let box = try decoder.container(keyedBy: CodingKeys.self)
        url = try box.decode(String.self, forKey: .url)
        status = try box.decode(Int.self, forKey: .status)
        version = try box.decode(String.self, forKey: .version)
        let lines = try box.decode([[String]].self, forKey: .lines)
        headers = HTTPHeaders(lines.filter { $0.count == 2 }.map { .init(name: $0[0], value: $0[1]) })
        requestTime = try box.decode(Date.self, forKey: .requestTime)
        responseTime = try box.decode(Date.self, forKey: .responseTime)
        selectors = try box.decode([Selector].self, forKey: .selectors)
        bodyIsDecoded = try box.decode(Bool.self, forKey: .bodyIsDecoded)
        needsValidation = try box.decode(Bool.self, forKey: .needsValidation)
    }

    func encode(to encoder: any Encoder) throws {
        var box = encoder.container(keyedBy: CodingKeys.self)
        try box.encode(url, forKey: .url)
        try box.encode(status, forKey: .status)
        try box.encode(version, forKey: .version)
        try box.encode(headers.map { [$0.name, $0.value] }, forKey: .lines)
        try box.encode(requestTime, forKey: .requestTime)
        try box.encode(responseTime, forKey: .responseTime)
        try box.encode(selectors, forKey: .selectors)
        try box.encode(bodyIsDecoded, forKey: .bodyIsDecoded)
        try box.encode(needsValidation, forKey: .needsValidation)
    }
}
