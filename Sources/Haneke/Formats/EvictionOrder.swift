internal import HanekeStorage

/// Which value leaves the disk first where a format's capacity is reached.
public struct EvictionOrder: Sendable, Hashable {
    let policy: Bucket.EvictionPolicy

    /// The one used least recently.
    public static let lru = Self(policy: .leastRecentlyUsed)
    /// In order of insertion, but what was used since it was last passed over stays.
    ///
    /// Fewer misses where many values are used once, as by a scan.
    public static let sieve = Self(policy: .sieve)
}

extension EvictionOrder: CustomStringConvertible {
    /// Its name.
    public var description: String { self == .sieve ? "sieve" : "lru" }
}
