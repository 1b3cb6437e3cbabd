import CHaneke
import Foundation
import TestSupport
import Testing

/// Random steps against plain SIEVE: what is there, its order, the hand, and what was read.
@Suite struct SieveModelTests {
    private static let isLong = ProcessInfo.processInfo.environment["HANEKE_LONG"] != nil
    static let seeds = Array(1...UInt64(isLong ? 200 : 16))
    private static let steps = isLong ? 2_000 : 500
    private static let threshold = 4_000

    /// Forty keys, of one cell and of more.
    private static let keys: [[UInt8]] = {
        let long = sample(506, seed: 40)
        return (0..<28).map { [UInt8($0 % 3), UInt8($0)] }
            + [112, 113, 224, 225, 336, 448, 449, 506].map { Array(long.prefix($0)) }
            + (0..<4).map { Array(long.prefix(150)) + [UInt8($0)] }
    }()

    /// A store with two handles to its bucket.
    private struct Handles {
        let store: Store
        let buckets: [Bucket]

        init(_ directory: TemporaryDirectory) throws {
            store = try Store(directory.path) { $0.blob_threshold_bytes = UInt64(threshold) }
            buckets = [try store.bucket(), try Store(directory.path).bucket()]
        }
    }

    @Test("agrees with plain SIEVE after every step", arguments: seeds)
    func agrees(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        var generator = SeededGenerator(seed: seed)
        var model = SieveModel(blobThreshold: Self.threshold)
        var handles = try Handles(directory)
        try Self.makeBlocked(directory)
        #expect(Self.setOrder(sieve: true, of: handles.buckets[0]) == .ok)
        for step in 0..<Self.steps {
            let at: Comment = "seed \(seed), step \(step)"
            let handle = Int.random(in: 0...1, using: &generator)
            let key = Self.key(&generator)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<40:
                let value = Self.value(&generator, step)
                #expect(handles.buckets[handle].set(key, value) == model.set(key, value), at)
            case 40..<58:
                #expect(
                    handles.buckets[handle].get(key) == (model.use(key).map { .value($0) } ?? .status(.notFound)), at)
            case 58..<63:
                #expect(handles.buckets[handle].touch(key) == (model.use(key) == nil ? .notFound : .ok), at)
            case 63..<66:
                #expect(handles.buckets[handle].peek(key).status == (model.find(key) == nil ? .notFound : .ok), at)
            case 66..<74:
                #expect(handles.buckets[handle].remove(key) == model.remove(key), at)
            case 74..<77:
                let prefix = Array(key.prefix([1, 2, 112, 150].randomElement(using: &generator) ?? 1))
                let (status, removed) = handles.buckets[handle].removePrefix(prefix)
                #expect(status == .ok && removed == model.removePrefix(prefix), at)
            case 77:
                #expect(handles.buckets[handle].removeAll() == .ok, at)
                _ = model.removePrefix([])
            case 78..<82:
                let capacity: UInt64 = [.max, .max, 60_000, 30_000, 12_000, 0].randomElement(using: &generator) ?? .max
                let entriesMax = [0, 0, 25, 12, 4, 1].randomElement(using: &generator) ?? 0
                #expect(Self.configure(handles.buckets[handle], capacity, entriesMax) == .ok, at)
                model.configure(capacity: capacity, entriesMax: entriesMax)
            case 82..<84:
                let isSieve = Int.random(in: 0..<3, using: &generator) > 0
                #expect(Self.setOrder(sieve: isSieve, of: handles.buckets[handle]) == .ok, at)
                model.setOrder(sieve: isSieve)
            case 84..<89:
                let batch = Self.batch(&generator, handles.buckets[handle], step)
                let expected = batch.map { Self.carryOut($0, on: &model) }
                let (status, each) = handles.store.apply(batch)
                #expect(status == .ok && each == expected, at)
            case 89..<95:
                try Self.abort(
                    Self.batch(&generator, handles.buckets[handle], step), handles.store, directory, &model, at)
            default:
                let kind = Int.random(in: 0..<4, using: &generator)
                try Self.close(consume handles)
                try Self.leave(directory, as: kind)
                handles = try Handles(directory)
                if kind > 1 { model.remake() }
            }
            try Self.compare(handles, directory, model, at)
        }
    }

    private static func key(_ generator: inout SeededGenerator) -> [UInt8] {
        keys.randomElement(using: &generator) ?? []
    }

    /// Which of them it is: short in a failure's words.
    private static func number(_ key: [UInt8]) -> Int { keys.firstIndex(of: key) ?? -1 }

    private static func value(_ generator: inout SeededGenerator, _ step: Int) -> [UInt8] {
        sample(Int(pow2: Double.random(in: 0..<11.9, using: &generator)) - 1, seed: UInt64(step))
    }

    private static func configure(_ bucket: Bucket, _ capacity: UInt64, _ entriesMax: Int) -> hnk_status {
        bucket.configure {
            $0.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES
            $0.capacity_bytes = capacity
            $0.entries_max = UInt64(entriesMax)
        }
    }

    private static func setOrder(sieve: Bool, of bucket: Bucket) -> hnk_status {
        bucket.configure {
            $0.fields = HNK_FIELD_EVICTION
            $0.eviction = (sieve ? hnk_eviction.sieve : .leastRecentlyUsed).rawValue
        }
    }

    /// Sets and removes.
    private static func batch(_ generator: inout SeededGenerator, _ bucket: Bucket, _ step: Int) -> [Step] {
        (0..<Int.random(in: 1...8, using: &generator)).map { _ in
            Int.random(in: 0..<4, using: &generator) == 0
                ? Step(bucket: bucket, kind: .remove, key: key(&generator))
                : Step(bucket: bucket, kind: .set, key: key(&generator), value: value(&generator, step))
        }
    }

    private static func carryOut(_ step: Step, on model: inout SieveModel) -> hnk_status {
        step.kind == .remove ? model.remove(step.key) : model.set(step.key, step.value)
    }

    /// A folder of blobs that none can be placed in: files stand where its folders go.
    private static func makeBlocked(_ directory: TemporaryDirectory) throws {
        let blocked = directory.path("blocked")
        try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
        for number in 0..<256 {
            try Files.write([], to: "\(blocked)/\(number < 16 ? "0" : "")\(String(number, radix: 16))")
        }
    }

    /// A batch whose last value can't be placed in its file, so that nothing of it counts.
    private static func abort(
        _ batch: [Step], _ store: Store, _ directory: TemporaryDirectory, _ model: inout SieveModel, _ at: Comment
    ) throws {
        let last = Step(bucket: batch[0].bucket, kind: .set, key: keys[7], value: sample(threshold + 1))
        guard model.charge(last.key, last.value) <= model.capacity else { return }
        let (blobs, blocked) = (directory.path("blobs"), directory.path("blocked"))
        if Files.exists(blobs) { try Files.move(blobs, to: blobs + ".aside") }
        try Files.move(blocked, to: blobs)
        let (status, _) = store.apply(batch + [last])
        #expect(status == .notADirectory, at)
        try Files.move(blobs, to: blocked)
        if Files.exists(blobs + ".aside") { try Files.move(blobs + ".aside", to: blobs) }
        model.abort { model in
            for step in batch { _ = carryOut(step, on: &model) }
            _ = model.set(last.key, last.value, fails: true)
        }
    }

    private static func close(_ handles: consuming Handles) throws {}

    /// Closed (0), killed between writes (1) and in one (2), gone with the system (3).
    private static func leave(_ directory: TemporaryDirectory, as kind: Int) throws {
        switch kind {
        case 1: try RawState.kill(directory.path)
        case 2: try Files.patch(RawSlots.path(directory.path), at: 72) { $0.set(UInt64(1), at: 0) }
        case 3: try RawState.crash(directory.path)
        default: break
        }
    }

    /// The first disagreement ends the seed: all that follows would be its consequence.
    private static func compare(
        _ handles: Handles, _ directory: TemporaryDirectory, _ model: SieveModel, _ at: Comment
    ) throws {
        let bucket = handles.buckets[0]
        handles.store.expectSound(at)
        let counted = bucket.statistics()
        #expect(counted.entries == UInt64(model.entries.count) && counted.bytes == model.bytes, at)
        #expect(counted.evictions == model.evictions && counted.bytes <= model.capacity, at)
        try #require(bucket.keys().map(number).sorted() == model.entries.map { number($0.key) }.sorted(), at)
        for entry in model.entries { #expect(bucket.get(entry.key, HNK_GET_QUIET) == .value(entry.value), at) }
        guard model.isSieve else { return }
        let slots = try RawSlots(directory.path)
        let inserted = slots.inserted
        try #require(inserted.map { number(slots.key($0)) } == model.entries.map { number($0.key) }, at)
        try #require(inserted.map(slots.isVisited) == model.entries.map(\.isVisited), at)
        try #require(
            (slots.hand == 0 ? nil : number(slots.key(Int(slots.hand) - 1))) == model.hand.map { number($0.key) }, at)
    }
}
