/// How long each part of a request may take; nil means no limit.
public struct NetworkTimeouts: Sendable, Equatable {
    /// The part of a request that a limit is for.
    public enum Phase: String, Sendable {
        /// Finding the address, connecting and agreeing on encryption.
        case connect
        /// From the request sent to the first byte of the response.
        case firstByte
        /// Between two bytes of the response, not counting the time in which its reader asks for none.
        case idle
        /// Less than `slowBytesPerSecond` on average over `slow`.
        case slow
        /// The whole attempt, from the call to the last byte.
        case attempt

        var sentence: String {
            switch self {
            case .connect: "no connection"
            case .firstByte: "no answer"
            case .idle: "no further byte"
            case .slow: "too few bytes"
            case .attempt: "not finished"
            }
        }
    }

    /// To a usable connection, name lookup and TLS included.
    ///
    /// Default 10 s.
    public var connect: Duration? = .seconds(10)
    /// To the first byte of the response once the request is sent.
    ///
    /// Default 30 s.
    public var firstByte: Duration? = .seconds(30)
    /// Between two bytes of the response.
    ///
    /// Default 30 s.
    public var idle: Duration? = .seconds(30)
    /// The span over which the average speed is taken.
    ///
    /// Default 60 s.
    public var slow: Duration? = .seconds(60)
    /// The average speed, in bytes a second, under which a response is given up.
    ///
    /// Default 100.
    public var slowBytesPerSecond = 100
    /// For one attempt as a whole.
    ///
    /// Default 60 s.
    public var attempt: Duration? = .seconds(60)

    /// The defaults.
    public init() {}
}
