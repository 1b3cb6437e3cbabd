public import Foundation
public import HanekeNetwork

/// A fetcher of a value from a server.
///
/// The key is the URL's text, without a user and password in it.
///
/// ```swift
/// let signed = NetworkFetcher<Data>(URL: url, key: "report-7", headers: ["Authorization": token])
/// ```
///
/// A `file:` URL is read from disk.
open class NetworkFetcher<Value: DataConvertible & Sendable>: Fetcher<Value>, @unchecked Sendable {
    // Sendable: restated for the class it inherits from; all members are `let` and Sendable.

    /// What is asked of the server.
    public let request: NetworkRequest
    private let client: NetworkClient
    private let runs = FetcherRuns()

    /// The address.
    public var URL: Foundation.URL { request.url }

    /// Describes what to fetch.
    ///
    /// Nothing is sent before `fetch`.
    ///
    /// - Parameters:
    ///   - URL: An `http:`, `https:` or `file:` URL.
    ///   - key: What the value is stored under. Default: the URL's text. Give one where the URL changes although the value
    ///     doesn't, as signed URLs do.
    ///   - headers: Field lines to send beside the usual ones. They have no part in the key.
    ///   - timeout: For the whole attempt. Default: 60 seconds.
    ///   - client: What sends it. Default: one that shares its connections with all others.
    public convenience init(
        URL: Foundation.URL, key: String? = nil, headers: [String: String] = [:], timeout: Duration? = nil,
        client: NetworkClient = NetworkClient()
    ) {
        var request = NetworkRequest(
            url: URL,
            headers: HTTPHeaders(headers.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }))
        if let timeout { request.timeouts.attempt = timeout }
        self.init(request: request, key: key, client: client)
    }

    /// Describes what to fetch in full: method, body, limits.
    ///
    /// See ``init(URL:key:headers:timeout:client:)``.
    public init(request: NetworkRequest, key: String? = nil, client: NetworkClient = NetworkClient()) {
        self.request = request
        self.client = client
        super.init(key: key ?? Self.key(for: request.url))
    }

    /// Asks the server.
    ///
    /// Closures are called on any thread.
    ///
    /// Fails with ``HanekeError/Code/invalidStatusCode`` for an answer that is no success, ``HanekeError/Code/missingData`` if
    /// fewer bytes came than announced, ``HanekeError/Code/invalidData`` if they do not stand for a value, and with the
    /// error of the transport unchanged.
    open override func fetch(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (Value) -> Void
    ) {
        let request = request
        let client = client
        runs.start(failure: fail, success: succeed) {
            let data = try await Self.data(for: request, client: client)
            return try Value.decoded(
                from: data, code: .invalidData, "the answer of \(Self.key(for: request.url)) holds no valid value")
        }
    }

    /// Stops the transfer; no closure is called.
    open override func cancelFetch() { runs.cancel() }

    /// ``FetchSource/network``.
    open override var source: FetchSource { .network }

    override var endsSilently: Bool { runs.wasCancelled }

    private static func data(for request: NetworkRequest, client: NetworkClient) async throws -> Data {
        if request.url.isFileURL { return try Data(contentsOf: request.url) }
        let response: HTTPResponse
        do {
            let report = ProgressReport.current
            response = try await client.send(request) { report?($0) }
        } catch let error as NetworkError where error.code == .truncatedBody && error.expectedBytes != nil {
            throw HanekeError(.missingData, "\(error)", underlyingError: error)
        }
        // Part of a body is a success only where a part was asked for (RFC 9110, 15.3.7).
        let isUnaskedPart = response.status == 206 && !request.headers.contains("Range")
        guard response.isSuccess, !isUnaskedPart else {
            let text = HTTPStatusText.text(for: response.status)
            throw HanekeError(
                .invalidStatusCode, "\(text) (\(response.status)) from \(key(for: request.url))",
                statusCode: response.status)
        }
        return response.body
    }

    /// The URL's text without what proves who asks.
    private static func key(for url: Foundation.URL) -> String {
        guard url.user != nil || url.password != nil,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return url.absoluteString }
        parts.user = nil
        parts.password = nil
        return parts.string ?? url.absoluteString
    }
}
