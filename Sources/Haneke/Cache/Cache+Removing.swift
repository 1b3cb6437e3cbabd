internal import Dispatch
internal import Foundation
public import HanekeStorage

extension Cache {
    /// Removes a key: from memory before this returns, from disk by the next ``flush()``.
    ///
    /// A fetch that is under way does not bring it back. A key or format that is not there is no error.
    ///
    /// - Parameter formatName: Default: the original format.
    public func remove(key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName) {
        guard let storage = try? storage(formatName), let key = try? CacheKey(checking: key) else { return }
        storage.remove(key)
    }

    /// Removes a key from all formats, also from those on disk that this process has not added.
    public func remove(key: String, fromAllFormats: Bool) {
        guard fromAllFormats else { return remove(key: key) }
        guard let key = try? CacheKey(checking: key) else { return }
        for storage in allStorages { storage.remove(key) }
        for bucket in bucketsOfOthers() { disk?.writes.add([(.remove, key)], bucket: bucket) }
    }

    /// Removes everything, in all formats, also in those on disk that this process has not added.
    ///
    /// The memory is empty when this returns. What is set from then on stays; the formats are usable at once.
    ///
    /// - Parameter completion: Runs once, on the callback queue, when the disk is empty.
    public func removeAll(_ completion: (@Sendable () -> Void)? = nil) {
        for storage in allStorages { storage.removeAll() }
        for bucket in bucketsOfOthers() { disk?.writes.addRemoveAll(bucket: bucket) }
        guard let completion else { return }
        guard let disk else { return callbackQueue.async(execute: completion) }
        disk.writes.whenDone { [callbackQueue] in callbackQueue.async(execute: completion) }
    }

    /// Removes the values whose lifetime is over, which otherwise go when they are come upon or room is needed.
    ///
    /// - Returns: How many records on disk went. O(number of records).
    @discardableResult
    public func removeExpired() async throws -> Int {
        await flush()
        return try allStorages.reduce(0) { try $0 + $1.removeExpired() }
    }

    /// Gives memory back when the system runs short of it: both levels of shortage empty the memory tiers of all
    /// formats.
    ///
    /// The disk is not touched: it serves what is fetched next. What the system itself says of shortage, the cache hears
    /// without your doing: see `MemoryPressureSource.shared` of HanekeStorage.
    public func handleMemoryPressure(_ level: MemoryPressureLevel = .critical) {
        for storage in allStorages { storage.handlePressure(level) }
    }

    /// The buckets on disk that are no format of this process.
    private func bucketsOfOthers() -> [FormatBucket] {
        guard let disk else { return [] }
        let own = Set(allStorages.map { CacheKey($0.name) })
        do {
            return try disk.store.bucketNames().filter { !own.contains(CacheKey($0)) }
                .map { FormatBucket(name: $0, existingIn: disk.store) }
        } catch {
            Diagnostics.report("the formats in \(directory.path) could not be listed: \(error)")
            return []
        }
    }
}
