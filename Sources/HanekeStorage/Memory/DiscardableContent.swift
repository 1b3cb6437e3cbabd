/// A value that can give up its contents while it is cached, and be asked to.
///
/// A ``MemoryCache`` asks each value that conforms, whether its type is `Value` itself or a type behind it. Content counts
/// its accesses: between ``beginAccess()`` and ``endAccess()`` it keeps what it holds.
///
/// The cache calls these members on whichever thread uses the cache, holding no lock.
public protocol DiscardableContent: AnyObject, Sendable {
    /// Whether the contents are gone.
    var isDiscarded: Bool { get }

    /// Announces a use of the contents; returns whether they are still there.
    func beginAccess() -> Bool

    /// Ends a use announced with ``beginAccess()``.
    func endAccess()

    /// Gives up the contents, unless an access is going on. Called once when the value leaves a cache.
    func discardIfPossible()
}
