public import Foundation

/// A named way of keeping values: how they are transformed before they are stored, and how much room they get.
///
/// ```swift
/// let icons = Format<Data>(name: "icons", diskCapacity: 10 * 1024 * 1024) { shrink($0) }
/// ```
public struct Format<Value: Sendable>: Sendable {
    /// The name, unique in a cache; the empty name is one.
    ///
    /// At most 255 bytes of UTF-8 for a format on disk.
    public let name: String
    /// Most that the values may take on disk, in bytes.
    ///
    /// Default unlimited; 0 keeps them in memory only.
    public var diskCapacity: UInt64
    /// Most that the values may take in memory, in bytes; 0 is no limit.
    ///
    /// Default: a sixteenth of the memory of the machine or of its control group, at least 16 MiB, at most 256 MiB.
    public var memoryCapacity: Int
    /// Most values in memory; 0, the default, is no limit.
    public var memoryCountLimit: Int
    /// How long values last from when they were stored; nil, the default, is for ever.
    ///
    /// Zero or less is over at once.
    public var lifetime: Duration?
    /// What is written to disk for a value, in place of its `asData()`; nil, the default, uses that.
    ///
    /// Runs in the background. A nil result means that the value has no form as bytes.
    public var convertToData: (@Sendable (Value) throws -> Data?)?

    private let transform: (@Sendable (Value) throws -> Value)?

    /// Describes a format.
    ///
    /// - Parameters:
    ///   - diskCapacity: In bytes. Default unlimited; 0 keeps values in memory only.
    ///   - transform: Makes what is stored and delivered out of the original value. It runs off the caller's thread; an
    ///     error it throws is the outcome, and nothing is stored. Default nil: values stay as they came.
    public init(
        name: String, diskCapacity: UInt64 = .max, transform: (@Sendable (Value) throws -> Value)? = nil
    ) {
        self.name = name
        self.diskCapacity = diskCapacity
        self.transform = transform
        memoryCapacity = MemoryBudget.capacityDefault
        memoryCountLimit = 0
    }

    /// Whether values stay as they came.
    ///
    /// A format with a transform is never so, whatever the transform returns.
    public var isIdentity: Bool { transform == nil }

    /// The value as this format keeps it.
    ///
    /// - Throws: What the transform throws.
    public func apply(_ value: Value) throws -> Value {
        guard let transform else { return value }
        return try transform(value)
    }
}
