internal import Synchronization

/// A value in the memory tier, with what the disk tier wants to know of its use.
final class MemoryEntry<Value: Sendable>: Sendable {
    let key: CacheKey
    let value: Value
    /// When its lifetime ends, by the cache's clock; nil for never.
    let deadline: Duration?

    /// The tick of the last use that the disk has yet to hear of.
    let lastUse = Atomic<UInt64>(0)
    /// Whether it is on the list of uses that the disk has yet to hear of.
    let isNoted = Atomic(false)
    /// Whether it has no record on disk and is to have none: the disk refused it, or it has no form as bytes.
    let staysOffDisk = Atomic(false)

    init(key: CacheKey, value: Value, deadline: Duration?) {
        self.key = key
        self.value = value
        self.deadline = deadline
    }
}
