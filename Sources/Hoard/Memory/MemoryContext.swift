import Foundation
import Synchronization

/// A context that keeps its values in memory.
///
/// Branches are made by putting, never by reading. A view of a branch shares everything with the context that it is of.
open class MemoryContext: Context, TreeSpace, @unchecked Sendable {
    // Sendable: both members are constants of Sendable types; an open class can't say so itself.
    let space: MemorySpace
    let base: Key

    /// An empty context.
    ///
    /// - Parameters:
    ///   - maxCost: the most that the values may cost together: bytes for data and text, else 1 each; nil, the default, is
    ///     no limit. Over it, what was read least recently goes until nine tenths are left.
    ///   - maxCount: the most leaves, likewise.
    public init(maxCost: Int? = nil, maxCount: Int? = nil, clock: TreeClock = .system) {
        space = MemorySpace(maxCost: maxCost, maxCount: maxCount, clock: clock)
        base = .invalid
    }

    private init(viewOf space: MemorySpace, at base: Key) {
        self.space = space
        self.base = base
    }

    var overlay: Overlay { space.overlay }
    /// Tells what happens.
    public var eventSource: ContextEvents { space.events }
    /// The loads under way.
    public var loads: ContextLoads { space.loads }

    func view(at key: Key) -> any Context { MemoryContext(viewOf: space, at: key) }

    /// Gives up what was not read within the last 60 seconds: for a notice that memory is short.
    ///
    /// O(leaves). The result is how many leaves.
    @discardableResult
    public func relieveMemoryPressure() -> Int {
        let now = space.clock.monotonic()
        let removed = space.removeLeaves(under: base) { now - $0.accessed > 60 }
        if removed > 0 { space.events.send(.removed(removed)) }
        return removed
    }

    /// How many nodes there are.
    var nodeCount: Int { space.state.withLock { $0.root.nodeCount } }

    // MARK: Entries

    func storeEntry(_ value: any Sendable, at key: Key, validFor: TimeInterval) throws(TreeError) {
        let clock = space.clock
        try space.put(
            Leaf(value, life: validFor, wall: clock.wall(), now: clock.monotonic(), cost: Self.cost(of: value)), at: key
        )
    }

    private static func cost(of value: any Sendable) -> Int {
        switch value {
        case let data as Data: data.count
        case let text as String: text.utf8.count
        case let bytes as [UInt8]: bytes.count
        default: 1
        }
    }

    func entryValue<T>(at key: Key, as type: T.Type) throws(TreeError) -> T? {
        guard let leaf = space.leaf(at: key) else { return nil }
        let now = space.clock.monotonic()
        guard !leaf.isExpired(now), let value = leaf.value as? T else { return nil }
        leaf.touch(now)
        return value
    }

    func infoOfEntry(at key: Key) throws(TreeError) -> EntryInfo? {
        guard let leaf = space.leaf(at: key), !leaf.isExpired(space.clock.monotonic()) else { return nil }
        return EntryInfo(
            created: leaf.createdAt, accessed: leaf.createdAt + leaf.accessed - leaf.created, validFor: leaf.life,
            bytes: nil)
    }

    func removeEntry(at key: Key) throws(TreeError) -> Bool { space.remove(key) != nil }

    func removeEntries(under key: Key, includingKey: Bool) throws(TreeError) -> Int {
        space.prune(key, includingKey: includingKey)
    }

    func removeExpiredEntries(under key: Key, deep: Bool) throws(TreeError) -> Int {
        let now = space.clock.monotonic()
        return space.removeLeaves(under: key) { $0.isExpired(now) || deep && $0.isStale(now) }
    }

    func entryNames(in key: Key) throws(TreeError) -> Set<String> {
        let now = space.clock.monotonic()
        let node = space.state.withLock { $0.root.node(at: key.stored) }
        return Set(node?.children.filter { $0.value.hasLiveLeaf(now) }.keys.map { $0 } ?? [])
    }

    func entryKeys(under key: Key, limit: Int, after: Key?) throws(TreeError) -> [Key] {
        guard limit > 0, let node = space.state.withLock({ $0.root.node(at: key.stored) }) else { return [] }
        let now = space.clock.monotonic()
        var found: [Key] = []
        node.forEachLeaf(key.stored, sorted: true) { path, leaf in
            guard !leaf.isExpired(now) else { return true }
            let key = Key(stored: path)
            if let after, !after.encoded.utf8.lexicographicallyPrecedes(key.encoded.utf8) { return true }
            found.append(key)
            return found.count < limit
        }
        return found
    }

    func hasBranch(at key: Key) throws(TreeError) -> Bool {
        let hasChildren = space.state.withLock { $0.root.node(at: key.stored)?.children.isEmpty == false }
        return hasChildren || !space.overlay.mounts(under: key).isEmpty
    }
}
