// The nodes of a tree in memory: values, so that a detached branch is freed by whoever holds it last, outside the lock. A
// key has at most 64 segments, so walking and freeing go at most 64 deep.

import Synchronization

/// A value in memory.
final class Leaf: Sendable {
    let value: any Sendable
    /// Wall clock, for telling.
    let createdAt: Double
    /// Monotonic clock, for deciding.
    let created: Double
    let life: Double
    let cost: Int
    private let lastRead: Atomic<UInt64>

    init(_ value: any Sendable, life: Double, wall: Double, now: Double, cost: Int) {
        self.value = value
        self.life = life
        self.cost = cost
        createdAt = wall
        created = now
        lastRead = Atomic(now.bitPattern)
    }

    var accessed: Double { Double(bitPattern: lastRead.load(ordering: .relaxed)) }

    func touch(_ now: Double) { lastRead.store(now.bitPattern, ordering: .relaxed) }

    func isExpired(_ now: Double) -> Bool { now >= created + life }

    /// Not read for over half of its life.
    func isStale(_ now: Double) -> Bool { life.isFinite && now - max(accessed, created) > 0.5 * life }
}

struct MemoryNode: Sendable {
    var leaf: Leaf?
    var children: [String: MemoryNode] = [:]

    var isEmpty: Bool { leaf == nil && children.isEmpty }

    /// The leaf at a path, without making anything.
    func leaf(at path: [String], from depth: Int = 0) -> Leaf? {
        depth == path.count ? leaf : children[path[depth]]?.leaf(at: path, from: depth + 1)
    }

    func node(at path: [String], from depth: Int = 0) -> MemoryNode? {
        depth == path.count ? self : children[path[depth]]?.node(at: path, from: depth + 1)
    }

    /// Puts a leaf at a path; the result is the one that was there.
    mutating func put(_ leaf: Leaf, at path: [String], from depth: Int = 0) -> Leaf? {
        guard depth < path.count else {
            defer { self.leaf = leaf }
            return self.leaf
        }
        return children[path[depth], default: MemoryNode()].put(leaf, at: path, from: depth + 1)
    }

    /// Changes the node at a path if it is there, and drops nodes that are empty then.
    mutating func change<Result>(
        at path: [String], from depth: Int = 0, _ body: (inout MemoryNode) -> Result
    ) -> Result? {
        guard depth < path.count else { return body(&self) }
        guard let index = children.index(forKey: path[depth]) else { return nil }
        let result = children.values[index].change(at: path, from: depth + 1, body)
        if children.values[index].isEmpty { children.remove(at: index) }
        return result
    }

    /// Visits every leaf at and below, in key order if asked for, until `body` answers false.
    @discardableResult
    func forEachLeaf(_ path: [String], sorted: Bool = false, _ body: ([String], Leaf) -> Bool) -> Bool {
        if let leaf, !body(path, leaf) { return false }
        if !sorted { return children.allSatisfy { $0.value.forEachLeaf(path + [$0.key], body) } }
        let names = children.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return names.allSatisfy { children[$0]?.forEachLeaf(path + [$0], sorted: true, body) ?? true }
    }

    func hasLiveLeaf(_ now: Double) -> Bool {
        if let leaf, !leaf.isExpired(now) { return true }
        return children.values.contains { $0.hasLiveLeaf(now) }
    }

    /// Leaves and what they cost together.
    var size: (count: Int, cost: Int) {
        var size = (count: leaf == nil ? 0 : 1, cost: leaf?.cost ?? 0)
        for child in children.values {
            let below = child.size
            size = (size.count + below.count, size.cost + below.cost)
        }
        return size
    }

    /// How many nodes there are, this one included.
    var nodeCount: Int { children.values.reduce(1) { $0 + $1.nodeCount } }
}
