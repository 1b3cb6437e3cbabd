public import Foundation

/// Why a request could not be answered.
///
/// A status such as 404 is an answer, not an error. A cancelled task gets Swift's `CancellationError` instead.
///
/// ```swift
/// do { … } catch let error as NetworkError where error.code == .timeout { … }
/// ```
///
/// Two errors are equal if they are of the same kind: code and, for timeouts, phase.
public struct NetworkError: Error, Sendable {
    /// The kind of failure.
    ///
    /// The set is open: later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name, as in `badURL`.
        public let rawValue: String

        /// A code by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The text is no http or https URL that can be fetched; nothing was sent.
        public static let badURL = Code(rawValue: "badURL")
        /// A method, field name or field value may not be sent; nothing was sent.
        public static let invalidHeader = Code(rawValue: "invalidHeader")
        /// GET or HEAD was given a body; nothing was sent.
        public static let bodyNotAllowed = Code(rawValue: "bodyNotAllowed")
        /// A parameter can't be written in the chosen encoding; nothing was sent.
        public static let encoding = Code(rawValue: "encoding")
        /// A path was given to an engine without a host name; nothing was sent.
        public static let noHostName = Code(rawValue: "noHostName")
        /// The operation has been submitted before; make another with `copyForRetry()`.
        public static let alreadySubmitted = Code(rawValue: "alreadySubmitted")
        /// A file that is to be sent is missing, can't be read or is no regular file; `underlying` has the errno.
        public static let uploadSource = Code(rawValue: "uploadSource")
        /// A file shrank or grew while it was sent.
        public static let uploadSourceChanged = Code(rawValue: "uploadSourceChanged")
        /// A redirect asks for a body that can be sent once only.
        public static let redirectNeedsBody = Code(rawValue: "redirectNeedsBody")
        /// The answer is an error status; `response` has it.
        public static let http = Code(rawValue: "http")
        /// The server asks for a longer pause than repetitions wait; `retryAfter` and `response` say more.
        public static let retryAfter = Code(rawValue: "retryAfter")
        /// Nothing is stored for the request, and its policy forbids the network.
        public static let cacheMiss = Code(rawValue: "cacheMiss")
        /// What is stored may not be used without asking the server, and the policy forbids that.
        public static let mustRevalidate = Code(rawValue: "mustRevalidate")
        /// User and password would have travelled unencrypted; nothing was sent.
        public static let insecureCredentials = Code(rawValue: "insecureCredentials")
        /// The host name has no address, or the lookup failed.
        public static let dns = Code(rawValue: "dns")
        /// No address of the host accepted a connection.
        public static let connect = Code(rawValue: "connect")
        /// The encrypted connection could not be set up, or the certificate is not trusted.
        public static let tls = Code(rawValue: "tls")
        /// A time limit ran out; `phase` says which.
        public static let timeout = Code(rawValue: "timeout")
        /// The connection ended before the head of a response.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// The response breaks HTTP.
        public static let malformedResponse = Code(rawValue: "malformedResponse")
        /// The head of the response exceeds the limits on lines, fields or bytes.
        public static let headersTooLarge = Code(rawValue: "headersTooLarge")
        /// The body exceeds `maxBodyBytes`.
        public static let bodyTooLarge = Code(rawValue: "bodyTooLarge")
        /// The body ended early; `receivedBytes` and `expectedBytes` say how much there was.
        public static let truncatedBody = Code(rawValue: "truncatedBody")
        /// The body grows without measure when unpacked.
        public static let decompressionBomb = Code(rawValue: "decompressionBomb")
        /// The server redirected more often than allowed; `chain` has the addresses.
        public static let tooManyRedirects = Code(rawValue: "tooManyRedirects")
        /// An https address redirected to http.
        public static let insecureRedirect = Code(rawValue: "insecureRedirect")
        /// The transport was shut down while the request ran, or before it began.
        public static let transportClosed = Code(rawValue: "transportClosed")
        /// The transport failed in a way that has no code of its own; see `underlying`.
        public static let transport = Code(rawValue: "transport")
    }

    /// The kind of failure.
    public let code: Code
    /// The address asked for, with secrets replaced; nil if the failure belongs to no address.
    public let url: String?
    /// What happened and what to do, without the address.
    public let reason: String
    /// For `.timeout`: the limit that ran out.
    public internal(set) var phase: NetworkTimeouts.Phase?
    /// For `.truncatedBody`: the body bytes that arrived.
    public internal(set) var receivedBytes: Int64?
    /// For `.truncatedBody`: the body bytes announced, if any were.
    public internal(set) var expectedBytes: Int64?
    /// For `.tooManyRedirects`: the addresses in the order in which they were asked, with secrets replaced.
    public internal(set) var chain: [String] = []
    /// For `.http` and `.retryAfter`: the answer.
    public internal(set) var response: HTTPResponse?
    /// For `.retryAfter`: the pause that the server asks for, in seconds.
    public internal(set) var retryAfter: Double?
    /// The cause as the layer below gave it.
    public internal(set) var underlying: (any Error)?

    /// An error of a transport or of a test; the secrets in `url` are replaced.
    public init(_ code: Code, _ reason: String, url: String? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.url = url.map(Redaction.url)
        self.underlying = underlying
    }

    /// True if the same request may succeed later without a change: lookups, connections and timeouts.
    public var isTransient: Bool {
        [.dns, .connect, .timeout, .connectionLost, .truncatedBody].contains(code)
    }
}

extension NetworkError: Equatable {
    /// Compares the kinds only, not addresses, texts and causes.
    public static func == (left: NetworkError, right: NetworkError) -> Bool {
        left.code == right.code && left.phase == right.phase
    }
}

extension NetworkError: CustomStringConvertible, LocalizedError {
    /// Code, address and reason in one line.
    public var description: String {
        guard let url else { return "\(code.rawValue): \(reason)" }
        return "\(code.rawValue): \(url): \(reason)"
    }

    /// The same as `description`.
    public var errorDescription: String? { description }
}

// One function for each error that is made in more than one place or carries a detail.
extension NetworkError {
    static func badURL(_ reason: String, url: String) -> NetworkError { NetworkError(.badURL, reason, url: url) }

    static func invalidHeader(_ reason: String, _ target: WebURL) -> NetworkError {
        NetworkError(.invalidHeader, reason, url: target.string)
    }

    static func malformedResponse(_ reason: String, _ target: WebURL) -> NetworkError {
        NetworkError(.malformedResponse, reason, url: target.string)
    }

    static func headersTooLarge(_ reason: String, _ target: WebURL) -> NetworkError {
        NetworkError(.headersTooLarge, reason, url: target.string)
    }

    static func timeout(_ phase: NetworkTimeouts.Phase, limit: Duration, _ target: WebURL) -> NetworkError {
        var error = NetworkError(
            .timeout, "\(phase.sentence) within \(limit); try again or raise `timeouts.\(phase.rawValue)`",
            url: target.string)
        error.phase = phase
        return error
    }

    static func truncatedBody(received: Int64, expected: Int64?, _ target: WebURL) -> NetworkError {
        let announced = expected.map { " of \($0)" } ?? ""
        var error = NetworkError(
            .truncatedBody, "the body ended after \(received)\(announced) bytes; try again", url: target.string)
        error.receivedBytes = received
        error.expectedBytes = expected
        return error
    }

    static func bodyTooLarge(_ limit: Int, _ target: WebURL) -> NetworkError {
        NetworkError(
            .bodyTooLarge, "the body has more than \(limit) bytes; raise `maxBodyBytes` if you expect that",
            url: target.string)
    }

    static func tooManyRedirects(_ chain: [WebURL]) -> NetworkError {
        var error = NetworkError(
            .tooManyRedirects, "redirected \(chain.count - 1) times; the server may send you in a circle",
            url: chain.first?.string)
        error.chain = chain.map { Redaction.url($0.string) }
        return error
    }
}
