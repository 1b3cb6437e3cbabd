public import Foundation
import HanekeStorage
import Synchronization

/// A context that keeps its values in a directory, where they outlive the process.
///
/// It takes `Data`, `String`, `[UInt8]`, `Bool`, integers, `Double`, `Date`, `URL`, `Persistable` and `Codable` types; a read
/// with another type than was put answers nil. A put is there for all readers when it returns and survives a kill; a crash of
/// the system may take the last five seconds, unless `flush()` came after it. Contexts on one directory share it, also
/// those of other processes. No segment of a key ever becomes a file name.
public final class DiskContext: Context, TreeSpace {
    /// What the views of a context share.
    final class Space: Sendable {
        let shelf: DiskShelf
        let overlay = Overlay()
        let loads = ContextLoads()
        let events = ContextEvents()
        let clock: TreeClock
        let maxBytes: Int?
        /// Under a clock that is not the machine's: when keys were read, which the store can't be told.
        let reads = Mutex<[String: Double]>([:])

        init(_ shelf: DiskShelf, _ maxBytes: Int?, _ clock: TreeClock) {
            self.shelf = shelf
            self.maxBytes = maxBytes
            self.clock = clock
        }
    }

    let space: Space
    let base: Key
    var overlay: Overlay { space.overlay }
    /// Tells what happens.
    public var eventSource: ContextEvents { space.events }
    /// The loads under way.
    public var loads: ContextLoads { space.loads }

    /// Opens the directory, making it (for the user alone) and those around it where they are missing.
    ///
    /// - Parameter maxBytes: the most that the entries may take on the disk; nil, the default, is no limit. Over it,
    ///   expired leaves go, then those read least recently, until nine tenths are left.
    /// - Throws: `TreeError.storage`.
    public init(dirUrl: URL, maxBytes: Int? = nil, clock: TreeClock = .system) throws(TreeError) {
        // If this fails, the store says why.
        try? FileManager.default.createDirectory(
            at: dirUrl, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        do {
            space = Space(try DiskShelf.open(dirUrl.path), maxBytes, clock)
        } catch { throw .storage(error) }
        base = .invalid
    }

    private init(viewOf space: Space, at base: Key) {
        self.space = space
        self.base = base
    }

    func view(at key: Key) -> any Context { DiskContext(viewOf: space, at: key) }

    /// Makes everything put so far survive a crash of the system.
    ///
    /// - Throws: `TreeError.storage`.
    public func flush() throws(TreeError) {
        try onDisk { () throws(StoreError) in try space.shelf.store.sync() }
    }

    private func onDisk<Result>(_ body: () throws(StoreError) -> Result) throws(TreeError) -> Result {
        do { return try body() } catch { throw .storage(error) }
    }

    // MARK: Writing

    /// Encodes a value and checks its size.
    func write(_ value: any Sendable, at key: Key, validFor: TimeInterval) throws(TreeError) -> DiskShelf.Write {
        guard let stored = StoredValue(value) else { throw .notPersistable("\(type(of: value))") }
        let size = stored.payload.count + key.encoded.utf8.count
        if let maxBytes = space.maxBytes, size > maxBytes { throw .tooLarge(bytes: size, maxBytes: maxBytes) }
        return DiskShelf.Write(key: key.encoded, value: stored, created: space.clock.wall(), life: validFor)
    }

    func storeEntry(_ value: any Sendable, at key: Key, validFor: TimeInterval) throws(TreeError) {
        do {
            let write = try write(value, at: key, validFor: validFor)
            try onDisk { () throws(StoreError) in try space.shelf.write(write) }
        } catch {
            // Never a stale read; a full disk keeps what it has.
            if case .storage = error { throw error }
            _ = try removeEntry(at: key)
            throw error
        }
        noteRead(key)
        try makeRoom()
    }

    func store(_ writes: [DiskShelf.Write]) throws(TreeError) {
        try onDisk { () throws(StoreError) in try space.shelf.write(writes) }
        try makeRoom()
    }

    private func makeRoom() throws(TreeError) {
        guard let maxBytes = space.maxBytes else { return }
        let shelf = space.shelf
        let now = space.clock.wall()
        let removed = try onDisk { () throws(StoreError) -> Int in
            var excess = try shelf.entries.statistics().bytes
            guard excess > maxBytes else { return 0 }
            excess -= maxBytes - maxBytes / 10
            var doomed: [DiskShelf.Doomed] = []
            var kept: [(doomed: DiskShelf.Doomed, bytes: Int)] = []
            try shelf.forEach(prefix: "", order: .access) { entry, head in
                let candidate = DiskShelf.Doomed(key: entry.key, sequence: head.sequence)
                if head.isExpired(now) {
                    doomed.append(candidate)
                    excess -= entry.chargedBytes
                } else {
                    kept.append((candidate, entry.chargedBytes))
                }
                return true
            }
            for victim in kept.dropLast() where excess > 0 {
                doomed.append(victim.doomed)
                excess -= victim.bytes
            }
            return try shelf.remove(doomed)
        }
        if removed > 0 { space.events.send(.removed(removed)) }
    }

    func removeEntry(at key: Key) throws(TreeError) -> Bool {
        try onDisk { () throws(StoreError) in try space.shelf.remove(key.encoded) }
    }

    func removeEntries(under key: Key, includingKey: Bool) throws(TreeError) -> Int {
        try onDisk { () throws(StoreError) in
            try space.shelf.prune(prefix: key.encoded, keepsKey: !includingKey)
        }
    }

    func removeExpiredEntries(under key: Key, deep: Bool) throws(TreeError) -> Int {
        let now = space.clock.wall()
        return try onDisk { () throws(StoreError) in
            var doomed: [DiskShelf.Doomed] = []
            try space.shelf.forEach(prefix: key.encoded) { entry, head in
                if head.isExpired(now) || deep && head.isStale(now, accessed: accessed(entry, entry.key)) {
                    doomed.append(.init(key: entry.key, sequence: head.sequence))
                }
                return true
            }
            return try space.shelf.remove(doomed)
        }
    }

    // MARK: Reading

    func entryValue<T>(at key: Key, as type: T.Type) throws(TreeError) -> T? {
        let name = key.encoded
        let shelf = space.shelf
        var isDamaged = false
        let value = try onDisk { () throws(StoreError) -> T? in
            // Quietly: a read of a wrong type is no use.
            guard let lease = try shelf.entries.lease(forKey: name, options: .quiet) else { return nil }
            return lease.withMetadata { metadata in
                metadata.withUnsafeBytes { metadata in
                    guard let head = RecordHead(metadata) else {
                        isDamaged = true
                        return nil
                    }
                    guard !head.isExpired(space.clock.wall()), !shelf.marks.hide(name, head.sequence) else {
                        return nil
                    }
                    let tag = UnsafeRawBufferPointer(rebasing: metadata[RecordHead.bytes...])
                    return lease.withUnsafeBytes { StoredValue.decode(type, tag: tag, $0) }
                }
            }
        }
        if isDamaged, try onDisk({ () throws(StoreError) in try shelf.removeDamaged(name) }) {
            space.events.send(.corrupted(key))
        }
        guard let value else { return nil }
        _ = try onDisk { () throws(StoreError) in try shelf.entries.touch(name) }
        noteRead(key)
        return value
    }

    private func noteRead(_ key: Key) {
        guard !space.clock.isSystem else { return }
        let now = space.clock.wall()
        space.reads.withLock { $0[key.encoded] = now }
    }

    /// When an entry was last read, by the context's clock.
    private func accessed(_ entry: Entry?, _ key: String) -> Double {
        if space.clock.isSystem { return Double(entry?.accessedAt ?? 0) / 1_000 }
        return space.reads.withLock { $0[key] } ?? 0
    }

    func infoOfEntry(at key: Key) throws(TreeError) -> EntryInfo? {
        let found = try onDisk { () throws(StoreError) -> (RecordHead, Entry)? in
            guard let head = try space.shelf.head(key.encoded), let entry = try space.shelf.entries.peek(key.encoded)
            else { return nil }
            return (head, entry)
        }
        guard let (head, entry) = found, !head.isExpired(space.clock.wall()) else { return nil }
        return EntryInfo(
            created: head.created, accessed: accessed(entry, key.encoded), validFor: head.life,
            bytes: entry.valueBytes)
    }

    /// How many records of one child are walked before the list jumps behind it, which reads some hundred others.
    private static let jumpAfter = 256
    /// Longer keys are in the order of a digest, so no list can jump behind one.
    private static let jumpBytesMax = 480

    func entryNames(in key: Key) throws(TreeError) -> Set<String> {
        let now = space.clock.wall()
        let depth = key.stored.count
        return try onDisk { () throws(StoreError) in
            var names: Set<String> = []
            var after = ""
            while true {
                var jump: String?
                var walked = 0
                try space.shelf.forEach(prefix: key.encoded, after: after) { entry, head in
                    guard let stored = KeyEncoding.decode(entry.keyBytes), stored.count > depth else { return true }
                    let name = stored[depth]
                    if names.contains(name) {
                        walked += 1
                        guard walked > Self.jumpAfter else { return true }
                        let behind = KeyEncoding.behind(name, in: key)
                        guard behind.utf8.count <= Self.jumpBytesMax else { return true }
                        jump = behind
                        return false
                    }
                    walked = 0
                    if !head.isExpired(now) { names.insert(name) }
                    return true
                }
                guard let jump else { return names }
                after = jump
            }
        }
    }

    func entryKeys(under key: Key, limit: Int, after: Key?) throws(TreeError) -> [Key] {
        guard limit > 0 else { return [] }
        let now = space.clock.wall()
        return try onDisk { () throws(StoreError) in
            var found: [Key] = []
            try space.shelf.forEach(prefix: key.encoded, after: after?.encoded ?? "") { entry, head in
                guard !head.isExpired(now), let stored = KeyEncoding.decode(entry.keyBytes) else { return true }
                found.append(Key(stored: stored))
                return found.count < limit
            }
            return found
        }
    }

    func hasBranch(at key: Key) throws(TreeError) -> Bool {
        if !space.overlay.mounts(under: key).isEmpty { return true }
        return try onDisk { () throws(StoreError) in
            var found = false
            try space.shelf.forEach(prefix: key.encoded) { entry, _ in
                found = entry.keyBytes.count > key.encoded.utf8.count
                return !found
            }
            return found
        }
    }
}
