/// Why an entry left a ``MemoryCache``.
public enum MemoryCacheRemovalReason: Sendable, Hashable {
    /// There were more entries than ``MemoryCache/countLimit``.
    case countLimit
    /// The entries cost more than ``MemoryCache/totalCostLimit``.
    case costLimit
    /// ``MemoryCache/handlePressure(_:)`` was told this level.
    case pressure(MemoryPressureLevel)
    /// The entry's lifetime was over.
    case expired
    /// The value had discarded its contents.
    case discarded
    /// The caller removed the key, or tried to set a value for it that is too costly to be kept.
    case removed
    /// The caller set another value for the key.
    case replaced
    /// The caller emptied the cache.
    case removedAll

    /// Whether the caller asked for just this: such reasons are reported only on request.
    @inlinable
    var isAskedFor: Bool {
        switch self {
        case .removed, .replaced, .removedAll: true
        case .countLimit, .costLimit, .pressure, .expired, .discarded: false
        }
    }
}
