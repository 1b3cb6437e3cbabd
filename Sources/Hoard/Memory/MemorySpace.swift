import Foundation
import Synchronization

/// The entries of a memory context, which its views share.
final class MemorySpace: Sendable {
    struct State: Sendable {
        var root = MemoryNode()
        var count = 0
        var cost = 0
    }

    let state = Mutex(State())
    let overlay = Overlay()
    let loads = ContextLoads()
    let events = ContextEvents()
    let clock: TreeClock
    let maxCost: Int?
    let maxCount: Int?

    init(maxCost: Int?, maxCount: Int?, clock: TreeClock) {
        self.maxCost = maxCost
        self.maxCount = maxCount
        self.clock = clock
    }

    func put(_ leaf: Leaf, at key: Key) throws(TreeError) {
        if let maxCost, leaf.cost > maxCost {
            _ = remove(key)
            throw .tooLarge(bytes: leaf.cost, maxBytes: maxCost)
        }
        // What goes is let go behind the lock: freeing it runs code of others.
        let (replaced, evicted) = state.withLock { state -> (Leaf?, [Leaf]) in
            let replaced = state.root.put(leaf, at: key.stored)
            state.count += replaced == nil ? 1 : 0
            state.cost += leaf.cost - (replaced?.cost ?? 0)
            return (replaced, evict(&state, keeping: leaf))
        }
        withExtendedLifetime(replaced) {}
        if !evicted.isEmpty { events.send(.removed(evicted.count)) }
    }

    /// Makes room, the least recently read first, until the limits are nine tenths full.
    private func evict(_ state: inout State, keeping leaf: Leaf) -> [Leaf] {
        guard state.count > maxCount ?? .max || state.cost > maxCost ?? .max else { return [] }
        let now = clock.monotonic()
        var all: [(path: [String], leaf: Leaf)] = []
        state.root.forEachLeaf([]) { path, leaf in
            all.append((path, leaf))
            return true
        }
        all.sort { left, right in
            let (first, second) = (left.leaf.isExpired(now), right.leaf.isExpired(now))
            return first == second ? left.leaf.accessed < right.leaf.accessed : first
        }
        let counts = maxCount.map { max(1, $0 - $0 / 10) } ?? .max
        let costs = maxCost.map { $0 - $0 / 10 } ?? .max
        var evicted: [Leaf] = []
        for victim in all where (state.count > counts || state.cost > costs) && victim.leaf !== leaf {
            _ = state.root.change(at: victim.path) { $0.leaf = nil }
            state.count -= 1
            state.cost -= victim.leaf.cost
            evicted.append(victim.leaf)
        }
        return evicted
    }

    func leaf(at key: Key) -> Leaf? { state.withLock { $0.root.leaf(at: key.stored) } }

    func remove(_ key: Key) -> Leaf? {
        state.withLock { state in
            let leaf = state.root.change(at: key.stored) { node in
                defer { node.leaf = nil }
                return node.leaf
            }
            guard let leaf, let leaf else { return nil }
            state.count -= 1
            state.cost -= leaf.cost
            return leaf
        }
    }

    /// Cuts off a branch; counted and freed outside the lock.
    func prune(_ key: Key, includingKey: Bool) -> Int {
        let branch = state.withLock { state -> MemoryNode in
            state.root.change(at: key.stored) { node in
                let branch = includingKey ? node : MemoryNode(leaf: nil, children: node.children)
                node = MemoryNode(leaf: includingKey ? nil : node.leaf)
                return branch
            } ?? MemoryNode()
        }
        let size = branch.size
        state.withLock { state in
            state.count -= size.count
            state.cost -= size.cost
        }
        return size.count
    }

    /// Removes the leaves under a key that a rule names, unless they were replaced meanwhile.
    func removeLeaves(under key: Key, where isDoomed: (Leaf) -> Bool) -> Int {
        guard let branch = state.withLock({ $0.root.node(at: key.stored) }) else { return 0 }
        var doomed: [(path: [String], leaf: Leaf)] = []
        branch.forEachLeaf(key.stored) { path, leaf in
            if isDoomed(leaf) { doomed.append((path, leaf)) }
            return true
        }
        guard !doomed.isEmpty else { return 0 }
        return state.withLock { state in
            var removed = 0
            for victim in doomed where state.root.leaf(at: victim.path) === victim.leaf {
                _ = state.root.change(at: victim.path) { $0.leaf = nil }
                state.count -= 1
                state.cost -= victim.leaf.cost
                removed += 1
            }
            return removed
        }
    }
}
