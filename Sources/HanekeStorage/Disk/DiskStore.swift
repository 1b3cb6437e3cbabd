internal import CHaneke

/// One cache directory, open.
///
/// It holds buckets; closing is dropping the last reference.
///
/// Any number of threads and processes may use one directory. Opening it again in one process shares everything.
public final class DiskStore: @unchecked Sendable {
    // Sendable: haneke.h, Threads: any handle on any thread.
    let raw: OpaquePointer

    /// How a store is opened.
    public struct Options: Sendable {
        /// When commits reach the disk's surface.
        ///
        /// A killed process loses nothing under any of them.
        public enum SyncMode: Sendable, Hashable {
            /// When the system likes; a crash of the operating system may take what came since the last sync.
            case none
            /// In the background, at least this often while something changes.
            case interval(Duration)
            /// Before each write returns.
            case everyCommit
        }

        /// What to do with a store that a crash of the system, or a hand from outside, has damaged.
        public enum DamagePolicy: Sendable, Hashable {
            /// Keep each record that proves whole; after such a crash a value may be an older one of its key.
            case salvage
            /// Begin empty.
            case discard
            /// Throw `StoreError.Code.damagedStore` and touch nothing.
            case refuse
        }

        /// Default `.none`.
        public var syncMode: SyncMode = .none
        /// Default `.salvage`.
        public var damagePolicy: DamagePolicy = .salvage
        /// A value over this many bytes gets a file of its own.
        ///
        /// Default 262,144.
        public var blobThresholdBytes: Int = 262_144
        /// Address space for the data file, in bytes, which it never outgrows; nil for the default of 64 GiB.
        public var mapBytes: Int?
        /// Whether to throw `notFound` instead of making a store where there is none.
        ///
        /// Default false.
        public var mustExist = false

        /// The defaults.
        public init() {}
    }

    /// Opens the store in `directory`, making the directory and the store where they are missing.
    ///
    /// If this process has the directory open already, the options of the first opener hold. Under a millisecond after
    /// a clean close; after a crash the pages are checked first, 30–300 ms per GiB.
    public init(directory: String, options: Options = Options()) throws(StoreError) {
        var given = hnk_store_options()
        given.struct_size = UInt32(MemoryLayout<hnk_store_options>.size)
        given.flags = options.mustExist ? HNK_STORE_MUST_EXIST : 0
        switch options.syncMode {
        case .none: given.sync_mode = hnk_sync_mode.none.rawValue
        case .everyCommit: given.sync_mode = hnk_sync_mode.commit.rawValue
        case .interval(let interval):
            given.sync_mode = hnk_sync_mode.interval.rawValue
            given.sync_interval_ms = UInt32(clamping: max(1, milliseconds(of: interval)))
        }
        switch options.damagePolicy {
        case .salvage: given.damage_policy = hnk_damage_policy.salvage.rawValue
        case .discard: given.damage_policy = hnk_damage_policy.discard.rawValue
        case .refuse: given.damage_policy = hnk_damage_policy.refuse.rawValue
        }
        given.blob_threshold_bytes = UInt64(clamping: max(1, options.blobThresholdBytes))
        given.map_bytes = UInt64(clamping: options.mapBytes ?? 0)

        var opened: OpaquePointer?
        var detail = hnk_error()
        let status = hnk_store_open(directory, &given, &opened, &detail)
        guard status == .ok, let opened else { throw StoreError(status, detail: detail) }
        raw = opened
    }

    deinit { hnk_store_close(raw) }

    /// The version of the library that is running: "0.1.0".
    public static var libraryVersion: String { String(cString: hnk_version()) }

    /// The absolute path of the directory.
    public var directory: String { String(cString: hnk_store_directory(raw)) }

    /// Opens the bucket `name`, making it where it is missing, and sets what `options` name.
    ///
    /// A capacity under what the bucket holds evicts before this returns.
    public func bucket(named name: String, options: Bucket.Options = Bucket.Options()) throws(StoreError) -> Bucket {
        var opened: OpaquePointer?
        var detail = hnk_error()
        var given = options.raw
        let status = withBytes(of: name) { hnk_bucket_open(raw, $0, &given, &opened, &detail) }
        guard status == .ok, let opened else { throw StoreError(status, detail: detail) }
        return Bucket(adopting: opened, name: name, store: self)
    }

    /// The names of all buckets, also of those that nobody has open, in byte order.
    public func bucketNames() throws(StoreError) -> [String] {
        var names: [String] = []
        var name = hnk_bucket_name()
        var status = hnk_store_next_bucket(raw, nil, &name)
        while status == .ok {
            names.append(
                withUnsafeBytes(of: name.bytes) { String(decoding: $0.prefix(name.size), as: UTF8.self) })
            var after = name
            status = hnk_store_next_bucket(raw, &after, &name)
        }
        guard status == .notFound else { throw StoreError(status) }
        return names
    }

    /// Removes the bucket `name` with all it holds; false if there is none.
    @discardableResult
    public func removeBucket(named name: String) throws(StoreError) -> Bool {
        var detail = hnk_error()
        let status = withBytes(of: name) { hnk_store_drop_bucket(raw, $0, &detail) }
        guard status == .ok || status == .notFound else { throw StoreError(status, detail: detail) }
        return status == .ok
    }

    /// Carries out many writes, in order, in one commit: three to four times as fast as one by one.
    ///
    /// - Returns: for each operation nil, or why it was refused by itself (a key of wrong size, a value too large). Removing
    ///   what is not there is no error.
    /// - Throws: what befell all of them; then nothing was changed.
    @discardableResult
    public func apply(_ operations: [StoreOperation]) throws(StoreError) -> [StoreError?] {
        var statuses = [hnk_status](repeating: .ok, count: operations.count)
        guard !operations.isEmpty else { return [] }
        var detail = hnk_error()
        let status = withOperations(operations) { hnk_store_apply(raw, $0, operations.count, &statuses, &detail) }
        guard status == .ok else { throw StoreError(status, detail: detail) }
        return zip(operations, statuses).map { operation, status in
            switch (status, operation.kind) {
            case (.ok, _), (.notFound, .remove): nil
            case (_, .set(let key, _, _, _, _)), (_, .remove(let key)): StoreError(status, key: key)
            case (_, .removeAll): StoreError(status)
            }
        }
    }

    /// Makes everything committed so far survive a crash of the system.
    public func sync() throws(StoreError) {
        var detail = hnk_error()
        let status = hnk_store_sync(raw, &detail)
        guard status == .ok else { throw StoreError(status, detail: detail) }
    }

    /// Gives the blocks of free pages back to the file system; the result is by how many bytes the directory shrank.
    @discardableResult
    public func compact() throws(StoreError) -> Int {
        var detail = hnk_error()
        var freed: UInt64 = 0
        let status = hnk_store_compact(raw, &freed, &detail)
        guard status == .ok else { throw StoreError(status, detail: detail) }
        return Int(clamping: freed)
    }

    /// Counts of all buckets together, and what the directory takes on the disk.
    ///
    /// Looks at each file of it.
    public func statistics() throws(StoreError) -> StoreStatistics {
        try StoreStatistics { hnk_store_statistics(raw, $0) }
    }

    /// Reads everything (or one bucket) and checks every invariant; about 300 ms per GiB.
    ///
    /// Changes nothing.
    ///
    /// - Parameter progress: called now and then with entries done and in all; false stops the work, which then throws
    ///   `StoreError.Code.cancelled`.
    public func verify(
        _ bucket: Bucket? = nil, progress: ((_ done: Int, _ all: Int) -> Bool)? = nil
    ) throws(StoreError) -> Verification {
        var found = hnk_verification()
        found.struct_size = UInt32(MemoryLayout<hnk_verification>.size)
        let status = withProgress(progress) { hnk_store_verify(raw, bucket?.raw, $0, $1, &found) }
        guard status == .ok || status == .damaged else { throw StoreError(status) }
        return Verification(found)
    }
}

/// Lends a Swift closure to C for the length of a call.
private func withProgress(
    _ progress: ((Int, Int) -> Bool)?, _ body: (hnk_progress?, UnsafeMutableRawPointer?) -> hnk_status
) -> hnk_status {
    guard let progress else { return body(nil, nil) }
    return withoutActuallyEscaping(progress) { closure in
        var closure = closure
        return withUnsafeMutablePointer(to: &closure) { pointer in
            body(
                { context, done, all in
                    guard let context else { return 0 }
                    let closure = context.assumingMemoryBound(to: ((Int, Int) -> Bool).self).pointee
                    return closure(Int(clamping: done), Int(clamping: all)) ? 0 : 1
                }, pointer)
        }
    }
}

/// Lends operations to C: all their bytes are copied once into one block, so that no pointer outlives its array.
private func withOperations<Result>(
    _ operations: [StoreOperation], _ body: (UnsafePointer<hnk_operation>) -> Result
) -> Result {
    var block: [UInt8] = []
    var ranges: [(key: Range<Int>, value: Range<Int>, metadata: Range<Int>)] = []
    ranges.reserveCapacity(operations.count)
    func add(_ bytes: some Collection<UInt8>) -> Range<Int> {
        let start = block.count
        block.append(contentsOf: bytes)
        return start..<block.count
    }
    for operation in operations {
        switch operation.kind {
        case .set(let key, let value, let metadata, _, _): ranges.append((add(key.utf8), add(value), add(metadata)))
        case .remove(let key): ranges.append((add(key.utf8), 0..<0, 0..<0))
        case .removeAll: ranges.append((0..<0, 0..<0, 0..<0))
        }
    }
    return block.withUnsafeBytes { block in
        func lend(_ range: Range<Int>) -> hnk_bytes { hnk_bytes(UnsafeRawBufferPointer(rebasing: block[range])) }
        let raw = zip(operations, ranges).map { operation, range in
            var kind = hnk_operation_kind.set
            var lifetime: Duration?
            var flags: UInt32 = 0
            switch operation.kind {
            case .set(_, _, _, let given, let isSliding):
                lifetime = given
                if isSliding { flags = HNK_SET_SLIDING }
            case .remove: kind = .remove
            case .removeAll: kind = .removeAll
            }
            return hnk_operation(
                bucket: operation.bucket.raw, kind: kind.rawValue, flags: flags, key: lend(range.key),
                value: lend(range.value), metadata: lend(range.metadata), lifetime_ms: milliseconds(of: lifetime),
                user_flags: 0, reserved: 0)
        }
        return body(raw)
    }
}
