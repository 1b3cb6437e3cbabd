import Foundation
import HanekeStorage

/// What the global options say, each checked, before anything is touched.
struct Settings {
    /// The store's directory, absolute or relative to the working directory.
    let storeDirectory: String
    let bucketName: String
    /// Whether the bucket was named, or is the default.
    let namesBucket: Bool
    /// nil leaves the bucket's capacity as it is.
    let capacity: UInt64?
    /// nil leaves the bucket's order of eviction as it is.
    let eviction: Bucket.EvictionPolicy?

    init(_ invocation: Invocation, environment: [String: String]) throws {
        storeDirectory = try invocation[.store] ?? Self.defaultStore(environment)
        guard !storeDirectory.isEmpty else {
            throw Failure.usage("--store names no directory; give one or leave it out")
        }
        bucketName = invocation[.bucket] ?? "default"
        namesBucket = invocation.has(.bucket)
        guard bucketName.utf8.count <= 255 else {
            throw Failure.usage("--bucket: the name has \(bucketName.utf8.count) bytes; the most is 255")
        }
        capacity = try invocation[.capacity].map { text in
            guard let bytes = ByteCount.parse(text) else {
                throw Failure.usage("--capacity \"\(text)\" is no size; write bytes, or 500K, 64M, 2G, unlimited")
            }
            return bytes
        }
        eviction = try invocation[.eviction].map { text in
            guard let policy = Bucket.EvictionPolicy(name: text) else {
                throw Failure.usage("--eviction \"\(text)\" is no order of eviction; write lru or sieve")
            }
            return policy
        }
    }

    private static func defaultStore(_ environment: [String: String]) throws -> String {
        if let store = environment["HANEKE_STORE"], !store.isEmpty { return store }
        return try cacheDirectory(environment) + "/io.haneke/cli"
    }

    /// The XDG base directory specification: a relative $XDG_CACHE_HOME does not count.
    private static func cacheDirectory(_ environment: [String: String]) throws -> String {
        #if canImport(Darwin)
            if let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first {
                return caches.path
            }
        #else
            if let caches = environment["XDG_CACHE_HOME"], caches.hasPrefix("/") { return caches }
            if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.cache" }
        #endif
        throw Failure.usage("there is no home directory for a store; name one with --store DIR or $HANEKE_STORE")
    }
}

extension Invocation {
    /// What `--ttl` says; nil if it was not given.
    func lifetime() throws -> Duration? {
        try self[.ttl].map { text in
            guard let seconds = Double(text), seconds >= 0, seconds <= 1e12 else {
                throw Failure.usage("--ttl \"\(text)\" is no number of seconds; write 60 or 0.5")
            }
            return .milliseconds(Int64((seconds * 1_000).rounded()))
        }
    }

    /// The operand at `index` as a key; the limits are the store's.
    func key(at index: Int = 0) throws -> String {
        let key = operands[index]
        guard !key.isEmpty else { throw Failure.usage("the key is empty; a key has 1 to 65,536 bytes") }
        guard key.utf8.count <= 65_536 else {
            throw Failure.usage("the key has \(key.utf8.count) bytes; a key has 1 to 65,536")
        }
        return key
    }
}
