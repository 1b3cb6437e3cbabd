internal import CHaneke

/// A value on its way into a bucket, piece by piece, so that it need not be in memory at once.
///
/// Nothing is visible before `commit()`; dropping the writer without it forgets everything. What was under the key stays
/// readable until then. Pieces go to a temporary file, and other writers are kept waiting only by the commit. A killed
/// process leaves nothing visible; its temporary file is swept at the next open.
///
/// A writer keeps its bucket and store open. It may move from thread to thread, one at a time.
public struct ValueWriter: ~Copyable, Sendable {
    private var handle: WriterHandle
    private let key: String

    init(adopting raw: OpaquePointer, key: String) {
        handle = WriterHandle(raw: raw)
        self.key = key
    }

    /// Adds bytes at the end.
    ///
    /// - Throws: `diskFull` or `io`; the writer is then of no more use: further calls throw the same.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let status = handle.append(hnk_bytes(bytes))
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Adds bytes at the end; see the other `append(_:)`.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        let status = bytes.withUnsafeBytes { handle.append(hnk_bytes($0)) }
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Adds bytes at the end; see the other `append(_:)`.
    public mutating func append(_ bytes: [UInt8]) throws(StoreError) {
        let status = withBytes(of: bytes) { handle.append($0) }
        guard status == .ok else { throw StoreError(status, key: key) }
    }

    /// Makes the value visible under its key, replacing what was there, and ends the writer whatever the outcome.
    ///
    /// The lifetime counts from here. Least recently used entries go so that the limits hold.
    ///
    /// - Throws: what an `append` threw; `valueTooLarge` if the value alone exceeds the capacity: nothing is evicted, the
    ///   key's old value is removed; `notFound` if the bucket was removed meanwhile.
    public consuming func commit() throws(StoreError) {
        let status = handle.commit()
        guard status == .ok else { throw StoreError(status, key: key) }
    }
}

/// The C interface's writer, ended exactly once.
private struct WriterHandle: ~Copyable, @unchecked Sendable {
    // Sendable: haneke.h, hnk_writer_begin, Threads: one at a time, which `mutating` calls on what has no copies ensure.
    let raw: OpaquePointer

    deinit { hnk_writer_abort(raw) }

    mutating func append(_ bytes: hnk_bytes) -> hnk_status { hnk_writer_append(raw, bytes) }

    consuming func commit() -> hnk_status {
        let raw = raw
        discard self
        return hnk_writer_commit(raw)
    }
}
