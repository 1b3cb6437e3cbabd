import HanekeStorage

/// How the tool writes policies of eviction.
extension Bucket.EvictionPolicy {
    /// What `--eviction` takes, and `stat` shows.
    var name: String {
        switch self {
        case .leastRecentlyUsed: "lru"
        case .sieve: "sieve"
        default: "\(rawValue)"
        }
    }

    /// nil for what is no name of one.
    init?(name: String) {
        guard let policy = [.leastRecentlyUsed, .sieve].first(where: { (policy: Self) in policy.name == name }) else {
            return nil
        }
        self = policy
    }
}
