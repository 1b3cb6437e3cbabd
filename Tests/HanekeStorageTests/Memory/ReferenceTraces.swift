// Seeded sequences of requests for which the exact miss ratios of eviction policies are known.

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

enum ReferenceTrace: String, Sendable {
    case zipf08 = "zipf0.8"
    case zipf099 = "zipf0.99"
    case zipf12 = "zipf1.2"
    case zipfAndScan = "zipf+scan"
    case zipfAndOneHits = "zipf+1hit"
    case loop
    case shift
    case recency

    static let length = 1_000_000

    /// What the first three keys must be, for the generator to be the one of the table.
    var beginning: [Int] {
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

    /// The first `length` requests, as keys.
    func keys(_ length: Int = length) -> [Int] {
        switch self {
        case .zipf08: Self.zipf(100_000, 0.8, seed: 1, length) { draw, _, _ in draw() }
        case .zipf099: Self.zipf(100_000, 0.99, seed: 2, length) { draw, _, _ in draw() }
        case .zipf12: Self.zipf(100_000, 1.2, seed: 3, length) { draw, _, _ in draw() }
        case .zipfAndScan: Self.scan(length)
        case .zipfAndOneHits: Self.oneHits(length)
        case .loop: (0..<length).map { $0 % 11_000 }
        case .shift: Self.zipf(20_000, 0.99, seed: 6, length) { draw, _, index in draw() + index / 100_000 * 10_000 }
        case .recency: Self.recent(length)
        }
    }

    /// The size of a key's value: 512 bytes to 512 KiB, the larger the rarer.
    static func size(of key: Int) -> Int {
        var random = SeededRandom(UInt64(key))
        let hash = random.next()
        let exponent = min(9, (~(hash >> 32)).trailingZeroBitCount)
        return (512 << exponent) + Int(hash & ((512 << UInt64(exponent)) - 1))
    }

    private static func scan(_ length: Int) -> [Int] {
        var fresh = 49_999
        return zipf(50_000, 0.99, seed: 4, length) { draw, _, index in
            if index % 1000 < 600 { return draw() }
            fresh += 1
            return fresh
        }
    }

    private static func oneHits(_ length: Int) -> [Int] {
        var fresh = 49_999
        return zipf(50_000, 0.99, seed: 5, length) { draw, unit, _ in
            guard unit() < 0.3 else { return draw() }
            fresh += 1
            return fresh
        }
    }

    private static func recent(_ length: Int) -> [Int] {
        var random = SeededRandom(7)
        var top = 0
        return (0..<length).map { _ in
            let isFresh = unit(&random) < 0.1
            if top == 0 || isFresh {
                top += 1
                return top - 1
            }
            let place = unit(&random)
            let distance = Int(place * place * 2000)
            return distance < top ? top - 1 - distance : 0
        }
    }

    private static func unit(_ random: inout SeededRandom) -> Double { Double(random.next() >> 11) * 0x1p-53 }

    private static func zipf(
        _ count: Int, _ exponent: Double, seed: UInt64, _ length: Int, key: (() -> Int, () -> Double, Int) -> Int
    ) -> [Int] {
        var sum = 0.0
        let sums = (0..<count).map { rank in
            sum += pow(Double(rank + 1), -exponent)
            return sum
        }
        var random = SeededRandom(seed)
        func uniform() -> Double { unit(&random) }
        func draw() -> Int {
            let wanted = uniform() * sum
            var (low, high) = (0, count - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] > wanted { high = middle } else { low = middle + 1 }
            }
            return low
        }
        return (0..<length).map { key(draw, uniform, $0) }
    }
}
