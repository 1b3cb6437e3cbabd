public import Foundation

/// A type whose values can be written as bytes: what a cache needs to keep them on disk.
public protocol DataRepresentable {
    /// The value as bytes.
    ///
    /// A conforming type may leave `throws` out. Runs in the background, on any thread, never under a lock.
    ///
    /// - Returns: nil if the value has no form as bytes. Then it is kept in memory only.
    /// - Throws: The reason why it has none.
    func asData() throws -> Data?

    /// What the value takes in memory, in bytes, counted against the memory limit of its format.
    ///
    /// Default nil: as much as its form as bytes, once that is known.
    var memoryCost: Int? { get }
}

extension DataRepresentable {
    /// The default: as much as the value's form as bytes.
    public var memoryCost: Int? { nil }
}
