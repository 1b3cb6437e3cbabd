import CHaneke
import Foundation
import TestSupport
import Testing

/// Random steps against a list: what is there, in exact order of use, and what it is charged.
@Suite struct ModelTests {
    private static let isLong = ProcessInfo.processInfo.environment["HANEKE_LONG"] != nil
    static let seeds = Array(1...UInt64(isLong ? 200 : 12))
    private static let steps = isLong ? 2_000 : 600
    private static let threshold = 4_000

    /// What a bucket must hold, the least recently used first.
    private struct Model {
        var entries: [(key: [UInt8], value: [UInt8])] = []
        var capacity = UInt64.max
        var entriesMax = 0
        var evictions: UInt64 = 0

        static func charge(_ key: [UInt8], _ value: [UInt8]) -> UInt64 {
            Charge.of(keyBytes: key.count, valueBytes: value.count, isBlob: value.count > threshold)
        }

        var bytes: UInt64 { entries.reduce(0) { $0 + Self.charge($1.key, $1.value) } }

        func index(_ key: [UInt8]) -> Int? { entries.firstIndex { $0.key == key } }

        mutating func use(_ key: [UInt8]) -> [UInt8]? {
            guard let index = index(key) else { return nil }
            let entry = entries.remove(at: index)
            entries.append(entry)
            return entry.value
        }

        mutating func evict(bytes more: UInt64 = 0, entries one: Int = 0, keeping kept: [UInt8]? = nil) {
            var held = bytes
            while !entries.isEmpty, held + more > capacity || entriesMax > 0 && entries.count + one > entriesMax {
                guard let oldest = entries.firstIndex(where: { $0.key != kept }) else { return }
                held -= Self.charge(entries[oldest].key, entries[oldest].value)
                entries.remove(at: oldest)
                evictions += 1
            }
        }

        mutating func set(_ key: [UInt8], _ value: [UInt8]) -> hnk_status {
            let charge = Self.charge(key, value)
            let old = index(key)
            guard charge <= capacity else {
                if let old { entries.remove(at: old) }
                return .valueTooLarge
            }
            let oldCharge = old.map { Self.charge(entries[$0].key, entries[$0].value) } ?? 0
            evict(
                bytes: old == nil ? charge : charge > oldCharge ? charge - oldCharge : 0, entries: old == nil ? 1 : 0,
                keeping: old == nil ? nil : key)
            if let index = index(key) { entries.remove(at: index) }
            entries.append((key, value))
            return .ok
        }
    }

    /// Forty keys of all kinds that share prefixes.
    private static let keys: [[UInt8]] = {
        let long = sample(2_000, seed: 40)
        return (0..<24).map { [UInt8($0 % 3), UInt8($0)] }
            + [490, 491, 492, 505, 506, 507, 508, 511, 900, 2_000].map { Array(long.prefix($0)) }
            + (0..<6).map { Array(long.prefix(600)) + [UInt8($0)] }
    }()

    @Test("agrees with a list after every step", arguments: seeds)
    func agrees(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        var generator = SeededGenerator(seed: seed)
        var model = Model()
        var (store, bucket) = try Self.open(directory)
        for step in 0..<Self.steps {
            let at: Comment = "seed \(seed), step \(step)"
            let key = Self.keys.randomElement(using: &generator) ?? []
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<45:
                let value = sample(Int(pow2: Double.random(in: 0..<14, using: &generator)) - 1, seed: UInt64(step))
                #expect(bucket.set(key, value) == model.set(key, value), at)
            case 45..<65:
                #expect(bucket.get(key) == (model.use(key).map { .value($0) } ?? .status(.notFound)), at)
            case 65..<73:
                #expect(bucket.touch(key) == (model.use(key) == nil ? .notFound : .ok), at)
            case 73..<82:
                #expect(bucket.remove(key) == (model.index(key) == nil ? .notFound : .ok), at)
                model.entries.removeAll { $0.key == key }
            case 82..<86:
                let prefix = Array(key.prefix([1, 1, 491, 492, 506, 507, 600].randomElement(using: &generator) ?? 1))
                let expected = model.entries.count { $0.key.starts(with: prefix) }
                let (status, removed) = bucket.removePrefix(prefix)
                #expect(status == .ok && removed == UInt64(expected), at)
                model.entries.removeAll { $0.key.starts(with: prefix) }
            case 86:
                #expect(bucket.removeAll() == .ok, at)
                model.entries = []
            case 87..<92:
                model.capacity =
                    [.max, .max, 100_000, 30_000, 12_000, 5_000, 0].randomElement(using: &generator) ?? .max
                model.entriesMax = [0, 0, 30, 10, 1].randomElement(using: &generator) ?? 0
                let status = bucket.configure {
                    $0.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES
                    $0.capacity_bytes = model.capacity
                    $0.entries_max = UInt64(model.entriesMax)
                }
                #expect(status == .ok, at)
                if model.capacity == 0 { model.entries = [] }
                model.evict()
            case 92..<96:
                let batch = (0..<6).map { number in
                    (
                        key: Self.keys.randomElement(using: &generator) ?? [],
                        value: sample(number * 900, seed: UInt64(step))
                    )
                }
                let expected = batch.map { model.set($0.key, $0.value) }
                let (status, each) = store.apply(
                    batch.map { Step(bucket: bucket, kind: .set, key: $0.key, value: $0.value) })
                #expect(status == .ok && each == expected, at)
            default:
                let wasKilled = Bool.random(using: &generator)
                try Self.close(consume bucket, consume store)
                if wasKilled { try RawState.kill(directory.path) }
                (store, bucket) = try Self.open(directory)
            }
            Self.compare(store, bucket, model, everything: step % 10 == 9, at)
        }
        Self.compare(store, bucket, model, everything: true, "seed \(seed), end")
    }

    private static func open(_ directory: TemporaryDirectory) throws -> (Store, Bucket) {
        let store = try Store(directory.path) { $0.blob_threshold_bytes = UInt64(threshold) }
        return (store, try store.bucket())
    }

    private static func close(_ bucket: consuming Bucket, _ store: consuming Store) throws {}

    private static func compare(_ store: Store, _ bucket: Bucket, _ model: Model, everything: Bool, _ at: Comment) {
        let counted = bucket.statistics()
        #expect(counted.entries == UInt64(model.entries.count) && counted.bytes == model.bytes, at)
        #expect(counted.payload_bytes == model.entries.reduce(0) { $0 + UInt64($1.value.count) }, at)
        #expect(counted.evictions == model.evictions && counted.bytes <= model.capacity, at)
        store.expectSound(at)
        guard everything else { return }
        #expect(bucket.keys(.byAccess) == model.entries.map(\.key), at)
        for (key, value) in model.entries { #expect(bucket.get(key, HNK_GET_QUIET) == .value(value), at) }
    }
}
