/// What one exchange took.
///
/// Times count from its start and are zero where a step was not needed.
public struct TransferMetrics: Sendable, Equatable {
    /// To the end of the name lookup.
    public var nameLookup: Duration = .zero
    /// To the TCP connection.
    public var connect: Duration = .zero
    /// To the end of the TLS handshake.
    public var tls: Duration = .zero
    /// To the first byte of the response.
    public var firstByte: Duration = .zero
    /// To the end of the body.
    public var total: Duration = .zero
    /// Body bytes sent.
    public var sentBytes: Int64 = 0
    /// Body bytes received, before any decoding.
    public var receivedBytes: Int64 = 0
    /// True if an open connection was used again.
    public var reusedConnection = false

    /// All zero.
    public init() {}
}
