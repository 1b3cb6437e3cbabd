// Numbers out of many: medians over rounds, tails over operations.

extension Array where Element == Double {
    /// The value under which `share` (0 to 1) of all lie; 0 of none.
    func quantile(_ share: Double) -> Double {
        guard !isEmpty else { return 0 }
        let ordered = sorted()
        let place = share * Double(count - 1)
        let low = Int(place)
        let high = Swift.min(low + 1, count - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - Double(low))
    }

    var median: Double { quantile(0.5) }

    /// Half of the values lie within this share of the median.
    var spread: Double { median == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / median }
}

/// The times that single operations took, in nanoseconds.
struct Latencies {
    private var samples: [UInt32] = []

    mutating func add(_ more: some Sequence<UInt32>) {
        samples += more
    }

    /// p50, p99, p99.9 and the longest, in microseconds; nothing if nothing was timed.
    var measures: [Measure] {
        guard !samples.isEmpty else { return [] }
        let ordered = samples.sorted()
        func at(_ share: Double) -> Double {
            Double(ordered[Swift.min(ordered.count - 1, Int(share * Double(ordered.count)))]) / 1000
        }
        return [
            Measure("p50 µs", at(0.5)), Measure("p99 µs", at(0.99)), Measure("p99.9 µs", at(0.999)),
            Measure("max µs", at(1)),
        ]
    }

    /// The time that `share` of all operations kept to, in milliseconds.
    func milliseconds(_ share: Double) -> Double {
        guard !samples.isEmpty else { return 0 }
        return Double(samples.sorted()[Swift.min(samples.count - 1, Int(share * Double(samples.count)))]) / 1e6
    }
}
