/// Who runs and who waits: the rules of the queue as a value, without threads and clocks of its own (N-022…N-027).
///
/// Choosing is linear in the number of waiting operations.
struct SlotTable {
    /// What the table has to know of an operation.
    struct Ticket: Sendable {
        /// Scheme, host and port.
        let origin: String
        var priority: NetworkPriority
        /// This machine: the state of the path means nothing.
        var isLoopback = false
        /// Waits on a metered path.
        var needsUnmeteredPath = false
        /// Most at a time to this origin; nil for the width of the path.
        var originMax: Int?
    }

    private struct Waiting {
        let id: UInt64
        var ticket: Ticket
        let since: Duration

        /// A level for every 15 s of waiting.
        func level(at now: Duration) -> Int {
            max(0, ticket.priority.rawValue - Int((now - since) / SlotTable.ageing))
        }
    }

    static let ageing = Duration.seconds(15)

    var path = NetworkPath.unknown
    var limitOverride: Int?
    var isPaused = false
    /// In the order of their coming.
    private var waiting: [Waiting] = []
    private var running: [UInt64: Ticket] = [:]

    /// Most at a time for what leaves this machine.
    var limit: Int { limitOverride ?? path.width }
    var runningCount: Int { running.count }
    var count: Int { waiting.count + running.count }

    mutating func add(_ id: UInt64, _ ticket: Ticket, at now: Duration) {
        waiting.append(Waiting(id: id, ticket: ticket, since: now))
    }

    /// True if it was there.
    @discardableResult
    mutating func remove(_ id: UInt64) -> Bool {
        if running.removeValue(forKey: id) != nil { return true }
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// Makes a waiting operation more urgent; never less.
    mutating func raise(_ id: UInt64, to priority: NetworkPriority) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting[index].ticket.priority = max(waiting[index].ticket.priority, priority)
    }

    /// Moves all that may run now to the running ones, most urgent first.
    mutating func start(at now: Duration) -> [UInt64] {
        guard !isPaused else { return [] }
        var started: [UInt64] = []
        while let index = next(at: now) {
            let chosen = waiting.remove(at: index)
            running[chosen.id] = chosen.ticket
            started.append(chosen.id)
        }
        return started
    }

    private func next(at now: Duration) -> Int? {
        var best: (index: Int, level: Int)?
        for (index, candidate) in waiting.enumerated() {
            let level = candidate.level(at: now)
            if let best, best.level <= level { continue }
            if mayRun(candidate.ticket) { best = (index, level) }
        }
        return best?.index
    }

    private func mayRun(_ ticket: Ticket) -> Bool {
        let limit = ticket.isLoopback ? max(limitOverride ?? 0, NetworkPath.widthMax) : limit
        guard running.count < limit else { return false }
        if ticket.needsUnmeteredPath, !ticket.isLoopback, path.isMetered { return false }
        // One slot is for the others, whatever the bulk has aged to; a width of one leaves no room for that.
        if ticket.priority.isBulk, running.values.count(where: \.priority.isBulk) >= max(1, limit - 1) { return false }
        let sameOrigin = running.values.count { $0.origin == ticket.origin }
        return sameOrigin < min(max(1, ticket.originMax ?? limit), limit)
    }
}
