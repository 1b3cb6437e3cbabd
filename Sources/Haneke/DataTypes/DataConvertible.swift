public import Foundation

/// A type whose values can be read back from bytes: what a cache needs to serve them from disk or from a server.
public protocol DataConvertible {
    /// The value that the bytes stand for.
    ///
    /// A conforming type may leave `throws` out. Runs off the caller's thread, on any thread, never under a lock.
    ///
    /// - Returns: nil if the bytes do not stand for a value.
    /// - Throws: The reason why they do not; a cache hands it on as the underlying error.
    static func convertFromData(_ data: Data) throws -> Self?
}
