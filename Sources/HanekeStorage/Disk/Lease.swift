internal import CHaneke

/// One value, pinned while this lease lives, so that it can be read where it lies.
///
/// Dropping it unpins.
///
/// A lease keeps the store open, and a lease of a value under the blob threshold keeps the pages of its moment from being
/// used again: take what you need and let it go.
public struct Lease: ~Copyable, @unchecked Sendable {
    // Sendable: haneke.h lets a lease be read and released on any thread, and nothing here changes it.
    private let raw: OpaquePointer

    init(adopting raw: OpaquePointer) { self.raw = raw }

    deinit { hnk_lease_release(raw) }

    /// The length of the value, in bytes.
    public var count: Int { hnk_lease_value(raw).size }

    /// Reads the value in place; nothing is copied.
    public borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(hnk_lease_value(raw).buffer.bytes)
    }

    /// Reads the value in place through a pointer, for interfaces that want one.
    ///
    /// It must not escape `body`.
    public borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(hnk_lease_value(raw).buffer)
    }

    /// A copy of the value.
    public borrowing func bytes() -> [UInt8] { [UInt8](hnk_lease_value(raw).buffer) }

    /// A copy of the metadata that was stored with the value; empty if none was.
    public borrowing func metadata() -> [UInt8] { [UInt8](hnk_lease_metadata(raw).buffer) }

    /// Reads the metadata in place; empty if none was stored.
    public borrowing func withMetadata<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(hnk_lease_metadata(raw).buffer.bytes)
    }

    /// What is known of the entry beside its value.
    public borrowing func entry() -> Entry {
        var entry = hnk_entry()
        entry.struct_size = UInt32(MemoryLayout<hnk_entry>.size)
        hnk_lease_entry(raw, &entry)
        return Entry(entry)
    }
}
