public import Foundation
internal import HanekeStorage

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
    /// Whether each fetch of a value starts its lifetime anew.
    ///
    /// Default false: a value lasts as long as it was told when it was stored.
    public var slides = false
    /// Which value goes first where there is no room on disk; kept in the store, for all who use the format.
    ///
    /// Default ``EvictionOrder/lru``. Changing it to `sieve` costs O(number of values).
    public var eviction = EvictionOrder.lru
    /// The format whose values this one is made of; nil, the default, for one made of originals.
    ///
    /// What is missing here is looked for in the parent, then in the parent's parent, and so on; what is found is
    /// transformed and stored on the way back. A fetcher runs once, and its value goes through all of them, from the root down.
    /// `set` takes a value as the parent would give it.
    ///
    /// A made value has this format's lifetime. Removing a parent's value leaves those made of it. Where the format of that name
    /// is missing, a fetch that needs it fails with ``HanekeError/Code/formatNotFound``.
    public var parent: String?
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

    /// What its values are told when they are stored.
    var lifetimeOfValues: Lifetime { Lifetime(duration: lifetime, slides: slides) }

    /// The same, as far as a value is told nothing else.
    func lifetime(_ lifetime: Duration?, sliding: Bool?) -> Lifetime {
        Lifetime(duration: lifetime ?? self.lifetime, slides: sliding ?? slides)
    }

    /// What its bucket is set to.
    var bucketOptions: Bucket.Options { Bucket.Options(capacityBytes: diskCapacity, eviction: eviction.policy) }

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
