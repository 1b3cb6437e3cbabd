import CHaneke
import TestSupport
import Testing

@Suite struct OptionsTests {
    /// A caller's struct as an older or newer version would have it: of any size, with any tail.
    private static func raw<Options>(_ options: Options, size: Int, tail: UInt8 = 0) -> [UInt8] {
        var bytes = withUnsafeBytes(of: options) { [UInt8]($0) }
        if size > bytes.count {
            bytes += [UInt8](repeating: 0, count: size - bytes.count)
            bytes[size - 1] = tail
        }
        withUnsafeBytes(of: UInt32(size)) { bytes.replaceSubrange(0..<4, with: $0) }
        return bytes
    }

    /// Calls `body` with each kind of options struct of a size that differs by `by` from ours.
    private static func statuses(by difference: Int, tail: UInt8 = 0) throws -> [String: hnk_status] {
        let fixture = try Fixture()
        let elsewhere = try TemporaryDirectory()
        let bucket = fixture.bucket.raw
        var found: [String: hnk_status] = [:]
        func lendRaw<Options>(_ options: Options, _ body: (UnsafePointer<Options>) -> hnk_status) -> hnk_status {
            raw(options, size: MemoryLayout<Options>.size + difference, tail: tail).withUnsafeBytes {
                guard let base = $0.baseAddress else { return .internal }
                return body(base.assumingMemoryBound(to: Options.self))
            }
        }
        var opened: OpaquePointer?
        found["store"] = lendRaw(hnk_store_options()) { hnk_store_open(elsewhere.path, $0, &opened, nil) }
        hnk_store_close(opened)
        opened = nil
        found["bucket"] = lendRaw(hnk_bucket_options()) { options in
            lend([1]) { hnk_bucket_open(fixture.store.raw, $0, options, &opened, nil) }
        }
        hnk_bucket_close(opened)
        found["configure"] = lendRaw(hnk_bucket_options()) { hnk_bucket_configure(bucket, $0, nil) }
        found["set"] = lendRaw(hnk_set_options()) { options in
            lend([1]) { key in lend([2]) { hnk_bucket_set(bucket, key, $0, options) } }
        }
        opened = nil
        found["list"] = lendRaw(hnk_list_options()) { hnk_list_open(bucket, $0, &opened) }
        hnk_list_close(opened)
        opened = nil
        found["writer"] = lendRaw(hnk_set_options()) { options in
            let status = lend([3]) { hnk_writer_begin(bucket, $0, options, &opened) }
            guard let opened else { return status }
            _ = lend([4]) { hnk_writer_append(opened, $0) }
            return hnk_writer_commit(opened)
        }
        return found
    }

    @Test("a struct smaller than the first version's is refused")
    func smaller() throws {
        for (name, status) in try Self.statuses(by: -4) { #expect(status == .argument, "\(name)") }
    }

    @Test("a struct of this version's size is taken")
    func same() throws {
        for (name, status) in try Self.statuses(by: 0) { #expect(status == .ok, "\(name)") }
    }

    @Test("a newer caller who sets nothing that we don't know is served")
    func newerWithZeroTail() throws {
        for (name, status) in try Self.statuses(by: 24) { #expect(status == .ok, "\(name)") }
    }

    @Test("a newer caller who sets a field that we don't know is refused")
    func newerWithSomething() throws {
        for (name, status) in try Self.statuses(by: 24, tail: 1) { #expect(status == .argument, "\(name)") }
    }

    @Test("unknown flags, modes and reserved fields are refused")
    func unknownFlags() throws {
        let fixture = try Fixture()
        let elsewhere = try TemporaryDirectory()
        let path = elsewhere.path("never")
        #expect(Store.statusOfOpening(path) { $0.flags = 2 } == .argument)
        #expect(Store.statusOfOpening(path) { $0.sync_mode = 3 } == .argument)
        #expect(Store.statusOfOpening(path) { $0.damage_policy = 3 } == .argument)
        #expect(Store.statusOfOpening(path) { $0.map_bytes = 4_096 } == .argument)
        #expect(Store.statusOfOpening("") == .argument)
        #expect(Files.names(in: elsewhere.path).isEmpty)

        #expect(fixture.bucket.configure { $0.fields = 64 } == .argument)
        #expect(
            fixture.bucket.configure {
                $0.fields = HNK_FIELD_EVICTION
                $0.eviction = 2
            } == .argument)
        #expect(
            fixture.bucket.configure {
                $0.fields = HNK_FIELD_CHECK
                $0.check_mode = 3
            } == .argument)
        #expect(
            fixture.bucket.configure {
                $0.fields = HNK_FIELD_LIFETIME
                $0.lifetime_ms = 0
            } == .argument)
        #expect(fixture.bucket.set("key", [1], flags: 2) == .argument)
        #expect(fixture.bucket.get("key", 4) == .status(.argument))
        #expect(fixture.bucket.get("key") == .status(.notFound))
    }

    @Test("an older caller's entry and statistics are filled as far as they go")
    func olderOut() throws {
        let fixture = try Fixture()
        #expect(fixture.bucket.set("key", "value") == .ok)
        var entry = hnk_entry()
        entry.struct_size = 40
        entry.expires_at_ms = 77
        entry.user_flags = 78
        #expect(lend(Array("key".utf8)) { hnk_bucket_peek(fixture.bucket.raw, $0, &entry) } == .ok)
        #expect(entry.struct_size == 40 && entry.value_bytes == 5)
        #expect(entry.expires_at_ms == 77 && entry.user_flags == 78)

        var statistics = hnk_statistics()
        statistics.struct_size = 16
        statistics.bytes = 77
        #expect(hnk_bucket_statistics(fixture.bucket.raw, &statistics) == .ok)
        #expect(statistics.entries == 1 && statistics.bytes == 77)
    }
}
