import CHaneke
import Testing

/// A bucket's handle, with arrays for bytes.
final class Bucket: @unchecked Sendable {
    // Sendable: haneke.h, Threads: any handle on any thread.
    let raw: OpaquePointer
    /// What must not go before the bucket does: its directory.
    private let keeping: AnyObject?

    init(adopting raw: OpaquePointer, keeping: AnyObject? = nil) {
        self.raw = raw
        self.keeping = keeping
    }

    deinit { hnk_bucket_close(raw) }

    func set(
        _ key: [UInt8], _ value: [UInt8], metadata: [UInt8] = [], lifetime: Int64 = 0, flags: UInt32 = 0,
        userFlags: UInt32 = 0
    ) -> hnk_status {
        lend(metadata) { metadata in
            var options = hnk_set_options()
            options.struct_size = UInt32(MemoryLayout<hnk_set_options>.size)
            options.flags = flags
            options.lifetime_ms = lifetime
            options.metadata = metadata
            options.user_flags = userFlags
            return lend(key) { key in lend(value) { hnk_bucket_set(raw, key, $0, &options) } }
        }
    }

    func set(_ key: String, _ value: [UInt8], lifetime: Int64 = 0, flags: UInt32 = 0) -> hnk_status {
        set(Array(key.utf8), value, lifetime: lifetime, flags: flags)
    }

    func set(_ key: String, _ value: String) -> hnk_status { set(key, Array(value.utf8)) }
    func set(_ key: [UInt8], _ value: String) -> hnk_status { set(key, Array(value.utf8)) }

    func lease(_ key: [UInt8], _ flags: UInt32 = 0) -> (hnk_status, Lease?) {
        var raw: OpaquePointer?
        let status = lend(key) { hnk_bucket_get(self.raw, $0, flags, &raw) }
        #expect((raw != nil) == (status == .ok))
        return (status, raw.map(Lease.init(adopting:)))
    }

    func lease(_ key: String, _ flags: UInt32 = 0) throws -> Lease {
        let (status, lease) = lease(Array(key.utf8), flags)
        guard let lease else { throw Failure(status) }
        return lease
    }

    /// The value, or the status that stood in its way.
    func get(_ key: [UInt8], _ flags: UInt32 = 0) -> Answer {
        let (status, lease) = lease(key, flags)
        return lease.map { .value($0.value) } ?? .status(status)
    }

    func get(_ key: String, _ flags: UInt32 = 0) -> Answer { get(Array(key.utf8), flags) }

    func peek(_ key: [UInt8]) -> (status: hnk_status, entry: hnk_entry) {
        var entry = hnk_entry()
        entry.struct_size = UInt32(MemoryLayout<hnk_entry>.size)
        let status = lend(key) { hnk_bucket_peek(raw, $0, &entry) }
        return (status, entry)
    }

    func peek(_ key: String) -> (status: hnk_status, entry: hnk_entry) { peek(Array(key.utf8)) }

    func touch(_ key: String) -> hnk_status { lend(Array(key.utf8)) { hnk_bucket_touch(raw, $0) } }
    func touch(_ key: [UInt8]) -> hnk_status { lend(key) { hnk_bucket_touch(raw, $0) } }
    func remove(_ key: String) -> hnk_status { lend(Array(key.utf8)) { hnk_bucket_remove(raw, $0) } }
    func remove(_ key: [UInt8]) -> hnk_status { lend(key) { hnk_bucket_remove(raw, $0) } }
    func removeAll() -> hnk_status { hnk_bucket_remove_all(raw) }

    func removePrefix(_ prefix: [UInt8]) -> (status: hnk_status, removed: UInt64) {
        var removed: UInt64 = 0
        let status = lend(prefix) { hnk_bucket_remove_prefix(raw, $0, &removed) }
        return (status, removed)
    }

    func removeExpired() -> (status: hnk_status, removed: UInt64) {
        var removed: UInt64 = 0
        let status = hnk_bucket_remove_expired(raw, &removed)
        return (status, removed)
    }

    func configure(_ change: (inout hnk_bucket_options) -> Void) -> hnk_status {
        var options = hnk_bucket_options()
        options.struct_size = UInt32(MemoryLayout<hnk_bucket_options>.size)
        change(&options)
        return hnk_bucket_configure(raw, &options, nil)
    }

    func settings() -> hnk_bucket_options {
        var options = hnk_bucket_options()
        options.struct_size = UInt32(MemoryLayout<hnk_bucket_options>.size)
        #expect(hnk_bucket_settings(raw, &options) == .ok)
        return options
    }

    func statistics() -> hnk_statistics {
        var found = hnk_statistics()
        found.struct_size = UInt32(MemoryLayout<hnk_statistics>.size)
        #expect(hnk_bucket_statistics(raw, &found) == .ok)
        return found
    }

    /// The keys in order, with what is known of each; `most` of them.
    func list(
        _ order: hnk_list_order = .byKey, prefix: [UInt8] = [], after: [UInt8] = [], most: Int = .max
    ) -> [(key: [UInt8], entry: hnk_entry)] {
        var list: OpaquePointer?
        let status = lend(prefix) { prefix in
            lend(after) { after in
                var options = hnk_list_options()
                options.struct_size = UInt32(MemoryLayout<hnk_list_options>.size)
                options.order = order.rawValue
                options.prefix = prefix
                options.after = after
                return hnk_list_open(raw, &options, &list)
            }
        }
        #expect(status == .ok)
        guard let list else { return [] }
        defer { hnk_list_close(list) }
        var found: [(key: [UInt8], entry: hnk_entry)] = []
        while found.count < most, let next = Bucket.next(of: list) { found.append(next) }
        return found
    }

    func keys(_ order: hnk_list_order = .byKey, prefix: [UInt8] = []) -> [[UInt8]] {
        list(order, prefix: prefix).map(\.key)
    }

    /// The keys as text.
    func texts(_ order: hnk_list_order = .byKey, prefix: String = "") -> [String] {
        keys(order, prefix: Array(prefix.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    static func next(of list: OpaquePointer) -> (key: [UInt8], entry: hnk_entry)? {
        var entry = hnk_entry()
        entry.struct_size = UInt32(MemoryLayout<hnk_entry>.size)
        let status = hnk_list_next(list, &entry)
        #expect(status == .ok || status == .notFound)
        return status == .ok ? (entry.key.array, entry) : nil
    }
}

/// What a read says.
enum Answer: Equatable, CustomTestStringConvertible {
    case value([UInt8])
    case status(hnk_status)

    static func text(_ text: String) -> Answer { .value(Array(text.utf8)) }

    var testDescription: String {
        switch self {
        case .value(let bytes): "\(bytes.count) bytes \(bytes.prefix(16))"
        case .status(let status): status.testDescription
        }
    }
}

/// A pinned value; dropping it unpins.
final class Lease: @unchecked Sendable {
    // Sendable: haneke.h lets a lease be read and released on any thread.
    let raw: OpaquePointer

    init(adopting raw: OpaquePointer) { self.raw = raw }

    deinit { hnk_lease_release(raw) }

    var value: [UInt8] { hnk_lease_value(raw).array }
    var metadata: [UInt8] { hnk_lease_metadata(raw).array }
    var key: [UInt8] { entry.key.array }

    var entry: hnk_entry {
        var entry = hnk_entry()
        entry.struct_size = UInt32(MemoryLayout<hnk_entry>.size)
        hnk_lease_entry(raw, &entry)
        return entry
    }
}
