import CBench

/// Keys that look like URLs, and values: the same in every run.
///
/// A key has 30 to 120 bytes, one in fifty 600 to 2,000. Values are pieces of one random buffer.
final class Corpus {
    let count: Int
    private let keys: UnsafeMutableBufferPointer<UInt8>
    private let offsets: UnsafeMutableBufferPointer<UInt64>
    private let sizes: UnsafeMutableBufferPointer<UInt32>?
    private let payload: UnsafeMutableBufferPointer<UInt8>
    private let valueBytes: Int

    private static let payloadBytes = 8 << 20

    /// All values have `valueBytes`, or each the size that `sizes` says.
    init(count: Int, valueBytes: Int, sizes: [UInt32]? = nil) {
        self.count = count
        self.valueBytes = valueBytes
        var random = SplitMix(seed: 42)
        var text: [UInt8] = []
        var ends: [UInt64] = [0]
        text.reserveCapacity(count * 105)
        ends.reserveCapacity(count + 1)
        for number in 0..<count {
            Self.append(key: number, to: &text, &random)
            ends.append(UInt64(text.count))
        }
        keys = Self.copy(text)
        offsets = Self.copy(ends)
        self.sizes = sizes.map(Self.copy)
        payload = .allocate(capacity: Self.payloadBytes)
        payload.initialize(repeating: 0)
        payload.withMemoryRebound(to: UInt64.self) { words in
            for index in words.indices { words[index] = random.next() }
        }
    }

    deinit {
        keys.deallocate()
        offsets.deallocate()
        sizes?.deallocate()
        payload.deallocate()
    }

    /// For C; valid as long as the corpus.
    var raw: bench_corpus {
        bench_corpus(
            keys: keys.baseAddress, key_offsets: offsets.baseAddress, value_sizes: sizes?.baseAddress,
            value_bytes: UInt32(valueBytes), count: UInt32(count), payload: payload.baseAddress,
            payload_bytes: payload.count)
    }

    func key(_ number: Int) -> bench_bytes {
        bench_bytes(
            data: keys.baseAddress.map { $0 + Int(offsets[number]) }, size: Int(offsets[number + 1] - offsets[number]))
    }

    func valueSize(_ number: Int) -> Int {
        sizes.map { Int($0[number]) } ?? valueBytes
    }

    private static func copy<Element>(_ array: [Element]) -> UnsafeMutableBufferPointer<Element> {
        let copied = UnsafeMutableBufferPointer<Element>.allocate(capacity: array.count)
        _ = copied.initialize(from: array)
        return copied
    }

    private static func append(key number: Int, to text: inout [UInt8], _ random: inout SplitMix) {
        let digits = Array("0123456789abcdef".utf8)
        let drawn = random.next()
        let isLong = drawn % 50 == 0
        let length = Int(isLong ? 600 + (drawn >> 32) % 1401 : 30 + (drawn >> 32) % 91)
        let end = text.count + length
        text += "https://example.net/".utf8
        var bits = random.next()
        while text.count < end - 7 {
            text.append(digits[Int(bits & 15)])
            bits >>= 4
            if bits == 0 { bits = random.next() }
        }
        text.append(UInt8(ascii: "-"))
        for shift in stride(from: 20, through: 0, by: -4) { text.append(digits[number >> shift & 15]) }
    }
}
