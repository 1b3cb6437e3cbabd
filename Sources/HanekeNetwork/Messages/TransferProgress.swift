/// How far the body of a response has come.
public struct TransferProgress: Sendable, Equatable {
    /// Body bytes received so far; never less than in an earlier report of the same attempt.
    public let completedBytes: Int64
    /// All body bytes, or nil if unknown: for a chunked or a packed body.
    public let totalBytes: Int64?

    /// A report, as a transport or a test makes it.
    public init(completedBytes: Int64, totalBytes: Int64?) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }
}
