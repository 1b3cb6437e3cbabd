import CHaneke
import TestSupport

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Bytes that differ from place to place and from seed to seed.
func sample(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { buffer in
        var at = 0
        while at + 8 <= count {
            buffer.storeBytes(of: generator.next(), toByteOffset: at, as: UInt64.self)
            at += 8
        }
        while at < count {
            buffer[at] = UInt8(truncatingIfNeeded: generator.next())
            at += 1
        }
    }
    return bytes
}

/// What docs/DISK_FORMAT.md, Charge, says an entry counts.
enum Charge {
    static func of(keyBytes: Int, metadataBytes: Int = 0, valueBytes: Int, isBlob: Bool = false, page: Int = 4_096)
        -> UInt64
    {
        let stored = min(keyBytes, 507)
        let isLong = keyBytes > 506
        let rowKey = 4 + stored
        let length = 72 + (isLong ? keyBytes : 0) + metadataBytes + (isBlob ? 0 : valueBytes)
        let largest = (page - 16) / 2 / 2 * 2 - 2
        var charge =
            8 + rowKey + length <= largest
            ? leaf(node(key: rowKey, row: length), page)
            : leaf(node(key: rowKey, row: 8), page) + roundUp(16 + length, page)
        charge += max(1, (stored + 111) / 112) * 136
        if isBlob { charge += roundUp(valueBytes, 4_096) }
        return UInt64(charge)
    }

    private static func node(key: Int, row: Int) -> Int { roundUp(8 + key + row, 2) + 2 }

    private static func leaf(_ node: Int, _ page: Int) -> Int {
        let fit = (page - 16) / node
        return (page * 4 + fit * 3 - 1) / (fit * 3)
    }

    private static func roundUp(_ size: Int, _ unit: Int) -> Int { (size + unit - 1) / unit * unit }
}

/// A store in a directory of its own, for tests that need just one.
struct Fixture {
    let directory: TemporaryDirectory
    let store: Store
    let bucket: Bucket

    init(
        capacity: UInt64 = UInt64.max, entriesMax: UInt64 = 0,
        _ change: (inout hnk_store_options) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        store = try Store(directory.path, change)
        bucket = try store.bucket(keeping: directory) {
            $0.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES
            $0.capacity_bytes = capacity
            $0.entries_max = entriesMax
        }
    }
}
