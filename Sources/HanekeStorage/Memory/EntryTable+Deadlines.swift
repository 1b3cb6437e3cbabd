// When entries expire: a binary heap over the slots that have a deadline. Entries without one cost nothing here.

/// The moment at which the entry of a slot expires.
@usableFromInline
struct Deadline: Sendable {
    @usableFromInline let moment: Duration
    /// Orders equal moments: the older insertion expires first.
    let id: UInt64
    @usableFromInline let slot: Int

    static func < (left: Deadline, right: Deadline) -> Bool {
        left.moment != right.moment ? left.moment < right.moment : left.id < right.id
    }
}

extension EntryTable {
    /// Whether the entry's lifetime is over.
    @inlinable
    func isExpired(_ slot: Int, at now: Duration) -> Bool {
        let index = slots[slot].heapIndex
        return index != Self.none && deadlines[index].moment <= now
    }

    /// The slot that expired first, or `none` if every entry is alive.
    @inlinable
    func firstExpired(at now: Duration) -> Int {
        guard let first = deadlines.first, first.moment <= now else { return Self.none }
        return first.slot
    }

    /// Gives a fresh entry its deadline: O(log n) in the number of entries that have one.
    @usableFromInline
    mutating func setDeadline(_ moment: Duration, of slot: Int) {
        deadlines.append(Deadline(moment: moment, id: slots[slot].id, slot: slot))
        slots[slot].heapIndex = deadlines.count - 1
        siftUp(deadlines.count - 1)
    }

    /// Forgets the entry's deadline, which it must have: O(log n) in the number of entries that have one.
    @usableFromInline
    mutating func dropDeadline(of slot: Int) {
        let index = slots[slot].heapIndex
        slots[slot].heapIndex = Self.none
        let last = deadlines.removeLast()
        guard last.slot != slot else { return }
        place(last, at: index)
        siftUp(index)
        siftDown(slots[last.slot].heapIndex)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        let deadline = deadlines[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard deadline < deadlines[parent] else { break }
            place(deadlines[parent], at: index)
            index = parent
        }
        place(deadline, at: index)
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        let deadline = deadlines[index]
        while true {
            var child = 2 * index + 1
            guard child < deadlines.count else { break }
            if child + 1 < deadlines.count, deadlines[child + 1] < deadlines[child] { child += 1 }
            guard deadlines[child] < deadline else { break }
            place(deadlines[child], at: index)
            index = child
        }
        place(deadline, at: index)
    }

    private mutating func place(_ deadline: Deadline, at index: Int) {
        deadlines[index] = deadline
        slots[deadline.slot].heapIndex = index
    }
}
