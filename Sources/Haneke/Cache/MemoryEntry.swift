internal import Synchronization

/// What is known of a value in memory, whatever its type: so the memory tier is compiled for one type alone, and a hit
/// does not ask the runtime for generic metadata.
class MemoryRecord: @unchecked Sendable {
    // Sendable: `let`s and atomics; the one subclass adds a `let` that is Sendable.
    let key: CacheKey
    /// When its lifetime ends; nil for never.
    let expiry: Expiry?

    /// The tick of the last use that the disk has yet to hear of.
    let lastUse = Atomic<UInt64>(0)
    /// Whether it is on the list of uses that the disk has yet to hear of.
    let isNoted = Atomic(false)
    /// Whether it has no record on disk and is to have none: the disk refused it, or it has no form as bytes.
    let staysOffDisk = Atomic(false)

    fileprivate init(key: CacheKey, expiry: Expiry?) {
        self.key = key
        self.expiry = expiry
    }
}

/// A value in the memory tier.
final class MemoryEntry<Value: Sendable>: MemoryRecord, @unchecked Sendable {
    // Sendable: restated for the class it inherits from.
    let value: Value

    init(key: CacheKey, value: Value, expiry: Expiry?) {
        self.value = value
        super.init(key: key, expiry: expiry)
    }
}
