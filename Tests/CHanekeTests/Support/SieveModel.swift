import CHaneke

/// What a bucket must hold: plain SIEVE, and plain LRU for the time that it is set to that.
struct SieveModel {
    final class Entry {
        let key: [UInt8]
        var value: [UInt8]
        /// When its record was written and when it was last used, by the model's clock.
        var written: Int
        var used: Int
        /// Read, or set again, since it was set or the hand passed.
        var isVisited = false

        init(_ key: [UInt8], _ value: [UInt8], at time: Int) {
            (self.key, self.value, written, used) = (key, value, time, time)
        }
    }

    /// By insertion, the oldest first.
    private(set) var entries: [Entry] = []
    /// nil: at the oldest.
    private(set) var hand: Entry?
    private(set) var evictions: UInt64 = 0
    private(set) var capacity = UInt64.max
    private(set) var entriesMax = 0
    private(set) var isSieve = true
    private let threshold: Int
    private var clock = 0
    /// Whether the list has changed since the last transaction began.
    private var hasMoved = false

    init(blobThreshold: Int) { threshold = blobThreshold }

    func charge(_ key: [UInt8], _ value: [UInt8]) -> UInt64 {
        Charge.of(keyBytes: key.count, valueBytes: value.count, isBlob: value.count > threshold)
    }

    var bytes: UInt64 { entries.reduce(0) { $0 + charge($1.key, $1.value) } }

    func find(_ key: [UInt8]) -> Entry? { entries.first { $0.key == key } }

    /// A read or touch; the value.
    mutating func use(_ key: [UInt8]) -> [UInt8]? {
        guard let entry = find(key) else { return nil }
        clock += 1
        entry.used = clock
        entry.isVisited = true
        return entry.value
    }

    /// `fails`: its record can't be written after room has been made.
    mutating func set(_ key: [UInt8], _ value: [UInt8], fails: Bool = false) -> hnk_status {
        let (more, old) = (charge(key, value), find(key))
        guard more <= capacity else {
            if let old { remove(old) }
            return .valueTooLarge
        }
        let held = old.map { charge($0.key, $0.value) } ?? 0
        makeRoom(bytes: more > held ? more - held : 0, entries: old == nil ? 1 : 0, keeping: old)
        hasMoved = hasMoved || old == nil
        guard !fails else { return .io }
        clock += 1
        if let old {
            (old.value, old.written, old.used, old.isVisited) = (value, clock, clock, true)
        } else {
            entries.append(Entry(key, value, at: clock))
        }
        return .ok
    }

    mutating func remove(_ key: [UInt8]) -> hnk_status {
        guard let entry = find(key) else { return .notFound }
        remove(entry)
        return .ok
    }

    /// How many keys have gone.
    mutating func removePrefix(_ prefix: [UInt8]) -> UInt64 {
        let gone = entries.filter { $0.key.starts(with: prefix) }
        for entry in gone { remove(entry) }
        return UInt64(gone.count)
    }

    mutating func configure(capacity: UInt64, entriesMax: Int) {
        (self.capacity, self.entriesMax) = (capacity, entriesMax)
        if capacity == 0 { _ = removePrefix([]) }
        makeRoom()
    }

    mutating func setOrder(sieve: Bool) {
        if sieve, !isSieve { remake() }
        isSieve = sieve
    }

    /// The list made anew from the records: in the order in which they were written, the hand at the oldest.
    mutating func remake() {
        entries.sort { $0.written < $1.written }
        hand = nil
    }

    /// Carries out steps and takes back what an aborted transaction takes back: all but what lies in access times.
    mutating func abort(_ steps: (inout SieveModel) -> Void) {
        hasMoved = false
        let (before, records) = (self, entries.map { ($0.value, $0.written) })
        steps(&self)
        let after = self
        self = before
        clock = after.clock
        for (entry, record) in zip(entries, records) { (entry.value, entry.written) = record }
        if isSieve, after.hasMoved { remake() }
    }

    private mutating func remove(_ entry: Entry) {
        guard let index = entries.firstIndex(where: { $0 === entry }) else { return }
        if hand === entry { hand = successor(entry) }
        entries.remove(at: index)
        hasMoved = true
    }

    private func successor(_ entry: Entry) -> Entry? {
        guard let index = entries.firstIndex(where: { $0 === entry }), index + 1 < entries.count else { return nil }
        return entries[index + 1]
    }

    private mutating func makeRoom(bytes more: UInt64 = 0, entries one: Int = 0, keeping kept: Entry? = nil) {
        while entries.contains(where: { $0 !== kept }),
            bytes + more > capacity || entriesMax > 0 && entries.count + one > entriesMax
        {
            if isSieve {
                evictUnvisited(keeping: kept)
            } else if let oldest = entries.filter({ $0 !== kept }).min(by: { $0.used < $1.used }) {
                remove(oldest)
            }
            evictions += 1
        }
    }

    private mutating func evictUnvisited(keeping kept: Entry?) {
        while let entry = hand ?? entries.first {
            hand = entry
            if entry !== kept {
                if !entry.isVisited { return remove(entry) }
                entry.isVisited = false
            }
            hand = successor(entry)
        }
    }
}
