internal import Synchronization
public import HanekeStorage

/// What a format has done so far, tier by tier.
public struct FormatStatistics: Sendable, Hashable {
    /// What fetches and sets came to.
    public let counts: CacheStatistics
    /// How many values are in memory.
    public let memoryEntries: Int
    /// What they count against ``Format/memoryCapacity``, in bytes.
    public let memoryBytes: Int
    /// How many values left memory to make room or since memory was short.
    public let memoryEvictions: Int
    /// How many values left memory since their lifetime was over.
    public let memoryExpirations: Int
    /// The bucket on disk: entries, bytes, evictions, expirations, corruptions; nil without a disk.
    ///
    /// Counted by all processes since the bucket was made.
    public let disk: StoreStatistics?
}

extension Cache {
    /// What this cache object has done so far, in all its formats.
    public var statistics: CacheStatistics {
        var sum = retiredCounts.withLock { $0 }
        for storage in allStorages { sum += storage.counters.current }
        return sum
    }

    /// What a format has done so far.
    ///
    /// One lookup on disk. What is still on its way to the disk is not in the counts of the disk; see ``flush()``.
    ///
    /// - Throws: ``HanekeError/Code/formatNotFound``, or ``HanekeError/Code/diskReadFailed``.
    public func statistics(formatName: String) throws(HanekeError) -> FormatStatistics {
        try storage(formatName).statistics()
    }
}

extension FormatStorage {
    func statistics() throws(HanekeError) -> FormatStatistics {
        let memory = tier.values.statistics
        let onDisk: StoreStatistics?
        do {
            onDisk = try bucket?.open().statistics()
        } catch {
            throw HanekeError(.diskReadFailed, "the disk could not be read: \(error)", underlyingError: error)
        }
        return FormatStatistics(
            counts: counters.current, memoryEntries: tier.values.count, memoryBytes: tier.values.totalCost,
            memoryEvictions: memory.evictions - memory.expired, memoryExpirations: memory.expired, disk: onDisk)
    }
}
