// The keys that left a memory cache's small queue lately, by their hashes: whoever comes back has proven itself.

/// A first-in-first-out queue of hashes, each with a weight; every operation is O(1), amortised.
///
/// Hashes are seeded in each process and have 64 bits: two keys of one hash would cost a place in the wrong queue, no more.
@usableFromInline
struct GhostQueue: Sendable {
    /// The weight of each hash, and which push it came by: an older place of the same hash in the queue is void.
    struct Ghost: Sendable {
        let weight: Int
        let push: Int
    }

    private var ghosts: [Int: Ghost] = [:]
    private var order: [Int] = []
    private var pushes: [Int] = []
    private var head = 0
    private var pushCount = 0
    private var weight: UInt128 = 0

    @usableFromInline
    init() {}

    /// Adds a hash, and forgets the oldest until the weight of all is at most `capacity`.
    @usableFromInline
    mutating func push(_ hash: Int, weight added: Int, capacity: UInt128) {
        _ = remove(hash)
        pushCount += 1
        ghosts[hash] = Ghost(weight: added, push: pushCount)
        order.append(hash)
        pushes.append(pushCount)
        weight += UInt128(added)
        while weight > capacity, head < order.count { dropOldest() }
        if head > 64, head * 2 > order.count { compact() }
    }

    /// Takes the hash out; returns whether it was there.
    @usableFromInline
    mutating func remove(_ hash: Int) -> Bool {
        guard let ghost = ghosts.removeValue(forKey: hash) else { return false }
        weight -= UInt128(ghost.weight)
        // Its place in the queue stays, void: without this, keys that come and go would make it grow for ever.
        if order.count > 2 * ghosts.count + 64 { compact() }
        return true
    }

    private mutating func dropOldest() {
        let (hash, push) = (order[head], pushes[head])
        head += 1
        if let ghost = ghosts[hash], ghost.push == push {
            ghosts[hash] = nil
            weight -= UInt128(ghost.weight)
        }
    }

    /// Closes the gaps; called when half of the places are void.
    private mutating func compact() {
        let kept = order.indices.dropFirst(head).filter { ghosts[order[$0]]?.push == pushes[$0] }
        order = kept.map { order[$0] }
        pushes = kept.map { pushes[$0] }
        head = 0
    }
}
