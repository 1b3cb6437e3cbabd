// The eviction policies as they are defined, in arrays whose first element leaves first.

/// A key and what it weighs.
private struct Weighed {
    let key: Int
    let weight: Int
    /// S3-FIFO only: hits since it came into its queue, at most 3.
    var hits = 0
}

/// A queue that knows what it weighs.
private struct WeighedQueue {
    private(set) var weight = 0
    private(set) var keys: [Weighed] = []

    mutating func append(_ added: Weighed) {
        keys.append(added)
        weight += added.weight
    }

    mutating func remove(at index: Int) -> Weighed {
        let removed = keys.remove(at: index)
        weight -= removed.weight
        return removed
    }

    mutating func removeFirst() -> Weighed { remove(at: 0) }

    /// Where the key is, looked for from the newest on.
    func place(of key: Int) -> Int? {
        var index = keys.count - 1
        while index >= 0, keys[index].key != key { index -= 1 }
        return index < 0 ? nil : index
    }

    mutating func noteHit(at index: Int) { keys[index].hits = min(3, keys[index].hits + 1) }
}

/// Least recently used leaves first.
struct LRUReference {
    let capacity: Int
    private var queue = WeighedQueue()
    private var held: Set<Int> = []

    init(capacity: Int) { self.capacity = capacity }

    /// Asks for the key and, on a miss, inserts it; returns whether it was one.
    mutating func misses(_ key: Int, weight: Int) -> Bool {
        if held.contains(key), let index = queue.place(of: key) {
            queue.append(queue.remove(at: index))
            return false
        }
        guard weight <= capacity else { return true }
        while queue.weight + weight > capacity { held.remove(queue.removeFirst().key) }
        queue.append(Weighed(key: key, weight: weight))
        held.insert(key)
        return true
    }
}

/// S3-FIFO: a small queue of a tenth, a main queue that gives a second chance, a ghost queue of nine tenths.
struct S3FIFOReference {
    let capacity: Int
    private var small = WeighedQueue()
    private var main = WeighedQueue()
    private var ghost = WeighedQueue()
    private var inSmall: Set<Int> = []
    private var inMain: Set<Int> = []
    private var inGhost: Set<Int> = []

    init(capacity: Int) { self.capacity = capacity }

    /// Asks for the key and, on a miss, inserts it; returns whether it was one.
    mutating func misses(_ key: Int, weight: Int) -> Bool {
        if inSmall.contains(key), let index = small.place(of: key) {
            small.noteHit(at: index)
            return false
        }
        if inMain.contains(key), let index = main.place(of: key) {
            main.noteHit(at: index)
            return false
        }
        guard weight <= capacity else { return true }
        let isKnown = inGhost.remove(key) != nil
        if isKnown, let index = ghost.place(of: key) { _ = ghost.remove(at: index) }
        while small.weight + main.weight + weight > capacity { makeRoom() }
        if isKnown {
            enterMain(Weighed(key: key, weight: weight))
        } else {
            small.append(Weighed(key: key, weight: weight))
            inSmall.insert(key)
        }
        return true
    }

    private mutating func makeRoom() {
        let target = capacity / 10
        let isSmallFull = small.weight > target || small.weight == target && main.weight <= capacity - target
        if !small.keys.isEmpty, main.keys.isEmpty || isSmallFull {
            let oldest = small.removeFirst()
            inSmall.remove(oldest.key)
            if oldest.hits >= 2 { enterMain(oldest) } else { enterGhost(oldest) }
        } else {
            var oldest = main.removeFirst()
            if oldest.hits > 0 {
                oldest.hits -= 1
                main.append(oldest)
            } else {
                inMain.remove(oldest.key)
            }
        }
    }

    private mutating func enterMain(_ entry: Weighed) {
        main.append(Weighed(key: entry.key, weight: entry.weight))
        inMain.insert(entry.key)
    }

    private mutating func enterGhost(_ entry: Weighed) {
        ghost.append(entry)
        inGhost.insert(entry.key)
        while ghost.weight > capacity - capacity / 10 { inGhost.remove(ghost.removeFirst().key) }
    }
}
