internal import Dispatch
internal import HanekeStorage
internal import Synchronization

/// A format of a cache at work: its memory tier, its bucket, and its fetches in flight.
///
/// Whatever changes a key (set, remove, what a flight brings) does so under one lock: the memory tier, the queue of writes
/// and the flights always agree on which change was the last. Reading from memory takes no part in it.
final class FormatStorage<Value: DataConvertible & DataRepresentable & Sendable>: Sendable {
    /// What a value of unknown size counts in memory until its form as bytes is known.
    ///
    /// In bytes.
    static var assumedCost: Int { 1_024 }

    struct State: Sendable {
        var format: Format<Value>
        var bucket: FormatBucket?
        var flights = FlightTable<Value>()
    }

    let name: String
    let tier: MemoryTier
    let clock: any MemoryCacheClock
    let counters: CacheCounters
    private let disk: DiskTier?
    private let state: Mutex<State>

    init(_ format: Format<Value>, disk: DiskTier?, clock: any MemoryCacheClock, counters: CacheCounters) {
        name = format.name
        self.clock = clock
        self.counters = counters
        self.disk = disk
        tier = MemoryTier(
            values: MemoryCache(
                name: format.name, countLimit: format.memoryCountLimit, totalCostLimit: format.memoryCapacity,
                clock: clock),
            counters: counters, writes: disk?.writes)
        let bucket = disk.map { FormatBucket(name: format.name, store: $0.store, capacityBytes: format.diskCapacity) }
        state = Mutex(State(format: format, bucket: bucket))
        reachesDisk = bucket?.isWritable == true
        disk?.writes.addUseSource(self)
    }

    private var memory: MemoryCache<CacheKey, MemoryRecord> { tier.values }

    private var reachesDisk: Bool {
        get { tier.reachesDisk.load(ordering: .relaxed) }
        set { tier.reachesDisk.store(newValue, ordering: .relaxed) }
    }

    // MARK: The format

    var format: Format<Value> { state.withLock { $0.format } }

    /// The bucket; nil if there is no disk.
    var bucket: FormatBucket? { state.withLock { $0.bucket } }

    /// Opens the bucket, which also brings it under its capacity.
    func openBucket() throws(StoreError) {
        _ = try bucket?.open()
    }

    /// Takes on another description of the format.
    ///
    /// What is stored stays, as far as the new limits allow.
    func replaceFormat(_ format: Format<Value>) throws(StoreError) {
        let bucket = state.withLock { state in
            state.format = format
            return state.bucket
        }
        locked { _ in
            memory.countLimit = format.memoryCountLimit
            memory.totalCostLimit = format.memoryCapacity
        }
        try bucket?.setCapacity(format.diskCapacity)
        reachesDisk = bucket?.isWritable == true
    }

    /// Lets the bucket go: nothing is written from now on, and no flight stores what it brings.
    func retire() -> FormatBucket? {
        reachesDisk = false
        return locked { state in
            state.flights.supersedeAll()
            defer { state.bucket = nil }
            if let bucket = state.bucket { disk?.writes.forget(bucketNamed: bucket.name) }
            return state.bucket
        }
    }

    // MARK: Reading

    /// The value in memory.
    ///
    /// A use of it.
    func valueInMemory(_ key: CacheKey) -> Value? {
        tier.use(key).map { value(of: $0) }
    }

    /// The value of a record of this format's memory tier.
    func value(of record: MemoryRecord) -> Value {
        // Only `insert` fills the tier, with entries of this type.
        unsafeDowncast(record, to: MemoryEntry<Value>.self).value
    }

    /// Whether the key is in memory.
    ///
    /// No use of it.
    func isInMemory(_ key: CacheKey) -> Bool { memory.contains(key) }

    /// What is pending for the key on its way to the disk.
    func pending(_ key: CacheKey) -> WriteQueue.Pending? {
        disk?.writes.pending(key, inBucketNamed: name)
    }

    // MARK: Changing

    /// Stores a value as it is, in both tiers.
    ///
    /// Lifetime nil is the format's.
    func store(_ value: Value, key: CacheKey, lifetime: Duration?) -> (any PendingValue)? {
        locked { state in
            state.flights.supersede(key)
            return store(value, key: key, lifetime: lifetime ?? state.format.lifetime, state)
        }
    }

    /// The same under the lock: for what a flight brings.
    @discardableResult
    func store(_ value: Value, key: CacheKey, lifetime: Duration?, _ state: State) -> (any PendingValue)? {
        let entry = insert(value, key: key, cost: value.memoryCost ?? Self.assumedCost, lifetime: lifetime)
        guard let disk, let bucket = state.bucket, reachesDisk else { return nil }
        let pending = PendingEntry(entry, format: state.format, storage: self)
        disk.writes.add(.set(pending), key: key, bucket: bucket)
        return pending
    }

    /// Waits while the queue of writes is full.
    func waitForRoom() async {
        await disk?.writes.waitForRoom()
    }

    /// Has the queue of writes count anew what a pending value holds.
    func recount(_ pending: any PendingValue, key: CacheKey) {
        disk?.writes.recount(pending, key: key, bucketName: name)
    }

    /// Puts a value in memory.
    ///
    /// Under the lock.
    @discardableResult
    func insert(_ value: Value, key: CacheKey, cost: Int, lifetime: Duration?) -> MemoryEntry<Value> {
        let deadline = lifetime.flatMap { $0 < .seconds(1 << 40) ? clock.now + $0 : nil }
        let entry = MemoryEntry(key: key, value: value, deadline: deadline)
        memory.setValue(entry, forKey: key, cost: cost, lifetime: lifetime)
        return entry
    }

    /// Removes a key from memory now and from disk in its turn.
    func remove(_ key: CacheKey) {
        locked { state in
            state.flights.supersede(key)
            memory.removeValue(forKey: key)
            removeFromDisk(key, state)
        }
    }

    /// Has the record of a key removed.
    ///
    /// Under the lock.
    func removeFromDisk(_ key: CacheKey, _ state: State) {
        guard let disk, let bucket = state.bucket else { return }
        disk.writes.add(.remove, key: key, bucket: bucket)
    }

    /// Removes everything from memory now and from disk in its turn.
    func removeAll() {
        locked { state in
            state.flights.supersedeAll()
            memory.removeAll()
            if let disk, let bucket = state.bucket { disk.writes.addRemoveAll(bucket: bucket) }
        }
    }

    /// The value of the key in memory turned out to take so many bytes as data: counts that, unless it said so itself.
    func learnCost(_ bytes: Int, of entry: MemoryEntry<Value>) {
        guard entry.value.memoryCost == nil else { return }
        locked { _ in
            guard memory.peek(entry.key) === entry else { return }
            memory.setValue(
                entry, forKey: entry.key, cost: bytes, lifetime: entry.deadline.map { $0 - clock.now })
        }
    }

    /// Runs `body` under the lock; what leaves the memory tier meanwhile is released after it, for a value's `deinit` may
    /// use the cache.
    func locked<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let result = state.withLock { body(&$0) }
        tier.releaseDeparted()
        return result
    }

    /// Empties the memory tier; the disk keeps what it has.
    func removeAllFromMemory() {
        locked { _ in memory.removeAll() }
    }

    /// Drops what has expired, from both tiers; the result is how many records went.
    func removeExpired() throws(StoreError) -> Int {
        locked { _ in memory.removeExpired() }
        return try bucket?.open().removeExpired() ?? 0
    }

    // MARK: Uses

    private struct Use: NotedUse {
        let entry: MemoryEntry<Value>
        let storage: FormatStorage

        var key: CacheKey { entry.key }

        func valueToWriteAgain() -> (any PendingValue)? {
            storage.locked { state in
                guard storage.reachesDisk, !entry.staysOffDisk.load(ordering: .relaxed),
                    storage.memory.peek(entry.key) === entry
                else { return nil }
                return PendingEntry(entry, format: state.format, storage: storage)
            }
        }

        func postpone() { storage.tier.note(entry) }
    }
}

extension FormatStorage: UseSource {
    func takeUses() -> [WriteQueue.Step] {
        let records = tier.takeUses()
        guard let bucket, !records.isEmpty else { return [] }
        return records.map { record in
            let entry = unsafeDowncast(record, to: MemoryEntry<Value>.self)
            // First the mark, then the moment: a use in between is noted again rather than lost.
            entry.isNoted.store(false, ordering: .sequentiallyConsistent)
            return WriteQueue.Step(
                tick: entry.lastUse.load(ordering: .sequentiallyConsistent), bucket: bucket,
                kind: .touch(Use(entry: entry, storage: self)))
        }
    }
}
