import TestSupport
import Testing

/// A bucket's file of slots as docs/DISK_FORMAT.md describes it.
struct RawSlots {
    let bytes: [UInt8]

    static let free: UInt8 = 0
    static let entry: UInt8 = 1
    static let more: UInt8 = 2

    init(_ directory: String, bucket: UInt32 = 1) throws {
        bytes = try Files.read(Self.path(directory, bucket: bucket))
    }

    static func path(_ directory: String, bucket: UInt32 = 1) -> String { "\(directory)/slots-00000\(bucket)" }

    static func offset(ofTime slot: Int) -> Int { 4_096 + slot / 512 * 69_632 + slot % 512 * 8 }
    static func offset(ofCell slot: Int) -> Int { 4_096 + slot / 512 * 69_632 + 4_096 + slot % 512 * 128 }

    /// Changes a cell's head and key, in place.
    static func changeCell(_ slot: Int, _ directory: String, _ body: (inout [UInt8]) -> Void) throws {
        try Files.patch(path(directory), at: offset(ofCell: slot), body, count: 128)
    }

    /// Changes the last counts, and makes their digest hold.
    static func changeCounts(_ directory: String, _ body: (inout [UInt8]) -> Void) throws {
        try Files.patch(
            path(directory), at: try RawSlots(directory).counts,
            { counts in
                body(&counts)
                counts.set(xxh3(Array(counts.prefix(120))), at: 120)
            }, count: 128)
    }

    /// Where the later of the two counts begins.
    var counts: Int {
        let (even, odd): (UInt64, UInt64) = (bytes.integer(at: 128 + 80), bytes.integer(at: 256 + 80))
        return odd > even ? 256 : 128
    }

    var magic: String { String(decoding: bytes.prefix(8), as: UTF8.self) }
    var version: UInt32 { bytes.integer(at: 8) }
    var bucketID: UInt32 { bytes.integer(at: 12) }
    var identity: [UInt8] { Array(bytes[16..<32]) }
    var hits: UInt64 { bytes.integer(at: 32) }
    var misses: UInt64 { bytes.integer(at: 40) }
    var expirations: UInt64 { bytes.integer(at: 48) }
    var boot: UInt64 { bytes.integer(at: 56) }
    var incarnation: UInt64 { bytes.integer(at: 64) }
    var turn: UInt64 { bytes.integer(at: 72) }
    var zeros: [UInt8] {
        Array(bytes[80..<128]) + Array(bytes[counts + 108..<counts + 120]) + Array(bytes[384..<4_096])
    }

    var entries: UInt64 { bytes.integer(at: counts) }
    var charged: UInt64 { bytes.integer(at: counts + 8) }
    var payload: UInt64 { bytes.integer(at: counts + 16) }
    var blobs: UInt64 { bytes.integer(at: counts + 24) }
    var generation: UInt64 { bytes.integer(at: counts + 32) }
    var evictions: UInt64 { bytes.integer(at: counts + 40) }
    var writes: UInt64 { bytes.integer(at: counts + 48) }
    var corruptions: UInt64 { bytes.integer(at: counts + 56) }
    var refused: UInt64 { bytes.integer(at: counts + 64) }
    var transaction: UInt64 { bytes.integer(at: counts + 72) }
    var sequence: UInt64 { bytes.integer(at: counts + 80) }
    var slots: UInt32 { bytes.integer(at: counts + 88) }
    var firstFree: UInt32 { bytes.integer(at: counts + 92) }
    var oldest: UInt32 { bytes.integer(at: counts + 96) }
    var newest: UInt32 { bytes.integer(at: counts + 100) }
    var hand: UInt32 { bytes.integer(at: counts + 104) }
    var digest: UInt64 { bytes.integer(at: counts + 120) }
    var computedDigest: UInt64 { xxh3(Array(bytes[counts..<counts + 120])) }

    func time(_ slot: Int) -> UInt64 { bytes.integer(at: Self.offset(ofTime: slot)) }
    func use(_ slot: Int) -> UInt8 { bytes[Self.offset(ofCell: slot)] }
    func next(_ slot: Int) -> UInt32 { bytes.integer(at: Self.offset(ofCell: slot) + 4) }
    func newer(_ slot: Int) -> UInt32 { bytes.integer(at: Self.offset(ofCell: slot) + 12) }
    func isVisited(_ slot: Int) -> Bool { time(slot) & 1 == 1 }

    /// The slots whose cells have this use.
    func slots(_ use: UInt8) -> [Int] { (0..<Int(slots)).filter { self.use($0) == use } }

    /// The stored key of the entry that holds a slot.
    func key(_ slot: Int) -> [UInt8] {
        var left = Int(bytes.integer(at: Self.offset(ofCell: slot) + 2) as UInt16)
        var cell = slot
        var key: [UInt8] = []
        while left > 0 {
            let start = Self.offset(ofCell: cell) + 16
            key += bytes[start..<start + min(left, 112)]
            left -= min(left, 112)
            if left > 0 { cell = Int(next(cell)) - 1 }
            guard cell >= 0, cell < Int(slots) else { break }
        }
        return key
    }

    /// The free slots, in the order of the chain.
    var chain: [Int] {
        var found: [Int] = []
        var next = firstFree
        while next != 0, found.count <= Int(slots) {
            found.append(Int(next) - 1)
            next = self.next(Int(next) - 1)
        }
        return found
    }

    /// The slots of the entries in order of insertion, as SIEVE's list has them.
    var inserted: [Int] {
        var found: [Int] = []
        var next = oldest
        while next != 0, next <= slots, found.count <= Int(slots) {
            found.append(Int(next) - 1)
            next = newer(Int(next) - 1)
        }
        return found
    }
}
