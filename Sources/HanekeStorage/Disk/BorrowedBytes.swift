internal import CHaneke

/// Lends a string's UTF-8 to a C call.
@inline(__always)
func withBytes<Result>(of text: String, _ body: (hnk_bytes) -> Result) -> Result {
    var text = text
    return text.withUTF8 { body(hnk_bytes(data: $0.baseAddress, size: $0.count)) }
}

/// Lends an array to a C call.
@inline(__always)
func withBytes<Result>(of bytes: [UInt8], _ body: (hnk_bytes) -> Result) -> Result {
    bytes.withUnsafeBytes { body(hnk_bytes(data: $0.baseAddress, size: $0.count)) }
}

extension hnk_bytes {
    init(_ buffer: UnsafeRawBufferPointer) {
        self.init(data: buffer.baseAddress, size: buffer.count)
    }

    /// The bytes as a buffer; valid as long as what they point into.
    var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: data, count: size) }
}

/// The C interface's lifetime: milliseconds from now, never zero (which would mean "the bucket's default").
func milliseconds(of lifetime: Duration?) -> Int64 {
    guard let lifetime else { return Int64(HNK_LIFETIME_DEFAULT) }
    let (seconds, attoseconds) = lifetime.components
    guard seconds < Int64.max / 1_000 - 1 else { return Int64.max }
    guard seconds > Int64.min / 1_000 + 1 else { return -1 }
    let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    return milliseconds > 0 ? milliseconds : -1
}

/// Lends what is set beside a value to a C call.
@inline(__always)
func withSetOptions<Result>(
    _ metadata: [UInt8], _ lifetime: Duration?, _ sliding: Bool, _ userFlags: UInt32,
    _ body: (UnsafePointer<hnk_set_options>) -> Result
) -> Result {
    withBytes(of: metadata) { metadata in
        var options = hnk_set_options()
        options.struct_size = UInt32(MemoryLayout<hnk_set_options>.size)
        options.flags = sliding ? HNK_SET_SLIDING : 0
        options.lifetime_ms = milliseconds(of: lifetime)
        options.metadata = metadata
        options.user_flags = userFlags
        return body(&options)
    }
}
