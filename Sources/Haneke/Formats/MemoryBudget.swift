internal import Foundation

/// How much memory a format's values get by default.
enum MemoryBudget {
    private static let smallestBytes = 16 << 20
    private static let largestBytes = 256 << 20
    private static let shareOfMemory = 16

    /// A sixteenth of the memory that this process may use, between 16 and 256 MiB.
    ///
    /// In bytes.
    static let capacityDefault = capacity(forMemoryBytes: memoryBytes())

    static func capacity(forMemoryBytes bytes: UInt64) -> Int {
        min(max(Int(clamping: bytes / UInt64(shareOfMemory)), smallestBytes), largestBytes)
    }

    /// The memory of the machine, or less if the process's control group (a container) allows less.
    private static func memoryBytes() -> UInt64 {
        let machine = ProcessInfo.processInfo.physicalMemory
        #if os(Linux)
            return min(machine, controlGroupLimit() ?? .max)
        #else
            return machine
        #endif
    }

    #if os(Linux)
        /// The smallest `memory.max` from this process's group (cgroup v2) up to the root; nil if there is none.
        private static func controlGroupLimit() -> UInt64? {
            let root = "/sys/fs/cgroup"
            guard let groups = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8) else { return nil }
            let ownGroup = groups.split(separator: "\n").first { $0.hasPrefix("0::") }?.dropFirst(3) ?? "/"
            var parts = ownGroup.split(separator: "/").map(String.init)
            var limit: UInt64?
            while true {
                let path = ([root] + parts + ["memory.max"]).joined(separator: "/")
                let text = try? String(contentsOfFile: path, encoding: .utf8)
                if let bytes = text.flatMap({ UInt64($0.trimmingCharacters(in: .whitespacesAndNewlines)) }) {
                    limit = min(limit ?? .max, bytes)
                }
                guard parts.popLast() != nil else { return limit }
            }
        }
    #endif
}
