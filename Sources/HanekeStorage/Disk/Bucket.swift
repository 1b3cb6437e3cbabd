internal import CHaneke

/// A named region of a store with a capacity of its own: bytes in, bytes out.
///
/// All members may be called from any thread. Readers never wait for a writer; a write is committed when its call returns.
public final class Bucket: @unchecked Sendable {
    // Sendable: haneke.h, Threads: any handle on any thread.
    let raw: OpaquePointer
    /// The bucket's name.
    public let name: String
    /// The store that holds it.
    public let store: DiskStore

    /// What a bucket is set to.
    ///
    /// nil leaves a member as it is in an existing bucket, and at its default in a new one.
    public struct Options: Sendable, Hashable {
        /// Most that the entries may take on the disk, in bytes; `UInt64.max`, the default of a new bucket, is unlimited.
        public var capacityBytes: UInt64?
        /// Most entries; 0, the default of a new bucket, is no limit.
        public var entriesMax: Int?
        /// The lifetime of entries that are set without one; `.seconds(Int64.max)` or longer, the default, is for ever.
        public var lifetime: Duration?
        /// Which entry goes when there is no room; the default of a new bucket is `.leastRecentlyUsed`.
        ///
        /// A change costs O(entries) where it is one to `.sieve`: its order is made anew, by what was set last.
        public var eviction: EvictionPolicy?
        /// Whether to throw `notFound` instead of making the bucket.
        public var mustExist: Bool

        /// Names what is to be set.
        public init(
            capacityBytes: UInt64? = nil, entriesMax: Int? = nil, lifetime: Duration? = nil,
            eviction: EvictionPolicy? = nil, mustExist: Bool = false
        ) {
            self.capacityBytes = capacityBytes
            self.entriesMax = entriesMax
            self.lifetime = lifetime
            self.eviction = eviction
            self.mustExist = mustExist
        }

        init(_ raw: hnk_bucket_options) {
            capacityBytes = raw.capacity_bytes
            entriesMax = Int(clamping: raw.entries_max)
            lifetime = raw.lifetime_ms == Int64.max ? .seconds(Int64.max) : .milliseconds(raw.lifetime_ms)
            eviction = EvictionPolicy(rawValue: raw.eviction)
            mustExist = false
        }

        var raw: hnk_bucket_options {
            var raw = hnk_bucket_options()
            raw.struct_size = UInt32(MemoryLayout<hnk_bucket_options>.size)
            if let capacityBytes {
                raw.fields |= HNK_FIELD_CAPACITY
                raw.capacity_bytes = capacityBytes
            }
            if let entriesMax {
                raw.fields |= HNK_FIELD_ENTRIES
                raw.entries_max = UInt64(clamping: entriesMax)
            }
            if let lifetime {
                raw.fields |= HNK_FIELD_LIFETIME
                raw.lifetime_ms = milliseconds(of: lifetime)
            }
            if let eviction {
                raw.fields |= HNK_FIELD_EVICTION
                raw.eviction = eviction.rawValue
            }
            if mustExist {
                raw.fields |= HNK_FIELD_MUST_EXIST
            }
            return raw
        }
    }

    /// How an entry is read.
    public struct ReadOptions: OptionSet, Sendable {
        /// The C interface's flags.
        public let rawValue: UInt32

        /// Makes a set out of the C interface's flags.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Does not count as use: neither the access time nor hits and misses change.
        public static let quiet = Self(rawValue: HNK_GET_QUIET)
        /// Gives an entry whose lifetime is over, too; `Lease.entry().isExpired` tells.
        public static let includingExpired = Self(rawValue: HNK_GET_EXPIRED)
    }

    init(adopting raw: OpaquePointer, name: String, store: DiskStore) {
        self.raw = raw
        self.name = name
        self.store = store
    }

    deinit { hnk_bucket_close(raw) }

    // MARK: Reading

    /// Pins the value under `key` for reading in place; nil if there is none (or it has expired, or is damaged).
    public func lease(forKey key: String, options: ReadOptions = []) throws(StoreError) -> Lease? {
        var lease: OpaquePointer?
        let status = withBytes(of: key) { hnk_bucket_get(raw, $0, options.rawValue, &lease) }
        guard status == .ok, let lease else {
            try Self.check(status, key: key)
            return nil
        }
        return Lease(adopting: lease)
    }

    /// A copy of the value under `key`; nil if there is none.
    public func bytes(forKey key: String, options: ReadOptions = []) throws(StoreError) -> [UInt8]? {
        guard let lease = try lease(forKey: key, options: options) else { return nil }
        return lease.bytes()
    }

    /// What is known of the entry under `key`, without using or reading it; nil if there is none.
    ///
    /// An expired one is given.
    public func peek(_ key: String) throws(StoreError) -> Entry? {
        var entry = hnk_entry()
        entry.struct_size = UInt32(MemoryLayout<hnk_entry>.size)
        let status = withBytes(of: key) { hnk_bucket_peek(raw, $0, &entry) }
        switch status {
        case .ok, .expired: return Entry(entry)
        default:
            try Self.check(status, key: key)
            return nil
        }
    }

    /// Whether a live entry is under `key`.
    ///
    /// Not a use of it.
    public func contains(_ key: String) throws(StoreError) -> Bool {
        let status = withBytes(of: key) { hnk_bucket_peek(raw, $0, nil) }
        try Self.check(status, key: key)
        return status == .ok
    }

    /// Marks `key` as used now, without a write transaction; false if it is not there.
    @discardableResult
    public func touch(_ key: String) throws(StoreError) -> Bool {
        let status = withBytes(of: key) { hnk_bucket_touch(raw, $0) }
        try Self.check(status, key: key)
        return status == .ok
    }

    // MARK: Writing

    /// Stores `value` under `key`, replacing what was there.
    ///
    /// Entries go so that the limits hold, in the order that `Options.eviction` says.
    ///
    /// - Parameters:
    ///   - metadata: up to 65,536 bytes of your own.
    ///   - lifetime: from now; nil is the bucket's. Zero or less is expired from the start.
    ///   - sliding: whether each access starts the lifetime anew.
    /// - Throws: `valueTooLarge` if the value alone exceeds the capacity: nothing is evicted, the key's old value is removed.
    public func set(
        _ value: UnsafeRawBufferPointer, forKey key: String, metadata: [UInt8] = [], lifetime: Duration? = nil,
        sliding: Bool = false, userFlags: UInt32 = 0
    ) throws(StoreError) {
        let status = setStatus(value, key, metadata, lifetime, sliding, userFlags)
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Stores `value` under `key`; see `set(_:forKey:metadata:lifetime:sliding:userFlags:)`.
    public func set(
        _ value: [UInt8], forKey key: String, metadata: [UInt8] = [], lifetime: Duration? = nil,
        sliding: Bool = false, userFlags: UInt32 = 0
    ) throws(StoreError) {
        let status = value.withUnsafeBytes { setStatus($0, key, metadata, lifetime, sliding, userFlags) }
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Starts a value that comes in pieces and need not be in memory at once; nothing is visible before its commit.
    ///
    /// The parameters are those of `set(_:forKey:metadata:lifetime:sliding:userFlags:)`. Cost: a temporary file.
    ///
    /// - Throws: `keySize` or `metadataSize`, and what keeps the file from being made: `diskFull`, `access`,
    ///   `directoryGone`, `io`.
    public func writer(
        forKey key: String, metadata: [UInt8] = [], lifetime: Duration? = nil, sliding: Bool = false,
        userFlags: UInt32 = 0
    ) throws(StoreError) -> ValueWriter {
        var writer: OpaquePointer?
        let status = withSetOptions(metadata, lifetime, sliding, userFlags) { options in
            withBytes(of: key) { hnk_writer_begin(raw, $0, options, &writer) }
        }
        guard status == .ok, let writer else { throw StoreError(status, key: key) }
        return ValueWriter(adopting: writer, key: key)
    }

    private func setStatus(
        _ value: UnsafeRawBufferPointer, _ key: String, _ metadata: [UInt8], _ lifetime: Duration?, _ sliding: Bool,
        _ userFlags: UInt32
    ) -> hnk_status {
        withSetOptions(metadata, lifetime, sliding, userFlags) { options in
            withBytes(of: key) { hnk_bucket_set(raw, $0, hnk_bytes(value), options) }
        }
    }

    /// Removes `key`; false if it was not there.
    @discardableResult
    public func remove(_ key: String) throws(StoreError) -> Bool {
        let status = withBytes(of: key) { hnk_bucket_remove(raw, $0) }
        try Self.check(status, key: key)
        return status == .ok
    }

    /// Removes every key that starts with `prefix`, all at once to readers; the result is how many.
    @discardableResult
    public func removeAll(withPrefix prefix: String) throws(StoreError) -> Int {
        var removed: UInt64 = 0
        let status = withBytes(of: prefix) { hnk_bucket_remove_prefix(raw, $0, &removed) }
        guard status == .ok else { throw StoreError(status) }
        return Int(clamping: removed)
    }

    /// Removes every entry.
    ///
    /// The bucket and its settings stay.
    public func removeAll() throws(StoreError) {
        let status = hnk_bucket_remove_all(raw)
        guard status == .ok else { throw StoreError(status) }
    }

    /// Removes the entries whose lifetime is over; the result is how many.
    ///
    /// Looks at every entry.
    @discardableResult
    public func removeExpired() throws(StoreError) -> Int {
        var removed: UInt64 = 0
        let status = hnk_bucket_remove_expired(raw, &removed)
        guard status == .ok else { throw StoreError(status) }
        return Int(clamping: removed)
    }

    // MARK: The bucket as a whole

    /// Changes what the bucket is set to.
    ///
    /// Lowering a limit evicts before this returns; capacity 0 empties it and then refuses all.
    public func configure(_ options: Options) throws(StoreError) {
        var given = options.raw
        var detail = hnk_error()
        let status = hnk_bucket_configure(raw, &given, &detail)
        guard status == .ok else { throw StoreError(status, detail: detail) }
    }

    /// What the bucket is set to now, by whichever process; no member is nil, and `mustExist` is false.
    ///
    /// One lookup.
    ///
    /// - Throws: `notFound` if the bucket has been removed.
    public func settings() throws(StoreError) -> Options {
        var raw = hnk_bucket_options()
        raw.struct_size = UInt32(MemoryLayout<hnk_bucket_options>.size)
        let status = hnk_bucket_settings(self.raw, &raw)
        guard status == .ok else { throw StoreError(status) }
        return Options(raw)
    }

    /// Counts.
    ///
    /// One lookup.
    public func statistics() throws(StoreError) -> StoreStatistics {
        try StoreStatistics { hnk_bucket_statistics(raw, $0) }
    }

    /// In which order entries are listed.
    public enum Order: Sendable {
        /// By the bytes of the key; keys over 506 bytes by their first 491, then by digest.
        case key
        /// Least recently used first: the order in which `EvictionPolicy.leastRecentlyUsed` evicts.
        case access
    }

    /// The entries, the expired ones included, that start with `prefix`.
    ///
    /// Looking is not using.
    public func entries(prefix: String = "", order: Order = .key) throws(StoreError) -> [Entry] {
        var found: [Entry] = []
        try forEachEntry(prefix: prefix, order: order) {
            found.append($0); return true
        }
        return found
    }

    /// Walks the entries that start with `prefix` until `body` answers false, without holding them all.
    ///
    /// No page is pinned between entries; what is written or removed meanwhile may or may not be seen.
    ///
    /// - Parameter after: by key only: where to go on, behind this key, which need not be there; "" is the start.
    public func forEachEntry(
        prefix: String = "", after: String = "", order: Order = .key, _ body: (Entry) -> Bool
    ) throws(StoreError) {
        var list: OpaquePointer?
        var status = withBytes(of: prefix) { prefix in
            withBytes(of: after) { after in
                var options = hnk_list_options()
                options.struct_size = UInt32(MemoryLayout<hnk_list_options>.size)
                options.order = order == .key ? hnk_list_order.byKey.rawValue : hnk_list_order.byAccess.rawValue
                options.prefix = prefix
                options.after = after
                return hnk_list_open(raw, &options, &list)
            }
        }
        guard status == .ok, let list else { throw StoreError(status) }
        defer { hnk_list_close(list) }
        var entry = hnk_entry()
        entry.struct_size = UInt32(MemoryLayout<hnk_entry>.size)
        status = hnk_list_next(list, &entry)
        while status == .ok, body(Entry(entry)) {
            status = hnk_list_next(list, &entry)
        }
        guard status == .ok || status == .notFound else { throw StoreError(status) }
    }

    /// Lets answers pass and throws errors.
    private static func check(_ status: hnk_status, key: String) throws(StoreError) {
        guard status.rawValue >= 0 else { throw StoreError(status, key: key) }
    }
}
