/// A tree of values in memory, to which contexts on disk can be mounted.
///
/// In a file that imports `Haneke` too, `TreeCache` or `Hoard.Cache` names it.
public final class TreeCache: MemoryContext, @unchecked Sendable {
    // Sendable: adds nothing to MemoryContext.

    /// The one of the process.
    public static let shared = TreeCache()
}

/// `TreeCache`, as the first Hoard called it.
public typealias Cache = TreeCache
