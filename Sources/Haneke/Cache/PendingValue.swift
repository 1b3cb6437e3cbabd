internal import Foundation
internal import HanekeStorage
internal import Synchronization

/// A value on its way to the disk, whatever its type.
protocol PendingValue: AnyObject, Sendable {
    /// About how many bytes it holds in memory.
    var bytesInMemory: Int { get }
    /// How long it still lasts; zero or less: it is over.
    var lifetime: Lifetime { get }
    /// What to write; nil if there is no form as bytes.
    func encoded() throws -> Data?
    /// Encodes, unless that has been done; the queue of writes then knows the size.
    ///
    /// - Throws: ``HanekeError/Code/diskWriteFailed`` if there is no form as bytes; ``HanekeError/Code/valueTooLarge`` if the
    ///   bytes alone exceed what the format may take on disk.
    func checkStorable() throws(HanekeError)
    /// The disk has it, in so many bytes.
    func didReachDisk(bytes: Int)
    /// The disk will not have it.
    func didFail()
}

/// A value of a format on its way to the disk.
///
/// It is encoded with the format as it was when the value was stored.
final class PendingEntry<Value: DataConvertible & DataRepresentable & Sendable>: PendingValue {
    let entry: MemoryEntry<Value>
    private let format: Format<Value>
    private let storage: FormatStorage<Value>

    private enum Encoding {
        case notYet
        case done(Data?)
        case failed(any Error)
        /// Nobody needs the bytes any more.
        case written
    }

    private let encoding = Mutex(Encoding.notYet)

    init(_ entry: MemoryEntry<Value>, format: Format<Value>, storage: FormatStorage<Value>) {
        self.entry = entry
        self.format = format
        self.storage = storage
    }

    var bytesInMemory: Int {
        if let cost = entry.value.memoryCost { return cost }
        if case .done(let data?) = encoding.withLock({ $0 }) { return data.count }
        return FormatStorage<Value>.assumedCost
    }

    var lifetime: Lifetime {
        guard let expiry = entry.expiry else { return Lifetime() }
        let remaining = expiry.remaining(now: storage.clock.now)
        guard let slide = expiry.slide, remaining > .zero else { return Lifetime(duration: remaining) }
        // Nearly the same moment, and the length that later uses start anew.
        return Lifetime(duration: slide, slides: true)
    }

    /// Encodes once, whoever asks first; two who ask at once may both do the work.
    func encoded() throws -> Data? {
        switch encoding.withLock({ $0 }) {
        case .done(let data): return data
        case .failed(let error): throw error
        case .notYet, .written: break
        }
        do {
            let data =
                if let convert = format.convertToData { try convert(entry.value) } else { try entry.value.asData() }
            encoding.withLock { if case .notYet = $0 { $0 = .done(data) } }
            return data
        } catch {
            encoding.withLock { if case .notYet = $0 { $0 = .failed(error) } }
            throw error
        }
    }

    func checkStorable() throws(HanekeError) {
        if case .written = encoding.withLock({ $0 }) { return }
        defer { storage.recount(self, key: entry.key) }
        let description = "the value of \"\(entry.key.text)\" has no form as bytes; it is kept in memory alone"
        let data: Data?
        do {
            data = try encoded()
        } catch {
            throw HanekeError(.diskWriteFailed, "\(description): \(error)", underlyingError: error)
        }
        guard let data else { throw HanekeError(.diskWriteFailed, description) }
        guard UInt64(data.count) <= format.diskCapacity else {
            let room = "\(data.count) bytes, and all of the format \"\(format.name)\" may take \(format.diskCapacity)"
            throw HanekeError(
                .valueTooLarge, "the value of \"\(entry.key.text)\" has \(room); it is kept in memory alone")
        }
    }

    func didReachDisk(bytes: Int) {
        encoding.withLock { $0 = .written }
        storage.counters.writes.increment()
        storage.learnCost(bytes, of: entry)
    }

    func didFail() {
        storage.counters.failedWrites.increment()
        entry.staysOffDisk.store(true, ordering: .relaxed)
    }
}

/// Ties a `set` to what it put in the queue of writes, which a transform may do later.
final class PendingLink: Sendable {
    private let pending = Mutex<(any PendingValue)?>(nil)

    func connect(_ value: (any PendingValue)?) {
        pending.withLock { $0 = value }
    }

    /// See ``PendingValue/checkStorable()``; nothing if nothing is to reach the disk.
    func checkStorable() throws(HanekeError) {
        try pending.withLock { $0 }?.checkStorable()
    }
}
