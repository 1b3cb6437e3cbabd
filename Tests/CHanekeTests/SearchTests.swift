import CHaneke
import TestSupport
import Testing

/// Reads find their way through LMDB's pages by themselves: what is there is found, and pages that have gone bad under
/// an open store are told, not followed.
@Suite struct SearchTests {
    /// Rows of many sizes in a tree three levels deep: in pages, in overflow pages, over-long keys, keys that are each
    /// other's beginning.
    private static func keys() -> [[UInt8]] {
        (0..<3_000).map { number in
            switch number % 5 {
            case 0: sample(1 + number % 500, seed: UInt64(number))
            case 1: Array("key".utf8) + [UInt8](repeating: 0, count: number % 300)  // some twice
            case 2: sample(507 + number % 1_500, seed: UInt64(number))
            default: Array("https://example.com/\(number)/\(number % 7)".utf8)
            }
        }
    }

    private static func value(_ key: [UInt8]) -> [UInt8] {
        sample(key.count * 37 % 6_000, seed: UInt64(key.count))
    }

    private static func filled() throws -> (directory: TemporaryDirectory, store: Store, bucket: Bucket) {
        let directory = try TemporaryDirectory()
        let store = try Store(directory.path)
        let bucket = try store.bucket(keeping: directory)
        #expect(
            bucket.configure {
                $0.fields = HNK_FIELD_CHECK
                $0.check_mode = 1
            } == .ok)
        for key in keys() { #expect(bucket.set(key, value(key)) == .ok) }
        return (directory, store, bucket)
    }

    @Test("every key is found, and none that is not there, while the tree grows and shrinks")
    func finds() throws {
        let (_, store, bucket) = try Self.filled()
        let keys = Self.keys()
        let present = Set(keys)
        for key in keys { #expect(bucket.get(key) == .value(Self.value(key))) }
        for key in keys {
            for other in [key + [0], Array(key.dropLast()), [key[0] ^ 1] + key.dropFirst()] where !other.isEmpty {
                guard !present.contains(other) else { continue }
                #expect(bucket.get(other) == .status(.notFound))
            }
        }
        for (number, key) in keys.enumerated() where number % 3 != 0 {
            let removal = bucket.remove(key)
            #expect(removal == .ok || removal == .notFound)
            #expect(bucket.get(key) == .status(.notFound))
        }
        #expect(bucket.removeAll() == .ok)
        #expect(bucket.get(keys[0]) == .status(.notFound))
        store.expectSound()
    }

    /// Changes data.mdb under the open store, reads, and puts it back.
    private static func spoil(
        _ directory: String, _ change: (inout [UInt8]) -> Void, then body: () throws -> Void
    ) throws {
        let path = "\(directory)/data.mdb"
        let whole = try Files.read(path)
        var spoilt = whole
        change(&spoilt)
        try Files.patch(path, at: 0, { $0 = spoilt }, count: whole.count)
        defer { #expect(throws: Never.self) { try Files.patch(path, at: 0, { $0 = whole }, count: whole.count) } }
        try body()
    }

    @Test("pages that were overwritten under an open store are told")
    func overwritten() throws {
        let (directory, store, bucket) = try Self.filled()
        let key = Self.keys()[0]
        #expect(bucket.get(key) == .value(Self.value(key)))
        try Self.spoil(directory.path) { bytes in
            for page in 2..<bytes.count / 4_096 {
                for offset in 0..<16 { bytes[page * 4_096 + offset] = 0xFF }
            }
        } then: {
            for key in Self.keys() { #expect(bucket.get(key) == .status(.damagedStore)) }
            #expect(bucket.peek(key).status == .damagedStore && bucket.touch(key) == .damagedStore)
        }
        #expect(bucket.get(key) == .value(Self.value(key)))
        store.expectSound()
    }

    @Test(
        "whatever bits flip under an open store, reads give the right value or say that there is none", arguments: 1...8
    )
    func flipped(seed: UInt64) throws {
        let (directory, _, bucket) = try Self.filled()
        let keys = Self.keys()
        let expected = keys.map(Self.value)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<12 {
            try Self.spoil(directory.path) { bytes in
                for _ in 0..<bytes.count / 200 {
                    let page = Int.random(in: 2..<bytes.count / 4_096, using: &random)
                    // Heads, pointers and nodes' heads are where a search could be led astray.
                    let offset =
                        Bool.random(using: &random)
                        ? Int.random(in: 0..<120, using: &random) : Int.random(in: 0..<4_096, using: &random)
                    bytes[page * 4_096 + offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            } then: {
                for (key, value) in zip(keys, expected) {
                    switch bucket.get(key) {
                    case .value(let found): #expect(found == value, "seed \(seed)")
                    case .status(let status):
                        #expect([.notFound, .damaged, .damagedStore, .expired].contains(status), "seed \(seed)")
                    }
                }
            }
        }
    }
}
