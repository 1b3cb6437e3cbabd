/// How short of memory the system says it is.
public enum MemoryPressureLevel: Sendable, Hashable, Comparable {
    /// There is enough: caches keep what they hold.
    case normal
    /// Memory is getting short: caches keep at most half.
    case warning
    /// Memory is about to run out: caches keep nothing.
    case critical
}
