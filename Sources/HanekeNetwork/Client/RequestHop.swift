// One step in a chain of redirects, as a pure value (N-087, RFC 9110, 15.4).
import Foundation

struct RequestHop: Sendable {
    static let redirectsMax = 10

    private(set) var target: WebURL
    private(set) var method: String
    private(set) var headers: HTTPHeaders
    private(set) var body: RequestBody?
    /// The addresses asked so far, this one included.
    private(set) var chain: [WebURL]

    /// The first hop: credentials move from the URL to a header, default fields are added.
    init(_ request: NetworkRequest) throws(NetworkError) {
        target = try WebURL(request.url.absoluteString)
        method = request.method
        headers = request.headers
        body = request.body
        chain = [target]
        if let credentials = target.credentials, !headers.contains("Authorization") {
            guard target.isSecure || target.isLoopback || request.allowsBasicOverHTTP else {
                throw NetworkError(
                    .insecureCredentials,
                    "user and password would travel unencrypted; use https or set `allowsBasicOverHTTP`",
                    url: target.string)
            }
            let pair = Data("\(credentials.user):\(credentials.password)".utf8)
            headers["Authorization"] = "Basic \(pair.base64EncodedString())"
        }
        if !headers.contains("Accept-Encoding") { headers["Accept-Encoding"] = "gzip, deflate" }
        if !headers.contains("User-Agent") { headers["User-Agent"] = Self.userAgent }
    }

    /// The same hop with more field lines: the cache's conditions.
    func adding(_ fields: [HTTPHeaders.Field]) -> RequestHop {
        var result = self
        for field in fields { result.headers.add(field.value, for: field.name) }
        return result
    }

    /// Where this response leads, or nil if it is the answer.
    ///
    /// A missing or unusable `Location` makes it the answer. Throws `.insecureRedirect` and `.tooManyRedirects`.
    func following(_ head: ResponseHead) throws(NetworkError) -> RequestHop? {
        guard [301, 302, 303, 307, 308].contains(head.status),
            let location = head.headers.values(for: "Location").first,
            let destination = target.resolving(location)
        else { return nil }
        guard destination.isSecure || !target.isSecure else {
            throw NetworkError(
                .insecureRedirect, "it redirects to \(Redaction.url(destination.string)), which is not encrypted",
                url: target.string)
        }
        guard chain.count <= Self.redirectsMax else { throw .tooManyRedirects(chain + [destination]) }

        var next = self
        next.target = destination
        next.chain.append(destination)
        let becomesGet = head.status == 303 ? method != "HEAD" : head.status <= 302 && method == "POST"
        if becomesGet, method != "GET" {
            next.method = "GET"
            next.body = nil
            next.headers = HTTPHeaders(headers.filter { !Self.isAboutBody($0.name) })
        }
        if let body = next.body, !body.isReplayable {
            throw NetworkError(
                .redirectNeedsBody, "it redirects, and its body can be sent once only; give a replayable one",
                url: target.string)
        }
        // Each hop starts from what the one before sent, so what is dropped once stays dropped.
        next.headers = HTTPHeaders(
            next.headers.filter { field in
                !field.name.isSameToken(as: "Host")
                    && (destination.isSameOrigin(as: target) || !Redaction.isSecretField(field.name))
            })
        return next
    }

    private static func isAboutBody(_ name: String) -> Bool { name.lowercased().hasPrefix("content-") }

    /// The program's name in the characters of a product token.
    private static let userAgent: String = {
        let name = String(ProcessInfo.processInfo.processName.filter { HeaderRules.isToken(String($0)) })
        return name.isEmpty ? "Haneke" : "\(name) Haneke"
    }()
}
