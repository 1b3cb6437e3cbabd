import Foundation

/// One web service: its address, its headers, and what it does before a request and after an answer.
///
/// Subclass it for a service, with `let` properties only or a lock of your own: an engine is used from many tasks at once.
/// Making one opens no connection. Operations go on when their engine is released.
///
/// ```swift
/// final class Weather: NetworkEngine, @unchecked Sendable {
///     override func prepare(_ request: inout NetworkRequest) async throws { request.headers["X-Client"] = "sun" }
/// }
/// let engine = try Weather(hostName: "weather.example.com", apiPath: "v2")
/// let response = try await engine.send(engine.request(withPath: "today", params: ["city": "Bern"]))
/// ```
open class NetworkEngine: @unchecked Sendable {
    // Sendable: all stored properties are `let` and Sendable; subclasses are told to keep to that.

    /// The host of `request(withPath:)`; nil if only whole URLs are asked for.
    public let hostName: String?
    /// The port; nil for the scheme's own.
    public let portNumber: Int?
    /// The front of every path.
    public let apiPath: String?
    /// Sent with every request, unless it has a field of the same name.
    public let customHeaderFields: [String: String]
    /// What it works with.
    public let configuration: EngineConfiguration

    /// An engine for a host, or for whole URLs.
    ///
    /// Throws `.badURL` for a host or port that can't be in a URL.
    public init(
        hostName: String? = nil, portNumber: Int? = nil, apiPath: String? = nil,
        customHeaderFields: [String: String] = [:], configuration: EngineConfiguration = EngineConfiguration()
    ) throws {
        self.hostName = hostName
        self.portNumber = portNumber
        self.apiPath = apiPath
        self.customHeaderFields = customHeaderFields
        self.configuration = configuration
        if let hostName {
            let text = "https://\(hostName)\(portNumber.map { ":\($0)" } ?? "")"
            guard !hostName.contains(where: { "/?#@\\".contains($0) }) else {
                throw NetworkError.badURL("\"\(Redaction.printable(hostName))\" is no host name", url: text)
            }
            _ = try WebURL(text)
        }
    }

    // MARK: For subclasses

    /// Adds what every attempt needs, such as a signature.
    ///
    /// Called before each attempt; does nothing by default. What it throws ends the request.
    open func prepare(_ request: inout NetworkRequest) async throws {}

    /// Returns an error for an answer that is none, or nil.
    ///
    /// By default `.http` for every status from 400 on.
    open func validate(_ response: HTTPResponse) -> (any Error)? {
        guard response.status >= 400 else { return nil }
        var error = NetworkError(
            .http, "the server answered with status \(response.status)", url: response.url.absoluteString)
        error.response = response
        return error
    }

    /// Told what each exchange with a server took; does nothing by default.
    open func didReceive(_ metrics: TransferMetrics) {}

    // MARK: Requests

    /// A request to a path below `apiPath`.
    ///
    /// Parameters go into the query of GET, HEAD, DELETE and OPTIONS, and into the body of other methods. Throws
    /// `.noHostName`, `.badURL` (also for a path that climbs above `apiPath`) and `.encoding`.
    public func request(
        withPath path: String, params: RequestParameters = [:], httpMethod: String = "GET", ssl: Bool = true,
        encoding: ParameterEncoding = .url
    ) throws -> NetworkRequest {
        guard let hostName else {
            throw NetworkError(.noHostName, "the engine has no host name; give it one, or give a whole URL")
        }
        let base = Self.segments(apiPath ?? "")
        let question = path.firstIndex(of: "?") ?? path.endIndex
        let rest = try Self.resolved(Self.segments(String(path[..<question])), path)
        let isFolder = path[..<question].hasSuffix("/") && !rest.isEmpty
        let whole = "/" + (base + rest).joined(separator: "/") + (isFolder ? "/" : "")
        let port = portNumber.map { ":\($0)" } ?? ""
        return try request(
            withURLString: "\(ssl ? "https" : "http")://\(hostName)\(port)\(whole)\(path[question...])", params: params,
            httpMethod: httpMethod, encoding: encoding)
    }

    /// A request to a whole http or https URL; see `request(withPath:params:httpMethod:ssl:encoding:)`.
    public func request(
        withURLString text: String, params: RequestParameters = [:], httpMethod: String = "GET",
        encoding: ParameterEncoding = .url
    ) throws -> NetworkRequest {
        let pairs = try params.flattened()
        guard !pairs.isEmpty else { return try NetworkRequest(text, method: httpMethod) }
        if ["GET", "HEAD", "DELETE", "OPTIONS"].contains(httpMethod) {
            let query = ParameterEncoding.pairs(pairs, isForm: false)
            let whole = text.prefix { $0 != "#" }
            let mark = whole.contains("?") ? (whole.hasSuffix("?") || whole.hasSuffix("&") ? "" : "&") : "?"
            return try NetworkRequest("\(whole)\(mark)\(query)", method: httpMethod)
        }
        return try NetworkRequest(
            text, method: httpMethod, headers: ["Content-Type": encoding.contentType], body: encoding.body(params))
    }

    private static func segments(_ path: String) -> [String] {
        path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    }

    private static func resolved(_ segments: [String], _ path: String) throws(NetworkError) -> [String] {
        var kept: [String] = []
        for segment in segments {
            switch segment.lowercased().replacingOccurrences(of: "%2e", with: ".") {
            case ".": continue
            case "..":
                guard kept.popLast() != nil else {
                    throw .badURL("its path climbs above the engine's own", url: path)
                }
            default: kept.append(segment)
            }
        }
        return kept
    }

    // MARK: Sending

    /// Asks the cache or the server, and returns the answer.
    ///
    /// Throws what `validate` makes of an answer (by default `.http` from status 400 on), `NetworkError`, and
    /// `CancellationError` at once when the task is cancelled.
    public func send(
        _ request: NetworkRequest, policy: CachePolicy = .cacheElseNetwork, priority: NetworkPriority? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> HTTPResponse {
        try await perform(request, policy, priority, progress, deliverFirst: nil)
    }

    /// The stored answer, if there is one that may be shown, then the server's; at most two.
    ///
    /// Ending the iteration cancels the request.
    public func responses(
        for request: NetworkRequest, priority: NetworkPriority? = nil
    ) -> AsyncThrowingStream<HTTPResponse, any Error> {
        AsyncThrowingStream { stream in
            let task = Task {
                do {
                    let last = try await perform(request, .cacheThenNetwork, priority, nil) { first in
                        // One that the service takes for an error is left to the network's answer.
                        if self.validate(first) == nil { stream.yield(first) }
                    }
                    stream.yield(last)
                    stream.finish()
                } catch {
                    stream.finish(throwing: error)
                }
            }
            stream.onTermination = { _ in task.cancel() }
        }
    }

    /// Makes this engine's stored responses unreadable, and those of all engines with the same cache.
    public func emptyCache() throws { try configuration.cache?.removeAll() }

    private func perform(
        _ request: NetworkRequest, _ policy: CachePolicy, _ priority: NetworkPriority?,
        _ progress: (@Sendable (TransferProgress) -> Void)?, deliverFirst: (@Sendable (HTTPResponse) -> Void)?
    ) async throws -> HTTPResponse {
        let renew = { @Sendable [self] in
            var prepared = request
            for (name, value) in customHeaderFields.sorted(by: { $0.key < $1.key })
            where !request.headers.contains(name) {
                prepared.headers.add(value, for: name)
            }
            if case .multipart(let form)? = request.body, !prepared.headers.contains("Content-Type") {
                prepared.headers["Content-Type"] = form.contentType
            }
            try await prepare(&prepared)
            return try RequestHop(prepared)
        }
        let sender = HopSender(
            configuration: configuration, request: request, priority: try priority ?? Self.priority(of: request),
            id: configuration.queue.makeID(), progress: progress, didReceive: { [self] in didReceive($0) },
            renew: renew)
        var hop = try await renew()
        while true {
            try Task.checkCancellation()
            let response = try await self.response(hop, policy, sender, deliverFirst)
            let head = ResponseHead(status: response.status, version: response.version, headers: response.headers)
            guard request.followsRedirects, let next = try hop.following(head) else {
                if let error = validate(response) { throw error }
                return response
            }
            hop = next
        }
    }

    private func response(
        _ hop: RequestHop, _ policy: CachePolicy, _ sender: HopSender,
        _ deliverFirst: (@Sendable (HTTPResponse) -> Void)?
    ) async throws -> HTTPResponse {
        guard let cache = configuration.cache else {
            guard policy != .cacheOnly else {
                throw NetworkError(.cacheMiss, "the engine has no cache; allow the network", url: hop.target.string)
            }
            return try await sender.send(hop).response
        }
        return try await CachedHop(
            hop: hop, policy: policy, cache: cache, clock: configuration.clock, sender: sender,
            deliverFirst: deliverFirst
        ).response()
    }

    /// Uploads over 64 KiB are bulk.
    private static func priority(of request: NetworkRequest) throws -> NetworkPriority {
        guard let body = request.body else { return .normal }
        return (try body.length() ?? .max) > 64 * 1024 ? .bulk : .normal
    }
}
