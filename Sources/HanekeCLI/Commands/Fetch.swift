import Foundation
import Haneke
import HanekeStorage

extension Command {
    static let fetch = Command(
        name: "fetch", operands: "URL", operandCount: 1...1, options: [.output, .ttl, .capacity, .eviction],
        summary: "Write what is at URL: from the store if it is there, else from the server.",
        details: """
            The value is kept under the URL, without user and password, in the bucket: "haneke get URL" reads it, too. Which tier
            answered, disk or network, is said on standard error, or as "source" in the document of --json, which
            holds the value as that of get does. To a Swift program the store's directory is a cache of that name, and the bucket
            is its format: Cache<Data>(name: "cli", directory: …) with Format(name: "default"). --ttl counts from the download.
            A value that can't be kept, as one over the capacity, is written all the same, and standard error says so.
            """
    ) { session in
        Diagnostics.setHandler { Console.note(ToolWording.of($0)) }
        let url = try session.url()
        let lifetime = try session.invocation.lifetime()
        let bucket = try session.bucketForWriting()
        // The cache's own threads may hold on to it when the process ends; what it counted is shared with our bucket's end.
        defer { withExtendedLifetime(bucket) {} }
        let cache = try session.cache(in: bucket, lifetime: lifetime)
        let fetch = cache.fetch(URL: url, formatName: bucket.name)
        let value: Data
        do {
            value = try await fetch.value
        } catch {
            // Its text names the URL.
            throw Failure.failed(ToolWording.of(error is NetworkError ? "\(error)" : "\(error); check the URL"))
        }
        await cache.flush()
        let shown = url.withoutCredentials.absoluteString
        let source = fetch.source.map { "\($0)" } ?? "unknown"
        let delivered = try value.withUnsafeBytes { try session.deliver($0) }
        if !session.console.wantsJSON {
            session.console.note("from \(source), \(ByteCount.text(value.count)): \(shown)")
        }
        try session.console.finish(
            FetchReport(url: shown, source: source, valueBytes: value.count, value: delivered))
        return .done
    }
}

extension Session {
    /// The operand as a URL that can be asked for.
    fileprivate func url() throws -> URL {
        let text = invocation.operands[0]
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            url.host?.isEmpty == false
        else {
            throw Failure.usage("\"\(text)\" is no http or https URL; write it as in http://example.com/path")
        }
        if let port = Self.port(in: text), !(UInt16(port).map { $0 > 0 } ?? false) {
            throw Failure.usage("\(url.withoutCredentials): there is no port \(port); ports go from 1 to 65535")
        }
        return url
    }

    /// The port as it is written, since `URL` gives none where it does not fit its type; nil if none is given.
    private static func port(in text: String) -> Substring? {
        guard let start = text.range(of: "://")?.upperBound else { return nil }
        let authority = text[start...].prefix { !"/?#".contains($0) }
        // The colons of an IPv6 address are between brackets, those of a password before "@".
        let end = authority.lastIndex { "@]".contains($0) } ?? authority.startIndex
        let port = authority[end...].lastIndex(of: ":").map { authority[authority.index(after: $0)...] }
        return port?.isEmpty == false ? port : nil
    }

    /// A cache on the bucket's own directory, where the bucket is a format with the capacity that it has.
    fileprivate func cache(in bucket: Bucket, lifetime: Duration?) throws -> Cache<Data> {
        let directory = URL(fileURLWithPath: bucket.store.directory, isDirectory: true)
        let cache = Cache<Data>(name: directory.lastPathComponent, directory: directory.deletingLastPathComponent())
        guard cache.directory.standardizedFileURL.path == directory.standardizedFileURL.path else {
            throw Failure.failed(
                "\(directory.path): fetch can't use a store with \"%\" in its name; choose another --store")
        }
        var format = Format<Data>(name: bucket.name, diskCapacity: try bucket.statistics().capacityBytes)
        format.lifetime = lifetime
        if let error = cache.diskError ?? cache.addFormat(format) { throw error }
        return cache
    }
}

extension URL {
    /// Without user and password, which belong on no screen and in no log.
    fileprivate var withoutCredentials: URL {
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return self }
        components.user = nil
        components.password = nil
        return components.url ?? self
    }
}

private struct FetchReport: Report {
    let url: String
    let source: String
    let valueBytes: Int
    let value: DeliveredValue?

    enum CodingKeys: CodingKey { case url, source, valueBytes }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url, forKey: .url)
        try container.encode(source, forKey: .source)
        try container.encode(valueBytes, forKey: .valueBytes)
        try value?.encode(to: encoder)
    }
}
