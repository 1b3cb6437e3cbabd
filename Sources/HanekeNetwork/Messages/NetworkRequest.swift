public import Foundation

/// What to ask of a server.
///
/// ```swift
/// var request = try NetworkRequest("https://api.github.com/users/octocat")
/// request.headers["Accept"] = "application/json"
/// let response = try await NetworkClient().send(request)
/// ```
public struct NetworkRequest: Sendable {
    /// An absolute http or https URL.
    ///
    /// A user and password in it are sent as basic authentication instead.
    public var url: URL
    /// The method, case-sensitive.
    ///
    /// Default "GET".
    public var method: String
    /// Field lines to send.
    ///
    /// `Accept-Encoding` and `User-Agent` are added if missing.
    public var headers: HTTPHeaders
    /// The body; nil for none.
    ///
    /// Not allowed with GET and HEAD.
    public var body: RequestBody?
    /// Time limits; see `NetworkTimeouts` for the defaults.
    public var timeouts = NetworkTimeouts()
    /// The largest accepted body in bytes, counted after decoding.
    ///
    /// Default 64 MiB.
    public var maxBodyBytes = 64 * 1024 * 1024
    /// Whether 301, 302, 303, 307 and 308 lead on.
    ///
    /// Default true; otherwise they are delivered.
    public var followsRedirects = true
    /// Whether a user and password in the URL may be sent over plain http to another machine.
    ///
    /// Default false.
    public var allowsBasicOverHTTP = false

    /// A request; the URL is checked when it is sent.
    public init(url: URL, method: String = "GET", headers: HTTPHeaders = HTTPHeaders(), body: Data? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body.map(RequestBody.data)
    }

    /// A request to the URL in `text`.
    ///
    /// Characters that a path or query can't hold are percent-encoded; existing escapes stay. Throws `NetworkError`
    /// with `.badURL`.
    public init(
        _ text: String, method: String = "GET", headers: HTTPHeaders = HTTPHeaders(), body: Data? = nil
    ) throws {
        let target = try WebURL(text)
        guard var parts = URLComponents(string: target.string) else {
            throw NetworkError.badURL("Foundation can't read it", url: text)
        }
        parts.user = target.credentials?.user
        parts.password = target.credentials?.password
        guard let url = parts.url else { throw NetworkError.badURL("Foundation can't read it", url: text) }
        self.init(url: url, method: method, headers: headers, body: body)
    }
}

extension NetworkRequest: CustomStringConvertible {
    /// Method and address, with secrets replaced.
    public var description: String { "\(method) \(Redaction.url(url.absoluteString))" }
}
