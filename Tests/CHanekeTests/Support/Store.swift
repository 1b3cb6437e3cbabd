public import CHaneke
public import Testing

/// A handle of the C interface: statuses as they come, no logic; dropping it closes it.
final class Store: @unchecked Sendable {
    // Sendable: haneke.h, Threads: any handle on any thread.
    let raw: OpaquePointer

    init(adopting raw: OpaquePointer) { self.raw = raw }

    /// Opens `path`; on anything but `ok` throws the status.
    convenience init(_ path: String, _ change: (inout hnk_store_options) -> Void = { _ in }) throws {
        var error = hnk_error()
        let (status, raw) = Store.open(path, &error, change)
        guard status == .ok, let raw else { throw Failure(status, error) }
        self.init(adopting: raw)
    }

    deinit { hnk_store_close(raw) }

    static func open(
        _ path: String, _ error: inout hnk_error, _ change: (inout hnk_store_options) -> Void = { _ in }
    ) -> (hnk_status, OpaquePointer?) {
        var options = hnk_store_options()
        options.struct_size = UInt32(MemoryLayout<hnk_store_options>.size)
        change(&options)
        var raw: OpaquePointer?
        return (hnk_store_open(path, &options, &raw, &error), raw)
    }

    /// Opens and closes; the status.
    static func statusOfOpening(_ path: String, _ change: (inout hnk_store_options) -> Void = { _ in }) -> hnk_status {
        var error = hnk_error()
        let (status, raw) = open(path, &error, change)
        hnk_store_close(raw)
        #expect((raw != nil) == (status == .ok))
        #expect(status == .ok || error.status == status && !error.text.isEmpty)
        return status
    }

    func bucket(
        _ name: String = "test", keeping: AnyObject? = nil, _ change: (inout hnk_bucket_options) -> Void = { _ in }
    ) throws -> Bucket {
        var options = hnk_bucket_options()
        options.struct_size = UInt32(MemoryLayout<hnk_bucket_options>.size)
        change(&options)
        var raw: OpaquePointer?
        var error = hnk_error()
        let status = lend(Array(name.utf8)) { hnk_bucket_open(self.raw, $0, &options, &raw, &error) }
        guard status == .ok, let raw else { throw Failure(status, error) }
        return Bucket(adopting: raw, keeping: keeping)
    }

    func drop(_ name: String) -> hnk_status { lend(Array(name.utf8)) { hnk_store_drop_bucket(raw, $0, nil) } }

    func bucketNames() -> [String] {
        var names: [String] = []
        var name = hnk_bucket_name()
        var status = hnk_store_next_bucket(raw, nil, &name)
        while status == .ok {
            names.append(withUnsafeBytes(of: name.bytes) { String(decoding: $0.prefix(name.size), as: UTF8.self) })
            var after = name
            status = hnk_store_next_bucket(raw, &after, &name)
        }
        #expect(status == .notFound)
        return names
    }

    func statistics() -> hnk_statistics {
        var found = hnk_statistics()
        found.struct_size = UInt32(MemoryLayout<hnk_statistics>.size)
        #expect(hnk_store_statistics(raw, &found) == .ok)
        return found
    }

    /// What `hnk_store_verify` finds in all of it.
    func verify(_ bucket: Bucket? = nil) -> (status: hnk_status, found: hnk_verification) {
        var found = hnk_verification()
        found.struct_size = UInt32(MemoryLayout<hnk_verification>.size)
        let status = hnk_store_verify(raw, bucket?.raw, nil, nil, &found)
        return (status, found)
    }

    /// Expects every invariant to hold.
    func expectSound(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
        let (status, found) = verify()
        let words: Comment = "\(comment?.rawValue ?? "") \(found.words)"
        #expect(status == .ok, words, sourceLocation: sourceLocation)
    }
}

/// A status that a test did not want.
struct Failure: Error, CustomStringConvertible {
    let status: hnk_status
    let message: String

    init(_ status: hnk_status, _ error: hnk_error = hnk_error()) {
        self.status = status
        message = error.text
    }

    var description: String { "\(status.testDescription) \(message)" }
}

extension hnk_error {
    var text: String { withUnsafeBytes(of: message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } }
}

extension hnk_verification {
    var words: String { withUnsafeBytes(of: first_fault) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } }
}

extension hnk_status: @retroactive CustomTestStringConvertible {
    /// The status's name in C.
    public var testDescription: String { String(cString: hnk_status_name(self)) }
}

/// Lends an array to a C call.
func lend<Result>(_ bytes: [UInt8], _ body: (hnk_bytes) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(hnk_bytes(data: $0.baseAddress, size: $0.count)) }
}

extension hnk_bytes {
    var array: [UInt8] { [UInt8](UnsafeRawBufferPointer(start: data, count: size)) }
}
