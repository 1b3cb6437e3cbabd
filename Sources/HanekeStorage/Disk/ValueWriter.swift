internal import CHaneke

/// A value on its way into a bucket, piece by piece, so that it need not be in memory at once.
///
/// Nothing is visible before `commit()`; dropping the writer without it forgets everything. What was under the key stays
/// readable until then. Pieces go to a temporary file, and other writers are kept waiting only by the commit. A killed
/// process leaves nothing visible; its temporary file is swept at the next open.
///
/// A writer keeps its bucket and store open. It may move from thread to thread, one at a time.
public struct ValueWriter: ~Copyable, @unchecked Sendable {
    // Sendable: haneke.h, hnk_writer_begin, Threads: one at a time, which `mutating` on what has no copies ensures.
    private var raw: OpaquePointer?
    private let key: String

    init(adopting raw: OpaquePointer, key: String) {
        self.raw = raw
        self.key = key
    }

    deinit { hnk_writer_abort(raw) }

    /// Adds bytes at the end.
    ///
    /// - Throws: `diskFull` or `io`; the writer is then of no more use: further calls throw the same.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let status = add(hnk_bytes(bytes))
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Adds bytes at the end; see the other `append(_:)`.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        let status = bytes.withUnsafeBytes { add(hnk_bytes($0)) }
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Adds bytes at the end; see the other `append(_:)`.
    public mutating func append(_ bytes: [UInt8]) throws(StoreError) {
        let status = withBytes(of: bytes) { add($0) }
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Makes the value visible under its key, replacing what was there, and ends the writer whatever the outcome.
    ///
    /// The lifetime counts from here. Entries go so that the limits hold.
    ///
    /// - Throws: what an `append` threw; `valueTooLarge` if the value alone exceeds the capacity: nothing is evicted, the
    ///   key's old value is removed; `notFound` if the bucket was removed meanwhile.
    public consuming func commit() throws(StoreError) {
        let status = raw.map(hnk_writer_commit) ?? .internal
        raw = nil  // ended: nothing is left for `deinit`
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    private func add(_ bytes: hnk_bytes) -> hnk_status { raw.map { hnk_writer_append($0, bytes) } ?? .internal }
}
