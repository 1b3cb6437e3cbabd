public import Foundation
internal import Synchronization

/// Caches for everyone, made when they are first used.
///
/// ```swift
/// let json = try await Shared.JSONCache.fetch(URL: url).value
/// ```
public enum Shared {
    private struct Place {
        var directory: URL?
        var isFixed = false
    }

    private static let place = Mutex(Place())

    /// Bytes as they are.
    ///
    /// Its directory is `shared-data`.
    public static let dataCache = Cache<Data>(
        name: HanekeGlobals.SharedCaches.DataCacheName, directory: fixedDirectory())
    /// Text.
    ///
    /// Its directory is `shared-strings`.
    public static let stringCache = Cache<String>(
        name: HanekeGlobals.SharedCaches.StringCacheName, directory: fixedDirectory())
    /// JSON.
    ///
    /// Its directory is `shared-json`.
    public static let JSONCache = Cache<JSON>(
        name: HanekeGlobals.SharedCaches.JSONCacheName, directory: fixedDirectory())

    /// Where the shared caches stand.
    ///
    /// Default: ``CacheDirectory/base``.
    public static var directory: URL { place.withLock { $0.directory } ?? CacheDirectory.base }

    /// Chooses where the shared caches stand; to be called before the first use of any of them.
    ///
    /// - Returns: False if one of them is in use: then nothing changes.
    @discardableResult
    public static func setDirectory(_ directory: URL) -> Bool {
        place.withLock { place in
            guard !place.isFixed else { return false }
            place.directory = directory
            return true
        }
    }

    /// The directory, which can't be changed any more.
    package static func fixedDirectory() -> URL {
        place.withLock { place in
            place.isFixed = true
            return place.directory
        } ?? CacheDirectory.base
    }
}
