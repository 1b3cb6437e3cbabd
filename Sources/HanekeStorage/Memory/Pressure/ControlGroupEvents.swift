/// What a control group's `memory.events` counts (Linux, admin-guide/cgroup-v2.rst, Memory Interface Files).
package struct ControlGroupEvents: Sendable, Equatable {
    private var counts: [String: UInt64] = [:]

    /// Reads lines of a name and a number; others are passed over.
    package init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, let count = UInt64(words[1]) { counts[String(words[0])] = count }
        }
    }

    /// What has happened since `earlier`: critical if the group ran out of memory, warning if it met a bound.
    package func level(since earlier: ControlGroupEvents) -> MemoryPressureLevel {
        func grew(_ name: String) -> Bool { counts[name, default: 0] > earlier.counts[name, default: 0] }
        if grew("oom") || grew("oom_kill") { return .critical }
        return grew("high") || grew("max") ? .warning : .normal
    }
}
