import Testing

@testable import HanekeNetwork

@Suite("The rules of the queue")
struct SlotTableTests {
    private static let cellular = NetworkPath.satisfied(.cellular)

    private func table(
        _ path: NetworkPath, _ count: Int, _ priority: NetworkPriority = .normal, sameOrigin: Bool = false
    ) -> SlotTable {
        var table = SlotTable()
        table.path = path
        for id in 0..<UInt64(count) {
            table.add(id, .init(origin: sameOrigin ? "o" : "o\(id)", priority: priority), at: .zero)
        }
        return table
    }

    @Test(
        "N-022: the width follows the path",
        arguments: [
            (NetworkPath.unknown, 6), (.unsatisfied, 0), (.satisfied(.wired), 6), (.satisfied(.wifi), 6),
            (.satisfied(.other), 6), (.satisfied(.cellular), 2), (.satisfied(.wifi, isExpensive: true), 2),
            (.satisfied(.wired, isConstrained: true), 2),
        ])
    func width(_ path: NetworkPath, _ expected: Int) {
        var table = table(path, 10)
        #expect(table.start(at: .zero).count == expected)
        #expect(table.count == 10)
    }

    @Test("N-022: loopback needs no path but counts in the six")
    func loopback() {
        var table = SlotTable()
        table.path = .unsatisfied
        for id in 0..<UInt64(8) {
            table.add(id, .init(origin: "o\(id)", priority: .normal, isLoopback: id > 0), at: .zero)
        }
        #expect(table.start(at: .zero) == [1, 2, 3, 4, 5, 6])
    }

    @Test("N-023: one origin gets what it is allowed, others the rest", arguments: [(1, 1), (3, 3), (0, 1), (9, 6)])
    func originLimit(_ originMax: Int, _ expected: Int) {
        var table = SlotTable()
        for id in 0..<UInt64(8) {
            table.add(id, .init(origin: "o", priority: .normal, originMax: originMax), at: .zero)
        }
        #expect(table.start(at: .zero).count == expected)
        table.add(99, .init(origin: "p", priority: .background), at: .zero)
        #expect(table.start(at: .zero) == (expected < 6 ? [99] : []))
    }

    @Test("N-024: when the width falls, nothing starts until fewer run; when it rises, more start")
    func changingWidth() {
        var table = table(.unknown, 10)
        #expect(table.start(at: .zero).count == 6)
        table.path = Self.cellular
        for id in 0..<UInt64(4) {
            table.remove(id)
            #expect(table.start(at: .zero).isEmpty)
        }
        table.remove(4)
        #expect(table.start(at: .zero) == [6])
        table.path = .unknown
        #expect(table.start(at: .zero) == [7, 8, 9])
    }

    @Test("N-025: the most urgent first, in the order of coming inside a level")
    func order() {
        var table = SlotTable()
        table.limitOverride = 1
        let priorities: [NetworkPriority] = [.background, .normal, .bulk, .thumbnail, .normal, .userBlocking]
        for (id, priority) in priorities.enumerated() {
            table.add(UInt64(id), .init(origin: "o", priority: priority), at: .zero)
        }
        var order: [UInt64] = []
        while let id = table.start(at: .zero).first {
            order.append(id)
            table.remove(id)
        }
        #expect(order == [5, 3, 1, 4, 2, 0])
    }

    @Test("N-025: who waits rises a level every 15 s")
    func ageing() {
        var table = SlotTable()
        table.limitOverride = 1
        table.add(1, .init(origin: "o", priority: .background), at: .zero)
        table.add(2, .init(origin: "o", priority: .normal), at: .seconds(29))
        table.add(3, .init(origin: "o", priority: .normal), at: .seconds(29))
        // After 29 s the old one is `bulk`, after 30 s it is `normal`, and it came first.
        #expect(table.start(at: .seconds(29)) == [2])
        table.remove(2)
        #expect(table.start(at: .seconds(30)) == [1])
    }

    @Test(
        "N-026: bulk and background leave a slot, also when aged", arguments: [(NetworkPath.unknown, 5), (cellular, 1)])
    func reservedLane(_ path: NetworkPath, _ expected: Int) {
        var table = table(path, 5, .bulk)
        for id in 100..<UInt64(105) { table.add(id, .init(origin: "b\(id)", priority: .background), at: .zero) }
        #expect(table.start(at: .seconds(3600)).count == expected)
        table.add(200, .init(origin: "t", priority: .thumbnail), at: .seconds(3600))
        #expect(table.start(at: .seconds(3600)) == [200])
    }

    @Test("N-026: ten thumbnails of 0.1 s pass fifty uploads of 60 s on a mobile path within 1.5 s")
    func thumbnailsBehindUploads() {
        var table = table(Self.cellular, 50, .bulk)
        var now = Duration.zero
        var ends: [UInt64: Duration] = [:]
        var thumbnailsLeft = 10
        func run(_ ids: [UInt64]) {
            for id in ids { ends[id] = now + (id < 100 ? .seconds(60) : .milliseconds(100)) }
        }
        run(table.start(at: now))
        for id in 100..<UInt64(110) { table.add(id, .init(origin: "t", priority: .thumbnail), at: now) }
        run(table.start(at: now))
        while thumbnailsLeft > 0, let next = ends.min(by: { $0.value < $1.value }) {
            now = next.value
            ends[next.key] = nil
            table.remove(next.key)
            if next.key >= 100 { thumbnailsLeft -= 1 }
            run(table.start(at: now))
        }
        #expect(thumbnailsLeft == 0)
        #expect(now <= .milliseconds(1500))
    }

    @Test("N-027: a waiting operation can be made more urgent, never less")
    func raising() {
        var table = SlotTable()
        table.isPaused = true
        table.limitOverride = 1
        table.add(1, .init(origin: "o", priority: .normal), at: .zero)
        table.add(2, .init(origin: "o", priority: .background), at: .zero)
        table.raise(2, to: .userBlocking)
        table.raise(2, to: .background)
        #expect(table.start(at: .zero).isEmpty)
        table.isPaused = false
        #expect(table.start(at: .zero) == [2])
    }

    @Test("N-013: who needs an unmetered path waits on a mobile one, and others go on")
    func unmetered() {
        var table = SlotTable()
        table.path = Self.cellular
        table.add(1, .init(origin: "o", priority: .normal, needsUnmeteredPath: true), at: .zero)
        table.add(2, .init(origin: "o", priority: .normal), at: .zero)
        #expect(table.start(at: .zero) == [2])
        table.path = .satisfied(.wifi)
        #expect(table.start(at: .zero) == [1])
    }
}
