public import Dispatch
public import Foundation
public import HanekeNetwork
internal import HanekeStorage
internal import Synchronization

/// Values kept close: in memory, on disk, and fetched where they are missing.
///
/// ```swift
/// let cache = Cache<JSON>(name: "github")
/// cache.fetch(URL: url).onSuccess { json in print(json.dictionary?["bio"] as Any) }
/// let json = try await cache.fetch(URL: url).value
/// ```
///
/// A cache has *formats*: named ways of transforming and keeping values, each with a memory tier and limits of its own. The
/// format `original` keeps values as they came and is there from the start.
///
/// Values reach the disk in the background, in order; they can be fetched from the moment they are set. ``flush()`` waits
/// for the disk: what is not there when the process ends is lost. All members may be called from any thread.
public final class Cache<T: DataConvertible & DataRepresentable & Sendable>: Sendable {
    typealias Storage = FormatStorage<T>

    /// The name, which is also the name of the directory.
    public let name: String
    /// Where the cache keeps its files: a directory of its own.
    ///
    /// Two caches of one directory share what is on disk.
    public let directory: URL
    /// Where closures run that were not given a queue of their own.
    ///
    /// Default: a serial queue of this cache.
    public let callbackQueue: DispatchQueue
    /// Why the cache works from memory alone; nil if it has its disk.
    public let diskError: HanekeError?

    let disk: DiskTier?
    let client: NetworkClient
    /// What formats had done that have been removed since.
    let retiredCounts = Mutex(CacheStatistics())
    let registry: FormatRegistry<T>
    /// What tells the memory tiers when the system runs short of memory.
    let pressure: MemoryPressureSource
    private let clock: any MemoryCacheClock

    /// Opens a cache, or makes it.
    ///
    /// If the directory can't be used, the cache says so in ``diskError``, reports it once (see ``Diagnostics``) and works
    /// from memory. Takes under a millisecond, unless the store has to be checked after a crash of the system.
    ///
    /// - Parameters:
    ///   - name: Any text; characters that mean something in a path are escaped.
    ///   - directory: Where the cache's own directory stands. Default: ``CacheDirectory/base``.
    ///   - callbackQueue: Where closures run. Default: a serial queue of this cache, never the main queue.
    ///   - client: What fetches URLs. Default: one that shares its connections with all others.
    public convenience init(
        name: String, directory: URL? = nil, callbackQueue: DispatchQueue? = nil,
        client: NetworkClient = NetworkClient()
    ) {
        self.init(
            name: name, directory: directory, callbackQueue: callbackQueue, client: client,
            clock: SystemMemoryCacheClock())
    }

    init(
        name: String, directory: URL?, callbackQueue: DispatchQueue? = nil, client: NetworkClient = NetworkClient(),
        clock: any MemoryCacheClock, pressure: MemoryPressureSource = .shared
    ) {
        self.name = name
        self.client = client
        self.callbackQueue = callbackQueue ?? DispatchQueue(label: "io.haneke.callbacks.\(name)")
        self.clock = clock
        self.pressure = pressure
        registry = FormatRegistry(cacheName: name)
        self.directory = (directory ?? CacheDirectory.base)
            .appendingPathComponent(CacheDirectory.component(for: name), isDirectory: true)
        do {
            disk = try DiskTier.open(directory: self.directory.path)
            diskError = nil
        } catch {
            disk = nil
            diskError = HanekeError(
                .diskUnavailable, "the cache \"\(name)\" works from memory alone: \(self.directory.path): \(error)",
                underlyingError: error)
        }
        if let diskError { Diagnostics.report(diskError.description) }
        addFormat(Format(name: HanekeGlobals.Cache.OriginalFormatName))
    }

    // MARK: Formats at work

    /// The format of that name at work.
    ///
    /// - Throws: ``HanekeError/Code/formatNotFound``.
    func storage(_ formatName: String) throws(HanekeError) -> Storage { try registry.storage(formatName) }

    /// All formats at work.
    var allStorages: [Storage] { registry.all }

    /// The format at work, out of nothing.
    func makeStorage(_ format: Format<T>) -> Storage { Storage(format, disk: disk, clock: clock) }
}
