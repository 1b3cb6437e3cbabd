import HanekeStorage
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A line of the table of reference miss ratios.
struct ReferenceLine: Sendable, CustomTestStringConvertible {
    let trace: ReferenceTrace
    let isBytes: Bool
    let capacity: Int
    let lru: Double
    let s3fifo: Double

    init(_ trace: ReferenceTrace, entries: Int, lru: Double, s3fifo: Double) {
        (self.trace, isBytes, capacity, self.lru, self.s3fifo) = (trace, false, entries, lru, s3fifo)
    }

    init(_ trace: ReferenceTrace, bytes: Int, lru: Double, s3fifo: Double) {
        (self.trace, isBytes, capacity, self.lru, self.s3fifo) = (trace, true, bytes, lru, s3fifo)
    }

    var testDescription: String { "\(trace.rawValue), \(capacity) \(isBytes ? "bytes" : "entries")" }

    /// A million requests a line take a while: only the long rounds ask for them.
    static let isWanted = getenv("HANEKE_LONG") != nil

    /// Lines whose first requests are compared one by one in every run: in bytes, and in entries.
    static let few = [
        ReferenceLine(.zipf099, bytes: 3_619_735, lru: 0.5266, s3fifo: 0.4293),
        ReferenceLine(.recency, entries: 1_001, lru: 0.4249, s3fifo: 0.4474),
    ]

    static let all: [ReferenceLine] =
        few + [
            ReferenceLine(.zipf08, entries: 966, lru: 0.7995, s3fifo: 0.6882),
            ReferenceLine(.zipf08, entries: 9_667, lru: 0.5395, s3fifo: 0.4599),
            ReferenceLine(.zipf099, entries: 82, lru: 0.7432, s3fifo: 0.6192),
            ReferenceLine(.zipf099, entries: 822, lru: 0.5308, s3fifo: 0.4334),
            ReferenceLine(.zipf099, entries: 8_222, lru: 0.2989, s3fifo: 0.2484),
            ReferenceLine(.zipf099, bytes: 36_197_358, lru: 0.2997, s3fifo: 0.2503),
            ReferenceLine(.zipf12, entries: 4_651, lru: 0.1188, s3fifo: 0.0974),
            ReferenceLine(.zipfAndScan, entries: 4_436, lru: 0.6399, s3fifo: 0.5578),
            ReferenceLine(.zipfAndScan, entries: 44_361, lru: 0.5114, s3fifo: 0.4848),
            ReferenceLine(.zipfAndScan, bytes: 192_109_889, lru: 0.5115, s3fifo: 0.4848),
            ReferenceLine(.zipfAndOneHits, entries: 3_444, lru: 0.5822, s3fifo: 0.4928),
            ReferenceLine(.zipfAndOneHits, entries: 34_449, lru: 0.4266, s3fifo: 0.3924),
            ReferenceLine(.loop, entries: 1_100, lru: 1, s3fifo: 1),
            ReferenceLine(.loop, entries: 10_000, lru: 1, s3fifo: 0.1854),
            ReferenceLine(.shift, entries: 958, lru: 0.4071, s3fifo: 0.3429),
            ReferenceLine(.shift, entries: 9_583, lru: 0.1396, s3fifo: 0.1756),
            ReferenceLine(.shift, bytes: 42_530_051, lru: 0.1399, s3fifo: 0.1768),
        ]

    /// What a key weighs against the capacity.
    func weight(of key: Int) -> Int { isBytes ? ReferenceTrace.size(of: key) : 1 }

    /// The requests, by number, that a cache by that policy misses.
    func misses(_ policy: MemoryCacheEvictionPolicy, keys: [Int]) -> [Int] {
        let cache = MemoryCache<Int, Int>(
            countLimit: isBytes ? 0 : capacity, totalCostLimit: isBytes ? capacity : 0, policy: policy)
        return keys.indices.filter { index in
            let key = keys[index]
            guard cache[key] == nil else { return false }
            cache.setValue(key, forKey: key, cost: isBytes ? weight(of: key) : 0)
            return true
        }
    }

    /// The same as a share of all requests.
    func missRatio(_ policy: MemoryCacheEvictionPolicy, keys: [Int]) -> Double {
        Double(misses(policy, keys: keys).count) / Double(keys.count)
    }
}

@Suite("MemoryCache: policies")
struct MemoryCachePolicyTests {
    @Test(
        "M-022: misses are those of the reference, by LRU to 0.0001 and by S3-FIFO to 0.01",
        .enabled(if: ReferenceLine.isWanted), arguments: ReferenceLine.all)
    func reference(line: ReferenceLine) {
        let keys = line.trace.keys()
        #expect(Array(keys.prefix(3)) == line.trace.beginning)
        let lru = line.missRatio(.lru, keys: keys)
        #expect(abs(lru - line.lru) <= 0.0001, "LRU misses \(lru), not \(line.lru)")
        let s3fifo = line.missRatio(.s3fifo, keys: keys)
        #expect(abs(s3fifo - line.s3fifo) <= 0.01, "S3-FIFO misses \(s3fifo), not \(line.s3fifo)")
    }

    @Test(
        "M-022: request by request, misses are those of the policies as they are defined", arguments: ReferenceLine.few)
    func definition(line: ReferenceLine) {
        let keys = line.trace.keys(20_000)
        #expect(Array(keys.prefix(3)) == line.trace.beginning)
        var lru = LRUReference(capacity: line.capacity)
        let lruMisses = keys.indices.filter { lru.misses(keys[$0], weight: line.weight(of: keys[$0])) }
        #expect(line.misses(.lru, keys: keys) == lruMisses)
        var s3fifo = S3FIFOReference(capacity: line.capacity)
        let s3fifoMisses = keys.indices.filter { s3fifo.misses(keys[$0], weight: line.weight(of: keys[$0])) }
        #expect(line.misses(.s3fifo, keys: keys) == s3fifoMisses)
        #expect(s3fifoMisses != lruMisses)
    }

    @Test("M-022: the sizes of the reference are these")
    func sizes() {
        #expect(ReferenceTrace.size(of: 0) == 1455)
        #expect(ReferenceTrace.size(of: 849) == 32379)
    }

    @Test("M-022: by S3-FIFO a scan of new keys leaves what is used often in place")
    func scan() {
        let cache = MemoryCache<Int, Int>(countLimit: 100)
        for key in 0..<50 { cache[key] = key }
        for _ in 0..<2 { for key in 0..<50 { #expect(cache[key] == key) } }
        for key in 1000..<3000 { cache[key] = key }
        #expect((0..<50).allSatisfy { cache.contains($0) })
        #expect(cache.count == 100)
    }

    @Test("M-022: by S3-FIFO a key that comes back soon after its eviction outlives those never asked for")
    func comingBack() {
        let cache = MemoryCache<Int, Int>(countLimit: 100)
        for key in 0..<110 { cache[key] = key }
        #expect(!cache.contains(5))
        cache[5] = 5
        for key in 1000..<1090 { cache[key] = key }
        #expect(cache.contains(5))
    }

    @Test("M-022: a cache of fewer than 64 entries goes by the last use, whatever its policy")
    func few() {
        let cache = MemoryCache<Int, Int>(countLimit: 63)
        for key in 0..<63 { cache[key] = key }
        _ = cache[0]
        cache[63] = 63
        #expect(cache.contains(0))
        #expect(!cache.contains(1))
        #expect(cache.evictionPolicy == .s3fifo)
    }
}
