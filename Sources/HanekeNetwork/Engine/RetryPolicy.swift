import Foundation

/// When a failed attempt is repeated (N-090).
public struct RetryPolicy: Sendable, Equatable {
    /// Most repetitions.
    ///
    /// Default 2; 0 for none.
    public var retriesMax = 2
    /// The longest pause before a repetition, in seconds, of those that are chosen here.
    ///
    /// Default 30.
    public var pauseMax = 30.0
    /// The longest pause that a server may ask for, in seconds; over it nothing is repeated.
    ///
    /// Default 120.
    public var retryAfterMax = 120.0

    /// The defaults.
    public init() {}

    enum Verdict: Equatable {
        /// After so many seconds.
        case retry(after: Double)
        case giveUp
        /// The server asks for so many seconds, which is more than anybody waits.
        case waitTooLong(seconds: Double)
    }

    /// True if sending the same twice does no harm.
    static func isRepeatable(_ hop: RequestHop) -> Bool {
        let isIdempotent = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(hop.method)
        return (isIdempotent || hop.headers.contains("Idempotency-Key")) && hop.body?.isReplayable ?? true
    }

    /// After a failure of the transport.
    ///
    /// - Parameter attempt: How many have failed before; `random` is in 0…1.
    func verdict(_ error: NetworkError, attempt: Int, random: Double) -> Verdict {
        guard attempt < retriesMax, error.code == .connect || error.code == .connectionLost else { return .giveUp }
        return .retry(after: pause(attempt, random))
    }

    /// After an answer.
    func verdict(_ status: Int, _ headers: HTTPHeaders, attempt: Int, random: Double, now: Date) -> Verdict {
        guard [408, 429, 502, 503, 504].contains(status) else { return .giveUp }
        let asked = headers.values(for: "Retry-After").first.flatMap { text in
            CacheControl.deltaSeconds(text) ?? HTTPDate.parse(text, now: now).map { max(0, $0.timeIntervalSince(now)) }
        }
        if let asked, asked > retryAfterMax { return .waitTooLong(seconds: asked) }
        guard attempt < retriesMax else { return .giveUp }
        return .retry(after: max(asked ?? 0, pause(attempt, random)))
    }

    private func pause(_ attempt: Int, _ random: Double) -> Double {
        random * min(pauseMax, 0.5 * pow(2, Double(attempt)))
    }
}
