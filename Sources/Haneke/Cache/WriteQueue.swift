internal import Dispatch
internal import HanekeStorage
internal import Synchronization

/// Sets and removes on their way to a store: in order, many in one commit, readable while they wait.
///
/// Of several writes of one key only the last is carried out. The queue goes on until it is empty, also when
/// the caches that filled it are gone.
final class WriteQueue: Sendable {
    /// Bytes of pending values from which on ``waitForRoom()`` waits.
    static let capacityBytesDefault = 64 << 20
    /// Most writes in one batch: what a commit costs is spread thin enough by then.
    private static let batchItemsMax = 256
    /// Most bytes in one batch, by what the values hold in memory.
    private static let batchBytesMax = 4 << 20

    /// What a pending write will make of a key.
    enum Pending: Sendable {
        case set(any PendingValue)
        case remove
    }

    struct RecordKey: Hashable, Sendable {
        let bucket: CacheKey
        let key: CacheKey
    }

    /// A step of a batch, in the order of `tick`.
    struct Step: Sendable {
        enum Kind: Sendable {
            case write(CacheKey, Pending)
            case removeAll
            case touch(any NotedUse)
        }

        let tick: UInt64
        let bucket: FormatBucket
        let kind: Kind
    }

    private struct Record {
        let tick: UInt64
        let bucket: FormatBucket
        let pending: Pending
        var bytes: Int
    }

    private enum Item {
        case record(RecordKey)
        case removeAll(FormatBucket)
        case mark
    }

    private struct State {
        var items: [(tick: UInt64, item: Item)] = []
        /// Where `items` starts: what is before has been taken.
        var head = 0
        var records: [RecordKey: Record] = [:]
        /// The first and last ticks of writes that were added together: a batch that holds one of them holds all.
        var groups: [(first: UInt64, last: UInt64)] = []
        /// The latest pending `removeAll` of each bucket.
        var clearings: [CacheKey: UInt64] = [:]
        var bytes = 0
        var capacityBytes = WriteQueue.capacityBytesDefault
        var isDraining = false
        var wantsUses = false
        var marks: [UInt64: @Sendable () -> Void] = [:]
        var waitingForRoom: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// Counts writes and uses, so that both can be put in one order.
    private let ticks = Atomic<UInt64>(0)
    private let useSources = Mutex<[WeakUseSource]>([])
    private let store: DiskStore
    private let queue = DispatchQueue(label: "io.haneke.writes")

    init(store: DiskStore) { self.store = store }

    // MARK: Adding

    /// The next moment in the common order of writes and uses.
    func nextTick() -> UInt64 {
        ticks.add(1, ordering: .relaxed).newValue
    }

    /// Adds writes, each in place of a pending one of the same key; they will be in one batch.
    func add(_ writes: [(pending: Pending, key: CacheKey)], bucket: FormatBucket) {
        guard !writes.isEmpty else { return }
        let bucketKey = CacheKey(bucket.name)
        let sizes = writes.map { if case .set(let value) = $0.pending { value.bytesInMemory } else { 0 } }
        // The replaced values are released after the lock.
        let (replaced, starts) = state.withLock { state -> ([Record], Bool) in
            var replaced: [Record] = []
            for ((pending, key), bytes) in zip(writes, sizes) {
                let recordKey = RecordKey(bucket: bucketKey, key: key)
                let tick = nextTick()
                let former = state.records.updateValue(
                    Record(tick: tick, bucket: bucket, pending: pending, bytes: bytes), forKey: recordKey)
                if let former { replaced.append(former) }
                state.bytes += bytes - (former?.bytes ?? 0)
                state.items.append((tick, .record(recordKey)))
            }
            if writes.count > 1, let last = state.items.last?.tick {
                state.groups.append((state.items[state.items.count - writes.count].tick, last))
            }
            return (replaced, startsDraining(&state))
        }
        withExtendedLifetime(replaced) {}
        if starts { drainInBackground() }
    }

    /// Counts anew what a pending value holds, if it is still the one pending for the key.
    func recount(_ value: any PendingValue, key: CacheKey, bucketName: String) {
        let recordKey = RecordKey(bucket: CacheKey(bucketName), key: key)
        let bytes = value.bytesInMemory
        state.withLock { state in
            guard let record = state.records[recordKey], case .set(let pending) = record.pending, pending === value
            else { return }
            state.records[recordKey]?.bytes = bytes
            state.bytes += bytes - record.bytes
        }
    }

    /// Adds the removal of everything in a bucket.
    ///
    /// Pending writes to it are forgotten.
    func addRemoveAll(bucket: FormatBucket) {
        let (forgotten, starts) = state.withLock { state -> ([Record], Bool) in
            let forgotten = forgetRecords(of: CacheKey(bucket.name), &state)
            let tick = nextTick()
            state.clearings[CacheKey(bucket.name)] = tick
            state.items.append((tick, .removeAll(bucket)))
            return (forgotten, startsDraining(&state))
        }
        withExtendedLifetime(forgotten) {}
        if starts { drainInBackground() }
    }

    /// Forgets what is pending for a bucket, which is about to be dropped.
    func forget(bucketNamed name: String) {
        let (forgotten, continuations) = state.withLock { state in
            state.clearings[CacheKey(name)] = nil
            return (forgetRecords(of: CacheKey(name), &state), takeRoomWaiters(&state))
        }
        withExtendedLifetime(forgotten) {}
        for continuation in continuations { continuation.resume() }
    }

    /// Runs `body` when everything added so far is on disk, on the queue's own thread.
    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            let tick = nextTick()
            state.marks[tick] = body
            state.items.append((tick, .mark))
            state.wantsUses = true
            return startsDraining(&state)
        }
        if starts { drainInBackground() }
    }

    /// Waits until everything added so far is on disk.
    func flush() async {
        await withCheckedContinuation { continuation in whenDone { continuation.resume() } }
    }

    // MARK: Room

    /// Bytes of pending values from which on ``waitForRoom()`` waits.
    var capacityBytes: Int {
        get { state.withLock { $0.capacityBytes } }
        set {
            let continuations = state.withLock { state in
                state.capacityBytes = newValue
                return takeRoomWaiters(&state)
            }
            for continuation in continuations { continuation.resume() }
        }
    }

    /// The bytes of all pending values, about.
    var pendingBytes: Int { state.withLock { $0.bytes } }

    /// Waits until less than the capacity is pending.
    func waitForRoom() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                if state.bytes < state.capacityBytes { return true }
                state.waitingForRoom.append(continuation)
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// How many tasks wait for room.
    var tasksWaitingForRoom: Int { state.withLock { $0.waitingForRoom.count } }

    // MARK: Reading

    /// What is pending for a key; nil if the disk has the last word.
    func pending(_ key: CacheKey, inBucketNamed bucket: String) -> Pending? {
        let bucket = CacheKey(bucket)
        return state.withLock { state in
            if let record = state.records[RecordKey(bucket: bucket, key: key)] { return record.pending }
            return state.clearings[bucket] == nil ? nil : .remove
        }
    }

    /// The tick of the write that is pending for a key; nil if there is none.
    func tickOfPending(_ key: CacheKey, inBucketNamed bucket: String) -> UInt64? {
        state.withLock { $0.records[RecordKey(bucket: CacheKey(bucket), key: key)]?.tick }
    }

    // MARK: Uses

    /// Has the queue ask `source` for uses of values before it writes, as long as `source` exists.
    func addUseSource(_ source: any UseSource) {
        useSources.withLock { sources in
            sources.removeAll { $0.source == nil }
            sources.append(WeakUseSource(source: source))
        }
    }

    /// Has uses brought to the disk soon, although there is nothing to write.
    func bringUses() {
        let starts = state.withLock { state in
            state.wantsUses = true
            return startsDraining(&state)
        }
        if starts { drainInBackground() }
    }

    // MARK: Draining

    /// Stops carrying out writes, after the batch at work, until ``resume()``.
    ///
    /// For tests.
    func suspend() { queue.suspend() }

    /// Goes on after ``suspend()``.
    func resume() { queue.resume() }

    /// How many steps each of the next batches would have, were nothing added or replaced meanwhile.
    ///
    /// For tests.
    func batchSizesAhead() -> [Int] {
        state.withLock { state in
            var copy = state
            var sizes: [Int] = []
            while let batch = Self.takeBatch(&copy) { sizes.append(batch.steps.count) }
            return sizes
        }
    }

    private func startsDraining(_ state: inout State) -> Bool {
        defer { state.isDraining = true }
        return !state.isDraining
    }

    private func drainInBackground() {
        queue.async { self.drain() }
    }

    private func drain() {
        while var batch = takeBatch() {
            let sources = useSources.withLock { $0.compactMap(\.source) }
            let uses = sources.flatMap { $0.takeUses() }
            if !uses.isEmpty {
                batch.steps.append(contentsOf: uses)
                batch.steps.sort { $0.tick < $1.tick }
            }
            WriteBatch(store: store, writes: self, lastTick: batch.lastTick).carryOut(batch.steps)
            complete(batch)
        }
    }

    private struct Batch {
        var steps: [Step] = []
        var marks: [UInt64] = []
        var records: [(RecordKey, UInt64)] = []
        var clearings: [(CacheKey, UInt64)] = []
        var lastTick: UInt64 = 0
    }

    /// The next writes, without those that later ones have made needless; nil if there is nothing to do.
    private func takeBatch() -> Batch? { state.withLock { Self.takeBatch(&$0) } }

    private static func takeBatch(_ state: inout State) -> Batch? {
        guard state.head < state.items.count || state.wantsUses else {
            state.isDraining = false
            return nil
        }
        state.wantsUses = false
        var batch = Batch()
        var bytes = 0
        while state.head < state.items.count {
            let isFull = batch.steps.count >= Self.batchItemsMax || bytes >= Self.batchBytesMax
            if isFull, !isWithinGroup(after: batch.lastTick, &state) { break }
            let (tick, item) = state.items[state.head]
            state.head += 1
            batch.lastTick = tick
            switch item {
            case .record(let recordKey):
                guard let record = state.records[recordKey], record.tick == tick else { continue }
                batch.steps.append(
                    Step(tick: tick, bucket: record.bucket, kind: .write(recordKey.key, record.pending)))
                batch.records.append((recordKey, tick))
                bytes += record.bytes
            case .removeAll(let bucket):
                guard state.clearings[CacheKey(bucket.name)] == tick else { continue }
                batch.steps.append(Step(tick: tick, bucket: bucket, kind: .removeAll))
                batch.clearings.append((CacheKey(bucket.name), tick))
            case .mark:
                batch.marks.append(tick)
            }
        }
        if state.head == state.items.count {
            state.items.removeAll(keepingCapacity: true)
            state.head = 0
        } else if state.head > state.items.count / 2 {
            state.items.removeFirst(state.head)
            state.head = 0
        }
        return batch
    }

    /// Whether the next write was added together with the last one taken.
    private static func isWithinGroup(after tick: UInt64, _ state: inout State) -> Bool {
        while let end = state.groups.first, end.last <= tick { state.groups.removeFirst() }
        guard let group = state.groups.first else { return false }
        return group.first <= tick
    }

    private func complete(_ batch: Batch) {
        let (released, marks, continuations) = state.withLock { state in
            var released: [Record] = []
            for (recordKey, tick) in batch.records where state.records[recordKey]?.tick == tick {
                guard let record = state.records.removeValue(forKey: recordKey) else { continue }
                state.bytes -= record.bytes
                released.append(record)
            }
            for (bucket, tick) in batch.clearings where state.clearings[bucket] == tick {
                state.clearings[bucket] = nil
            }
            let marks = batch.marks.compactMap { state.marks.removeValue(forKey: $0) }
            return (released, marks, takeRoomWaiters(&state))
        }
        withExtendedLifetime(released) {}
        for continuation in continuations { continuation.resume() }
        for mark in marks { mark() }
    }

    private func takeRoomWaiters(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        guard state.bytes < state.capacityBytes else { return [] }
        defer { state.waitingForRoom = [] }
        return state.waitingForRoom
    }

    private func forgetRecords(of bucket: CacheKey, _ state: inout State) -> [Record] {
        let forgotten = state.records.filter { $0.key.bucket == bucket }
        for (recordKey, record) in forgotten {
            state.records[recordKey] = nil
            state.bytes -= record.bytes
        }
        return forgotten.values.map(\.self)
    }
}
