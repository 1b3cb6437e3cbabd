// The entries of a directory, which all contexts on it share within the process: writing in turns, reading, pruning.

import Dispatch
import Foundation
import HanekeStorage
import Synchronization

final class DiskShelf: Sendable {
    private struct Opened: Sendable {
        weak let shelf: DiskShelf?
    }

    /// Most records that one write transaction of a prune removes.
    static let pruneStep = 500
    private static let opened = Mutex<[String: Opened]>([:])

    let store: DiskStore
    let entries: Bucket
    let marks: PruneMarks
    /// Writers take turns: LMDB has one at a time anyway, and what is looked at in a turn is still so when it is written.
    private let turn = DispatchQueue(label: "io.haneke.hoard.writes")
    /// Goes on with prunes that a killed process left behind.
    private let resuming = DispatchQueue(label: "io.haneke.hoard.prunes")
    private let lastSequence = Atomic<UInt64>(0)

    /// The shelf of a directory, which is made where it is missing.
    static func open(_ directory: String) throws(StoreError) -> DiskShelf {
        var options = DiskStore.Options()
        options.syncMode = .interval(.seconds(5))
        let store = try DiskStore(directory: directory, options: options)
        let path = URL(fileURLWithPath: store.directory).resolvingSymlinksInPath().path
        if let shelf = opened.withLock({ $0[path]?.shelf }) { return shelf }
        let made = try DiskShelf(store)
        let (shelf, isNew) = opened.withLock { opened -> (DiskShelf, Bool) in
            opened = opened.filter { $0.value.shelf != nil }
            if let other = opened[path]?.shelf { return (other, false) }
            opened[path] = Opened(shelf: made)
            return (made, true)
        }
        if isNew { try shelf.resume() }
        return shelf
    }

    private init(_ store: DiskStore) throws(StoreError) {
        self.store = store
        entries = try store.bucket(named: "tree")
        marks = PruneMarks(try store.bucket(named: "tree.prunes"))
    }

    // MARK: Writing

    /// Runs `body` as the only writer of this process.
    private func inTurn<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let result = turn.sync { () -> Swift.Result<Result, StoreError> in
            do throws(StoreError) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Larger than any before it, in this process and, by the clock, in others.
    private func nextSequence() -> UInt64 {
        let clock = UInt64(max(0, TreeClock.system.wall() * 1e6))
        var last = lastSequence.load(ordering: .relaxed)
        while true {
            let next = max(last + 1, clock)
            let swap = lastSequence.compareExchange(expected: last, desired: next, ordering: .relaxed)
            if swap.exchanged { return next }
            last = swap.original
        }
    }

    /// A value to be written.
    struct Write: Sendable {
        let key: String
        let value: StoredValue
        let created: Double
        let life: Double
    }

    func write(_ write: Write) throws(StoreError) {
        try inTurn { () throws(StoreError) in
            let head = RecordHead(sequence: nextSequence(), created: write.created, life: write.life)
            let metadata = head.metadata(tag: write.value.tag)
            let outcome = write.value.payload.withUnsafeBytes { bytes -> Swift.Result<Void, StoreError> in
                do throws(StoreError) {
                    return .success(
                        try entries.set(
                            bytes, forKey: write.key, metadata: metadata, lifetime: .seconds(Int64.max)))
                } catch { return .failure(error) }
            }
            try outcome.get()
        }
    }

    /// Many in a few transactions.
    func write(_ writes: [Write]) throws(StoreError) {
        for start in stride(from: 0, to: writes.count, by: 1_000) {
            let part = writes[start..<min(start + 1_000, writes.count)]
            try inTurn { () throws(StoreError) in
                let refused = try store.apply(
                    part.map { write in
                        let head = RecordHead(sequence: nextSequence(), created: write.created, life: write.life)
                        return StoreOperation(
                            .set(
                                key: write.key, value: Array(write.value.payload),
                                metadata: head.metadata(tag: write.value.tag), lifetime: .seconds(Int64.max)),
                            in: entries)
                    })
                if let error = refused.lazy.compactMap({ $0 }).first { throw error }
            }
        }
    }

    func remove(_ key: String) throws(StoreError) -> Bool {
        try inTurn { () throws(StoreError) in
            let wasThere = try head(key) != nil
            return try entries.remove(key) && wasThere
        }
    }

    /// Removes an entry that is no record, unless a record has replaced it; the result is whether it did.
    func removeDamaged(_ key: String) throws(StoreError) -> Bool {
        try inTurn { () throws(StoreError) in
            guard let lease = try entries.lease(forKey: key, options: .quiet),
                lease.withMetadata({ $0.withUnsafeBytes { RecordHead($0) } }) == nil
            else { return false }
            return try entries.remove(key)
        }
    }

    // MARK: Reading

    /// The head of a record that is not pruned, without using it.
    func head(_ key: String) throws(StoreError) -> RecordHead? {
        guard let lease = try entries.lease(forKey: key, options: .quiet) else { return nil }
        let head = lease.withMetadata { $0.withUnsafeBytes { RecordHead($0) } }
        guard let head, !marks.hide(key, head.sequence) else { return nil }
        return head
    }

    /// Walks the records under a prefix with their heads, until `body` answers false.
    func forEach(
        prefix: String, after: String = "", order: Bucket.Order = .key, _ body: (Entry, RecordHead) -> Bool
    ) throws(StoreError) {
        var failure: StoreError?
        try entries.forEachEntry(prefix: prefix, after: after, order: order) { entry in
            do throws(StoreError) {
                guard let head = try head(entry.key) else { return true }
                return body(entry, head)
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    // MARK: Removing many

    /// A record that is to go, if it is still the one.
    struct Doomed: Sendable {
        let key: String
        let sequence: UInt64
    }

    /// Removes records, unless they were replaced since; the result is how many.
    func remove(_ doomed: [Doomed]) throws(StoreError) -> Int {
        var removed = 0
        for start in stride(from: 0, to: doomed.count, by: Self.pruneStep) {
            let part = doomed[start..<min(start + Self.pruneStep, doomed.count)]
            removed += try inTurn { () throws(StoreError) in
                var operations: [StoreOperation] = []
                for victim in part where try head(victim.key)?.sequence == victim.sequence {
                    operations.append(StoreOperation(.remove(key: victim.key), in: entries))
                }
                try store.apply(operations)
                return operations.count
            }
        }
        return removed
    }

    /// Removes all that begins with a prefix, at once to readers; the result is how many leaves were there.
    ///
    /// - Parameter goesOn: asked between two steps of a large prune; false stops it, as a kill would.
    func prune(prefix: String, keepsKey: Bool, goesOn: () -> Bool = { true }) throws(StoreError) -> Int {
        let first = try inTurn { () throws(StoreError) -> (removed: Int, mark: PruneMark?) in
            var keys: [String] = []
            try entries.forEachEntry(prefix: prefix) { entry in
                if !(keepsKey && entry.keyBytes.count == prefix.utf8.count) { keys.append(entry.key) }
                return keys.count <= Self.pruneStep
            }
            if keys.isEmpty { return (0, nil) }
            if keys.count <= Self.pruneStep {
                var live = 0
                for key in keys where try head(key) != nil { live += 1 }
                try store.apply(keys.map { StoreOperation(.remove(key: $0), in: entries) })
                return (live, nil)
            }
            let mark = PruneMark(sequence: nextSequence(), prefix: prefix, keepsKey: keepsKey)
            try marks.add(mark)
            return (0, mark)
        }
        guard let mark = first.mark else { return first.removed }
        return try scan(mark, goesOn)
    }

    /// Removes what a mark covers, step by step, and then the mark.
    private func scan(_ mark: PruneMark, _ goesOn: () -> Bool) throws(StoreError) -> Int {
        var removed = 0
        var after = ""
        while true {
            var last: String?
            removed += try inTurn { () throws(StoreError) in
                var seen = 0
                var operations: [StoreOperation] = []
                var failure: StoreError?
                try entries.forEachEntry(prefix: mark.prefix, after: after) { entry in
                    let key = entry.key
                    do throws(StoreError) {
                        guard let lease = try entries.lease(forKey: key, options: .quiet) else { return true }
                        let head = lease.withMetadata { $0.withUnsafeBytes { RecordHead($0) } }
                        if mark.covers(key, head?.sequence ?? 0) {
                            operations.append(StoreOperation(.remove(key: key), in: entries))
                        }
                    } catch {
                        failure = error
                        return false
                    }
                    seen += 1
                    if seen == Self.pruneStep { last = key }
                    return seen < Self.pruneStep
                }
                if let failure { throw failure }
                try store.apply(operations)
                return operations.count
            }
            guard let last else { break }
            after = last
            guard goesOn() else { return removed }
        }
        try inTurn { () throws(StoreError) in try marks.remove(mark) }
        return removed
    }

    private func resume() throws(StoreError) {
        let left = try marks.look()
        guard let newest = left.map(\.sequence).max() else { return }
        // Whatever the clock says by now: what is written from here on is younger than every prune.
        lastSequence.store(max(newest, lastSequence.load(ordering: .relaxed)), ordering: .relaxed)
        resuming.async {
            for mark in left { _ = try? self.scan(mark) { true } }
        }
    }

    /// Waits for the prunes that were resumed at open.
    func waitForResumedPrunes() { resuming.sync {} }
}
