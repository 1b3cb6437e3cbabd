// Looking for a value beneath the memory tier.

internal import Foundation
internal import HanekeStorage

extension FormatStorage {
    /// What is known of a key beneath the memory tier.
    enum Found {
        /// The value, what it counts in memory, and how long it still lasts.
        case value(Value, cost: Int, lifetime: Lifetime)
        case absent
        /// Bytes that do not stand for a value.
        case undecodable(HanekeError)
        /// The disk failed.
        case unreadable(HanekeError)
    }

    /// Looks in the queue of writes, then on disk, and decodes.
    ///
    /// Not under a lock.
    func lookUp(_ key: CacheKey) -> Found {
        switch pending(key) {
        case .remove: return .absent
        case .set(let pending): return found(pending, key: key)
        case nil: break
        }
        guard let bucket else { return .absent }
        do {
            guard let lease = try bucket.open().lease(forKey: key.text) else { return .absent }
            return found(lease, key: key)
        } catch {
            return .unreadable(
                HanekeError(.diskReadFailed, "the disk could not be read: \(error)", underlyingError: error))
        }
    }

    /// A value whose lifetime is over, if one is still there.
    func lookUpStale(_ key: CacheKey) -> Value? {
        switch pending(key) {
        case .remove: return nil
        case .set(let pending): return try? decoded(pending, key: key)
        case nil: break
        }
        let options: Bucket.ReadOptions = [.quiet, .includingExpired]
        guard let lease = try? bucket?.open().lease(forKey: key.text, options: options) else { return nil }
        return try? decode(data(of: lease), key: key)
    }

    private func found(_ pending: any PendingValue, key: CacheKey) -> Found {
        let lifetime = pending.lifetime
        if let duration = lifetime.duration, duration <= .zero { return .absent }
        do {
            guard let value = try decoded(pending, key: key) else { return .absent }
            return .value(value, cost: value.memoryCost ?? pending.bytesInMemory, lifetime: lifetime)
        } catch {
            return .undecodable(HanekeError(.undecodableData, "\(error)", underlyingError: error))
        }
    }

    private func found(_ lease: borrowing Lease, key: CacheKey) -> Found {
        do {
            let value = try decode(data(of: lease), key: key)
            return .value(value, cost: value.memoryCost ?? lease.count, lifetime: Self.lifetime(of: lease.entry()))
        } catch {
            return .undecodable(error)
        }
    }

    /// The value that is pending, as this cache's type.
    ///
    /// Another cache of the same name may have set it as another type.
    private func decoded(_ pending: any PendingValue, key: CacheKey) throws -> Value? {
        if let own = pending as? PendingEntry<Value> { return own.entry.value }
        return try pending.encoded().map { try decode($0, key: key) }
    }

    private func decode(_ data: Data, key: CacheKey) throws(HanekeError) -> Value {
        try Value.decoded(
            from: data, code: .undecodableData,
            "the \(data.count) bytes stored under \"\(key.text)\" in the format \"\(name)\" hold no valid value")
    }

    private func data(of lease: borrowing Lease) -> Data {
        lease.withUnsafeBytes { Data($0) }
    }

    /// What is left of an entry's lifetime; of one that slides its whole length, for it has just been used.
    private static func lifetime(of entry: Entry) -> Lifetime {
        guard let end = entry.expiresAt else { return Lifetime() }
        guard entry.isSliding else { return Lifetime(duration: .milliseconds(end) - timeSince1970()) }
        let lastUse = max(entry.writtenAt, entry.accessedAt ?? entry.writtenAt)
        return Lifetime(duration: .milliseconds(end - lastUse), slides: true)
    }

    private static func timeSince1970() -> Duration {
        .milliseconds(Int64(Date().timeIntervalSince1970 * 1_000))
    }
}
