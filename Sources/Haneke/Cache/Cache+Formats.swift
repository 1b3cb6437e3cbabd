internal import Synchronization
internal import Foundation
internal import HanekeStorage

extension Cache {
    /// The formats, the original one included, in the order of their names.
    public var formats: [Format<T>] {
        allStorages.map(\.format).sorted { $0.name < $1.name }
    }

    /// Adds a format, or takes on a new description of one.
    ///
    /// In a format that is there already the stored values stay; the new transform and conversion are for those to come. Where
    /// the values take more than the new capacities allow, the least recently used are evicted before this returns.
    ///
    /// - Parameter replacing: Whether to change a format of that name that is there already. Looking and adding are one
    ///   step. Default true.
    /// - Returns: What is wrong: ``HanekeError/Code/formatCycle`` if its parents lead back to it, and nothing has changed
    ///   then; ``HanekeError/Code/diskUnavailable`` if it works from memory alone. Nil if all is well, or the cache has no
    ///   disk.
    @discardableResult
    public func addFormat(_ format: Format<T>, replacing: Bool = true) -> HanekeError? {
        do throws(HanekeError) {
            let (storage, isNew) = try registry.add(makeStorage(format), replacing: replacing)
            if isNew { pressure.add(storage) }
            return useDisk(storage, isNew: isNew, replacing: replacing)
        } catch {
            Diagnostics.report(error.description)
            return error
        }
    }

    private func useDisk(_ storage: Storage, isNew: Bool, replacing: Bool) -> HanekeError? {
        do {
            if isNew {
                try storage.openBucket()
            } else if replacing {
                try storage.applyLimits()
            }
            return nil
        } catch {
            let error = HanekeError(
                .diskUnavailable,
                "the format \"\(storage.name)\" of the cache \"\(name)\" works from memory alone: \(error)",
                underlyingError: error)
            Diagnostics.report(error.description)
            return error
        }
    }

    /// Removes a format with all its values, in memory and on disk.
    ///
    /// Waits for a write at work.
    ///
    /// - Returns: False if there is no such format, or if it is the original one, which can't be removed.
    @discardableResult
    public func removeFormat(_ formatName: String) -> Bool {
        guard CacheKey(formatName) != CacheKey(HanekeGlobals.Cache.OriginalFormatName),
            let storage = registry.remove(formatName)
        else { return false }
        retiredCounts.withLock { $0 += storage.counters.current }
        guard let bucket = storage.retire() else { return true }
        do {
            try bucket.store.removeBucket(named: bucket.name)
        } catch {
            Diagnostics.report("the format \"\(formatName)\" could not be removed from \(directory.path): \(error)")
        }
        return true
    }
}
