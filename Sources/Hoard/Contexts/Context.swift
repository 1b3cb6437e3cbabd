public import Foundation

/// A place where items live under keys, with a lifetime of its own; contexts can be mounted in one another.
///
/// `MemoryContext` and `DiskContext` are contexts. All members may be called from any thread; those of a disk context read
/// or write its files. The requirements are the throwing forms; an extension has the plain ones, which never throw.
public protocol Context: AnyObject, Sendable {
    /// How long entries live that are put without a life, in seconds: the context's own, else that of the nearest one around
    /// it, else 3,600.
    ///
    /// Setting it leaves stored entries as they are.
    var validFor: TimeInterval { get set }
    /// What `validFor` was set to here; nil inherits.
    var ownValidFor: TimeInterval? { get }
    /// Tells what happens.
    var eventSource: ContextEvents { get }
    /// The loads under way.
    var loads: ContextLoads { get }
    /// The contexts mounted anywhere below, not those mounted in them.
    var mountedContexts: [any Context] { get }

    /// The context that keeps `key`, and the key's place in it.
    func owner(of key: Key) throws(TreeError) -> (context: any Context, key: Key)
    /// Stores a value, or mounts it if it is a context.
    ///
    /// - Parameters:
    ///   - validFor: its life in seconds; nil is the context's.
    ///   - inherited: the life that holds around the context, for one that has none of its own.
    func store(
        _ value: any Sendable, at key: Key, validFor: TimeInterval?, inherited: TimeInterval?
    ) throws(TreeError)
    /// The value under the key, if it is live and of the type; for a type of contexts, the one mounted there or a view.
    func value<T>(at key: Key, as type: T.Type) throws(TreeError) -> T?
    /// Removes a leaf and, with `descendants`, all below it; the result is how many leaves.
    func removeValues(at key: Key, descendants: Bool, clearingMounts: Bool) throws(TreeError) -> Int
    /// Removes all, and unmounts what is mounted.
    func removeAll() throws(TreeError) -> Int
    /// Removes expired leaves, and with `deep` those not read for over half of their life, in mounted contexts too.
    func removeExpired(deep: Bool) throws(TreeError) -> Int
    /// The names directly below the key (nil: the root), each once, in the order of their bytes.
    func childNames(of key: Key?) throws(TreeError) -> [String]
    /// Live leaves at and under the key (nil: the root) in key order, behind `after`.
    func leafKeys(under key: Key?, limit: Int, after: Key?) throws(TreeError) -> [Key]
    /// What is known of a leaf; nil if there is none that is live.
    func entryInfo(at key: Key) throws(TreeError) -> EntryInfo?
    /// Called when the context was mounted (or unmounted: nil).
    func wasMounted(in parent: (any Context)?, at key: Key)
    /// The nearest life that was set around the key.
    func nearestValidFor(around key: Key) -> TimeInterval?
}

extension Context {
    /// How long entries live where nobody says otherwise, in seconds.
    static var defaultValidFor: TimeInterval { 3_600 }

    /// The same as `validFor`, as the first Hoard spelled it.
    @available(*, deprecated, renamed: "validFor")
    public var expiry: TimeInterval {
        get { validFor }
        set { validFor = newValue }
    }

    /// What happens from now on; the 256 newest events are kept for a slow listener.
    public var events: AsyncStream<ContextEvent> { eventSource.stream() }

    /// What `body` gives; an error is told to `events` and becomes nil.
    func plain<Result>(_ body: () throws(TreeError) -> Result?) -> Result? {
        do {
            return try body()
        } catch {
            eventSource.send(.refused(error))
            return nil
        }
    }
}
