import CXXHash

/// A record as docs/DISK_FORMAT.md describes it, read and written without the store's code.
struct RawRecord {
    var version: UInt8
    var flags: UInt8
    var zero: UInt16
    var bucketID: UInt32
    var slot: UInt32
    var userFlags: UInt32
    var generation: UInt64
    var writtenAt: UInt64
    var expiresAt: UInt64
    var valueDigest: UInt64
    var headerDigest: UInt64
    /// Whole; kept in the row only if it is over-long.
    var key: [UInt8]
    var metadata: [UInt8]
    /// Of a blob: empty.
    var value: [UInt8]
    /// Of a blob: that of its file.
    var valueBytes: UInt64

    static let longKey: UInt8 = 1
    static let blob: UInt8 = 2
    static let sliding: UInt8 = 4

    init(name: [UInt8], row: [UInt8]) {
        version = row[0]
        flags = row[1]
        zero = row.integer(at: 2)
        bucketID = row.integer(at: 4)
        slot = row.integer(at: 8)
        userFlags = row.integer(at: 12)
        let keyBytes = Int(row.integer(at: 16) as UInt32)
        let metadataBytes = Int(row.integer(at: 20) as UInt32)
        valueBytes = row.integer(at: 24)
        generation = row.integer(at: 32)
        writtenAt = row.integer(at: 40)
        expiresAt = row.integer(at: 48)
        valueDigest = row.integer(at: 56)
        headerDigest = row.integer(at: 64)
        let rest = row.dropFirst(72)
        key = flags & Self.longKey != 0 ? Array(rest.prefix(keyBytes)) : Array(name.dropFirst(4))
        metadata = Array(rest.dropFirst(keyBytes).prefix(metadataBytes))
        value = Array(rest.dropFirst(keyBytes + metadataBytes))
    }

    /// The first 64 bytes, over which the header digest begins.
    private var start: [UInt8] {
        var bytes: [UInt8] = [version, flags]
        bytes.append(integer: zero)
        bytes.append(integer: bucketID)
        bytes.append(integer: slot)
        bytes.append(integer: userFlags)
        bytes.append(integer: flags & Self.longKey != 0 ? UInt32(key.count) : 0)
        bytes.append(integer: UInt32(metadata.count))
        bytes.append(integer: flags & Self.blob != 0 ? valueBytes : UInt64(value.count))
        bytes.append(integer: generation)
        bytes.append(integer: writtenAt)
        bytes.append(integer: expiresAt)
        bytes.append(integer: valueDigest)
        return bytes
    }

    /// What the header digest should be.
    var computedHeaderDigest: UInt64 { xxh3(metadata, seed: xxh3(key, seed: xxh3(start))) }

    /// Makes both digests right, so that a forgery proves whole.
    mutating func seal() {
        if flags & Self.blob == 0 { valueDigest = xxh3(value) }
        headerDigest = computedHeaderDigest
    }

    var row: [UInt8] {
        var bytes = start
        bytes.append(integer: headerDigest)
        return bytes + (flags & Self.longKey != 0 ? key : []) + metadata + value
    }
}

/// XXH3, 64 bits; seed 0 is the unseeded form.
func xxh3(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    bytes.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
}

/// XXH3, 128 bits, in canonical form.
func xxh3Canonical128(_ bytes: [UInt8]) -> [UInt8] {
    var canonical = XXH128_canonical_t()
    XXH128_canonicalFromHash(&canonical, bytes.withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) })
    return withUnsafeBytes(of: canonical.digest) { [UInt8]($0) }
}

extension Collection<UInt8> {
    /// The little-endian integer at `offset`; 0 past the end.
    func integer<Integer: FixedWidthInteger>(at offset: Int) -> Integer {
        dropFirst(offset).prefix(Integer.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Integer($1) }
    }
}

extension [UInt8] {
    mutating func append(integer: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: integer.littleEndian) { append(contentsOf: $0) }
    }

    /// Writes a little-endian integer at `offset`.
    mutating func set(_ integer: some FixedWidthInteger, at offset: Int) {
        let bytes = Swift.withUnsafeBytes(of: integer.littleEndian) { [UInt8]($0) }
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
}
