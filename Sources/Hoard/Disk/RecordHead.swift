// What stands beside a value on the disk, as the store's metadata of its entry: version (1 byte), then little-endian
// sequence, created (seconds since 1970) and life (seconds), 8 bytes each, then the tag.

struct RecordHead {
    static let version: UInt8 = 1
    static let bytes = 25

    /// Grows with each write: tells a record from one that replaced it, and whether a prune is younger.
    let sequence: UInt64
    let created: Double
    let life: Double

    func metadata(tag: String) -> [UInt8] {
        var bytes = [Self.version]
        bytes.reserveCapacity(Self.bytes + tag.utf8.count)
        for number in [sequence, created.bitPattern, life.bitPattern] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        bytes += tag.utf8
        return bytes
    }

    init(sequence: UInt64, created: Double, life: Double) {
        self.sequence = sequence
        self.created = created
        self.life = life
    }

    /// nil if this is no record of ours.
    init?(_ metadata: UnsafeRawBufferPointer) {
        guard metadata.count >= Self.bytes, metadata[0] == Self.version else { return nil }
        func number(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: metadata.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        sequence = number(1)
        created = Double(bitPattern: number(9))
        life = Double(bitPattern: number(17))
    }

    /// Over, or from a future that a clock set back has left behind.
    func isExpired(_ now: Double) -> Bool { now >= created + life || created > now + 60 }

    /// Not read for over half of its life.
    func isStale(_ now: Double, accessed: Double) -> Bool {
        life.isFinite && now - max(accessed, created) > 0.5 * life
    }
}
