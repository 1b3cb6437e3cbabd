public import Foundation

/// Carries one request to a server and its response back: no redirects, cookies, cache or repetition.
///
/// Implement it to run everything above on another HTTP library, or on a script for tests. Cancelling the calling task
/// must end the exchange and throw `CancellationError` at once; other failures are `NetworkError`.
public protocol Transport: Sendable {
    /// Returns once the final head is there; the body is then pulled from the exchange.
    func execute(_ request: TransportRequest) async throws -> TransportExchange
}

/// A request that has been checked: no transport can be made to send a header that its caller smuggled in.
public struct TransportRequest: Sendable {
    let target: WebURL
    /// The method, a token.
    public let method: String
    /// The field lines to send, besides those of the transport itself (Host, Content-Length).
    public let headers: HTTPHeaders
    /// The body, or nil.
    public let body: RequestBody?
    /// The number of body bytes; nil for one that is sent in chunks.
    public let bodyLength: Int64?
    /// The time limits that the transport keeps.
    public let timeouts: NetworkTimeouts

    /// Throws `NetworkError`: `.badURL`, `.invalidHeader`, `.bodyNotAllowed` or `.uploadSource`.
    ///
    /// The URL's user and fragment are dropped.
    public init(
        url: String, method: String = "GET", headers: HTTPHeaders = HTTPHeaders(), body: Data? = nil,
        timeouts: NetworkTimeouts = NetworkTimeouts()
    ) throws {
        try self.init(
            target: WebURL(url), method: method, headers: headers, body: body.map(RequestBody.data), timeouts: timeouts)
    }

    init(
        target: WebURL, method: String, headers: HTTPHeaders, body: RequestBody?, timeouts: NetworkTimeouts
    ) throws(NetworkError) {
        try HeaderRules.checkMethod(method, target: target)
        let length: Int64? = if let body { try body.length() } else { 0 }
        try HeaderRules.check(headers, bodyBytes: length, target: target)
        if body != nil, method == "GET" || method == "HEAD" {
            throw NetworkError(.bodyNotAllowed, "\(method) carries no body; use POST or PUT", url: target.string)
        }
        self.target = target
        self.method = method
        self.headers = headers
        self.body = body
        bodyLength = length
        self.timeouts = timeouts
    }

    /// The address, without user and fragment, in the characters of RFC 3986.
    public var url: String { target.string }
}

/// One response on its way in.
public struct TransportExchange: Sendable {
    /// The heads with status 100 to 199 that came first.
    public let interimHeads: [ResponseHead]
    /// The final head.
    public let head: ResponseHead
    /// True if the transport unpacks `Content-Encoding` itself.
    public let bodyIsDecoded: Bool
    /// The body.
    public let body: any TransportBody

    /// An exchange, as a transport makes it.
    public init(
        interimHeads: [ResponseHead] = [], head: ResponseHead, bodyIsDecoded: Bool = false, body: any TransportBody
    ) {
        self.interimHeads = interimHeads
        self.head = head
        self.bodyIsDecoded = bodyIsDecoded
        self.body = body
    }
}

/// A body that comes as it is asked for: who asks slowly makes the server send slowly.
///
/// Releasing it before the end cancels the exchange, as `cancel()` does.
public protocol TransportBody: Sendable {
    /// The next piece, or the end; after the end, the end again. One call at a time.
    ///
    /// Throws what ended the body early, after all bytes that came before; `CancellationError` at once on cancel.
    func next() async throws -> TransportBodyPart

    /// Gives up the rest.
    func cancel()
}

/// What `TransportBody.next()` gives.
public enum TransportBodyPart: Sendable {
    /// Some bytes, at least one.
    case bytes(Data)
    /// The end, with what is known only now.
    case end(trailers: HTTPHeaders, metrics: TransferMetrics)
}
