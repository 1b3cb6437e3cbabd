// Seeded streams of numbers. Every run sees the same ones.
import Foundation

/// SplitMix64.
struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// From 0 up to, not including, 1.
    mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Normally distributed, mean 0, deviation 1 (Box and Muller).
    mutating func normal() -> Double {
        let radius = (-2 * log(1 - unit())).squareRoot()
        return radius * cos(2 * Double.pi * unit())
    }
}

/// Ranks 0 to count - 1, of which the lower are the more frequent.
struct Zipf {
    private let sums: [Double]

    init(count: Int, exponent: Double) {
        var sum = 0.0
        sums = (0..<count).map { rank in
            sum += pow(Double(rank + 1), -exponent)
            return sum
        }
    }

    func draw(_ random: inout SplitMix) -> Int {
        let x = random.unit() * (sums.last ?? 0)
        var low = 0
        var high = sums.count - 1
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > x { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// Proves before each run that the generators are those of the reference.
enum TraceCheck {
    static func run() throws {
        for trace in Trace.allCases {
            let begins = trace.keys(3)
            guard begins == trace.beginning else {
                throw BenchError("the generator \(trace.rawValue) begins with \(begins), not \(trace.beginning)")
            }
        }
    }
}
