internal import Foundation
internal import HanekeStorage
internal import Synchronization

/// The store of a directory and the queue of writes to it, one in a process for all the caches of that directory.
final class DiskTier: Sendable {
    let store: DiskStore
    let writes: WriteQueue

    private init(store: DiskStore) {
        self.store = store
        writes = WriteQueue(store: store)
    }

    private struct Weak: Sendable {
        weak let tier: DiskTier?
    }

    /// The tiers in use, by the absolute path of their directory.
    ///
    /// The one table of its kind: two caches of one directory have to see each other's pending writes.
    private static let tiers = Mutex<[String: Weak]>([:])

    /// Opens the directory, or joins those who have it open.
    static func open(directory: String) throws(StoreError) -> DiskTier {
        // Opened outside the lock; the store itself gives out one environment however often it is opened.
        let store = try DiskStore(directory: directory)
        let path = URL(fileURLWithPath: store.directory).resolvingSymlinksInPath().path
        let fresh = DiskTier(store: store)
        return tiers.withLock { tiers in
            if let tier = tiers[path]?.tier { return tier }
            tiers = tiers.filter { $0.value.tier != nil }
            tiers[path] = Weak(tier: fresh)
            return fresh
        }
    }
}
