internal import HanekeStorage
public import Foundation

/// Where a value is.
public enum CacheTier: Sendable, Hashable {
    /// In memory.
    case memory
    /// On disk, or on its way there.
    case disk
    /// Nowhere.
    case none
}

/// A value on disk, as a listing shows it.
public struct CacheEntry: Sendable, Hashable {
    /// The key.
    public let key: String
    /// The length of the value's bytes.
    public let payloadBytes: Int
    /// What the value takes of the format's capacity: its share of pages and blocks, in bytes.
    public let bytes: Int
    /// When it was written.
    public let writtenAt: Date
    /// When it was last written, read or touched; nil if a crash made the store forget.
    public let accessedAt: Date?
    /// When its lifetime ends; nil for never.
    public let expiresAt: Date?
}

extension Cache {
    /// Where a fetch of the key would find a value, without loading, decoding or using it.
    ///
    /// One lookup on disk.
    ///
    /// What has expired counts as nowhere, as does an unknown key or format.
    public func contains(
        key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName
    ) -> CacheTier {
        guard let storage = try? storage(formatName), let key = try? CacheKey(checking: key) else { return .none }
        return storage.tier(of: key)
    }

    /// What the values of all formats take on disk, in bytes: records, pages and blocks, as the capacities count them.
    ///
    /// Waits for earlier sets and removes. Includes formats on disk that this process has not added.
    public var size: Int {
        get async throws { try await storeStatistics()?.bytes ?? 0 }
    }

    /// The sum of the lengths of all values on disk, in bytes; as for ``size``.
    public var payloadSize: Int {
        get async throws { try await storeStatistics()?.payloadBytes ?? 0 }
    }

    /// The values of a format on disk, in the order of their keys.
    ///
    /// Listing is not using. O(number of values).
    ///
    /// - Parameters:
    ///   - formatName: Default: the original format.
    ///   - prefix: Only keys that start so. Default: all.
    /// - Throws: ``HanekeError/Code/formatNotFound`` or ``HanekeError/Code/diskReadFailed``.
    public func entries(
        formatName: String = HanekeGlobals.Cache.OriginalFormatName, prefix: String = ""
    ) async throws -> [CacheEntry] {
        let storage = try storage(formatName)
        await flush()
        return try storage.entries(prefix: prefix)
    }

    private func storeStatistics() async throws -> StoreStatistics? {
        await flush()
        do {
            return try disk?.store.statistics()
        } catch {
            throw HanekeError(.diskReadFailed, "the disk could not be read: \(error)", underlyingError: error)
        }
    }
}

extension FormatStorage {
    /// Where the value is, without using it.
    func tier(of key: CacheKey) -> CacheTier {
        if isInMemory(key) { return .memory }
        switch pending(key) {
        case .remove: return .none
        case .set(let pending):
            if let duration = pending.lifetime.duration, duration <= .zero { return .none }
            return .disk
        case nil: break
        }
        return (try? bucket?.open().contains(key.text)) == true ? .disk : .none
    }

    /// The records on disk.
    func entries(prefix: String) throws(HanekeError) -> [CacheEntry] {
        do {
            return try bucket?.open().entries(prefix: prefix).filter { !$0.isExpired }.map(CacheEntry.init) ?? []
        } catch {
            throw HanekeError(.diskReadFailed, "the disk could not be read: \(error)", underlyingError: error)
        }
    }
}

extension CacheEntry {
    init(_ entry: Entry) {
        func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
        self.init(
            key: entry.key, payloadBytes: entry.valueBytes, bytes: entry.chargedBytes,
            writtenAt: date(entry.writtenAt), accessedAt: entry.accessedAt.map(date),
            expiresAt: entry.expiresAt.map(date))
    }
}
