internal import CHaneke

extension Bucket {
    /// Which entry goes when a bucket is over its limits.
    ///
    /// It is kept in the store, for all processes that use the bucket. The set is open: a bucket may be set to a policy
    /// that only a newer version of the library has a name for.
    public struct EvictionPolicy: RawRepresentable, Sendable, Hashable {
        /// The C interface's number, `hnk_eviction`.
        public let rawValue: UInt32

        /// Makes a policy out of the C interface's number; a bucket refuses one that it does not know.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The one that was set, read or touched least recently: exactly so up to 4,096 entries, above them the oldest
        /// of 32 drawn at random.
        ///
        /// The default of a new bucket. Good where the set that is in use moves quickly.
        public static let leastRecentlyUsed = Self(rawValue: hnk_eviction.leastRecentlyUsed.rawValue)

        /// In order of insertion, but what was read since it was last passed over stays (SIEVE).
        ///
        /// Fewer misses where many entries are read once, by a scan for example: those go first. A set of a key that
        /// is there counts as a read.
        public static let sieve = Self(rawValue: hnk_eviction.sieve.rawValue)
    }
}

extension Bucket.EvictionPolicy: CustomStringConvertible {
    /// Its name here, or its number.
    public var description: String {
        switch self {
        case .leastRecentlyUsed: "leastRecentlyUsed"
        case .sieve: "sieve"
        default: "EvictionPolicy(\(rawValue))"
        }
    }
}
