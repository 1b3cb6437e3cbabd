// Seeded traces of requests for which the exact miss ratios of policies are known.

enum Trace: String, CaseIterable {
    case zipf08 = "zipf0.8"
    case zipf099 = "zipf0.99"
    case zipf12 = "zipf1.2"
    case zipfAndScan = "zipf+scan"
    case zipfAndOneHits = "zipf+1hit"
    case loop
    case shift
    case recency

    static let length = 1_000_000

    /// What the first three keys must be.
    var beginning: [UInt32] {
        switch self {
        case .zipf08: [8106, 26777, 87468]
        case .zipf099: [849, 5510, 895]
        case .zipf12: [0, 91, 33]
        case .zipfAndScan: [89, 15583, 10834]
        case .zipfAndOneHits: [3344, 50000, 50001]
        case .loop: [0, 1, 2]
        case .shift: [1450, 68, 0]
        case .recency: [0, 1, 0]
        }
    }

    /// The first `count` requests.
    func keys(_ count: Int = length) -> [UInt32] {
        var fresh: UInt32 = 50_000
        func takeFresh() -> UInt32 {
            defer { fresh += 1 }
            return fresh
        }
        switch self {
        case .zipf08: return Self.draws(100_000, 0.8, seed: 1, count)
        case .zipf099: return Self.draws(100_000, 0.99, seed: 2, count)
        case .zipf12: return Self.draws(100_000, 1.2, seed: 3, count)
        case .zipfAndScan:
            var random = SplitMix(seed: 4)
            let zipf = Zipf(count: 50_000, exponent: 0.99)
            return (0..<count).map { $0 % 1000 < 600 ? UInt32(zipf.draw(&random)) : takeFresh() }
        case .zipfAndOneHits:
            var random = SplitMix(seed: 5)
            let zipf = Zipf(count: 50_000, exponent: 0.99)
            return (0..<count).map { _ in random.unit() < 0.3 ? takeFresh() : UInt32(zipf.draw(&random)) }
        case .loop: return (0..<count).map { UInt32($0 % 11_000) }
        case .shift:
            let draws = Self.draws(20_000, 0.99, seed: 6, count)
            return draws.enumerated().map { $1 + UInt32($0 / 100_000 * 10_000) }
        case .recency: return Self.recent(count)
        }
    }

    /// The size of a key's value: 512 bytes to 512 KiB, the larger the rarer.
    static func size(of key: UInt32) -> Int {
        let hash = SplitMix.mix(UInt64(key) &+ 0x9E37_79B9_7F4A_7C15)
        let exponent = min(9, (~(hash >> 32)).trailingZeroBitCount)
        return (512 << exponent) + Int(hash & ((512 << UInt64(exponent)) - 1))
    }

    private static func draws(_ keys: Int, _ exponent: Double, seed: UInt64, _ count: Int) -> [UInt32] {
        var random = SplitMix(seed: seed)
        let zipf = Zipf(count: keys, exponent: exponent)
        return (0..<count).map { _ in UInt32(zipf.draw(&random)) }
    }

    /// New keys, and keys made not long ago.
    private static func recent(_ count: Int) -> [UInt32] {
        var random = SplitMix(seed: 7)
        var top: UInt32 = 0
        return (0..<count).map { _ in
            let isFresh = random.unit() < 0.1
            if top == 0 || isFresh {
                top += 1
                return top - 1
            }
            let place = random.unit()
            let distance = UInt32(place * place * 2000)
            return distance < top ? top - 1 - distance : 0
        }
    }
}
