// Prunes under way: what a mark covers and was written before it reads as absent, until the scan has removed it.

import HanekeStorage
import Synchronization

struct PruneMark: Sendable, Hashable {
    let sequence: UInt64
    /// The first bytes of the keys that are removed; "" is all.
    let prefix: String
    /// Whether the key that is the prefix itself stays.
    let keepsKey: Bool

    func covers(_ key: String, _ sequence: UInt64) -> Bool {
        sequence < self.sequence && key.utf8.starts(with: prefix.utf8)
            && !(keepsKey && key.utf8.count == prefix.utf8.count)
    }

    /// Its record: the sequence in hexadecimal, so that marks are listed in order.
    var name: String {
        let digits = String(sequence, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    var value: [UInt8] { [keepsKey ? 1 : 0] + prefix.utf8 }

    init(sequence: UInt64, prefix: String, keepsKey: Bool) {
        self.sequence = sequence
        self.prefix = prefix
        self.keepsKey = keepsKey
    }

    init?(name: String, value: [UInt8]) {
        guard let sequence = UInt64(name, radix: 16), let flag = value.first else { return nil }
        self.init(
            sequence: sequence, prefix: String(decoding: value.dropFirst(), as: UTF8.self), keepsKey: flag != 0)
    }
}

/// The marks of a store, as this process knows them.
final class PruneMarks: Sendable {
    private struct Known: Sendable {
        /// Prunes of this process, which a look at the store that began earlier must not forget.
        var own: [PruneMark] = []
        var read: [PruneMark] = []
        var count: Int { own.count + read.count }
    }

    private let bucket: Bucket
    private let known = Mutex(Known())
    private let count = Atomic(0)
    private let lookedAt = Atomic<UInt64>(0)
    /// So old may be what is known of the prunes of other processes, in milliseconds.
    private static let agesMost: UInt64 = 100

    init(_ bucket: Bucket) { self.bucket = bucket }

    /// Whether a record has been pruned.
    func hide(_ key: String, _ sequence: UInt64) -> Bool {
        lookIfDue()
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return known.withLock { known in
            known.own.contains { $0.covers(key, sequence) } || known.read.contains { $0.covers(key, sequence) }
        }
    }

    private func lookIfDue() {
        let now = UInt64(TreeClock.system.monotonic() * 1_000)
        let last = lookedAt.load(ordering: .relaxed)
        guard now >= last + Self.agesMost,
            lookedAt.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return }
        _ = try? look()
    }

    /// Reads the marks of all processes.
    @discardableResult
    func look() throws(StoreError) -> [PruneMark] {
        var marks: [PruneMark] = []
        for entry in try bucket.entries() {
            guard let value = try bucket.bytes(forKey: entry.key),
                let mark = PruneMark(name: entry.key, value: value)
            else { continue }
            marks.append(mark)
        }
        set(marks)
        return marks
    }

    private func set(_ marks: [PruneMark]) {
        known.withLock { known in
            known.read = marks
            count.store(known.count, ordering: .releasing)
        }
    }

    func add(_ mark: PruneMark) throws(StoreError) {
        try bucket.set(mark.value, forKey: mark.name)
        known.withLock { known in
            known.own.append(mark)
            count.store(known.count, ordering: .releasing)
        }
    }

    func remove(_ mark: PruneMark) throws(StoreError) {
        try bucket.remove(mark.name)
        known.withLock { known in
            known.own.removeAll { $0 == mark }
            known.read.removeAll { $0 == mark }
            count.store(known.count, ordering: .releasing)
        }
    }
}
