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
    let counters = CacheCounters()
    private let disk: DiskTier?
    private let state: Mutex<State>

    init(_ format: Format<Value>, disk: DiskTier?, clock: any MemoryCacheClock) {
        name = format.name
        self.clock = clock
        self.disk = disk
        tier = MemoryTier(
            values: MemoryCache(
                name: format.name, countLimit: format.memoryCountLimit, totalCostLimit: format.memoryCapacity,
                clock: clock),
            counters: counters, clock: clock, writes: disk?.writes)
        let bucket = disk.map { FormatBucket(name: format.name, store: $0.store, options: format.bucketOptions) }
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

    /// Takes on another description of the format; its limits count from ``applyLimits()`` on.
    func describe(as format: Format<Value>) {
        state.withLock { $0.format = format }
    }

    /// Brings both tiers under the limits of the format.
    ///
    /// What is stored stays, as far as they allow.
    func applyLimits() throws(StoreError) {
        let (format, bucket) = locked { state in
            memory.countLimit = state.format.memoryCountLimit
            memory.totalCostLimit = state.format.memoryCapacity
            return (state.format, state.bucket)
        }
        try bucket?.configure(format.bucketOptions)
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
    func isInMemory(_ key: CacheKey) -> Bool { tier.contains(key) }

    /// Drops the key's value from memory if its sliding lifetime is over.
    ///
    /// Under the lock.
    func dropIfOver(_ key: CacheKey) {
        if memory.peek(key) != nil, !tier.contains(key) { memory.removeValue(forKey: key) }
    }

    /// What is pending for the key on its way to the disk.
    func pending(_ key: CacheKey) -> WriteQueue.Pending? {
        disk?.writes.pending(key, inBucketNamed: name)
    }

    // MARK: Changing

    /// Stores values as they are, in both tiers, and on disk in one commit.
    ///
    /// Lifetime nil is the format's.
    func store(_ values: [(key: CacheKey, value: Value)], lifetime: Lifetime?) -> [(any PendingValue)?] {
        locked { state in
            for (key, _) in values { state.flights.supersede(key) }
            return store(values, lifetime: lifetime, state)
        }
    }

    /// The same under the lock: for what a flight brings.
    ///
    /// - Parameter inMemory: Whether memory gets the values, too; without a disk nothing is stored then.
    func store(
        _ values: [(key: CacheKey, value: Value)], lifetime: Lifetime?, inMemory: Bool = true, _ state: State
    ) -> [(any PendingValue)?] {
        let lifetime = lifetime ?? state.format.lifetimeOfValues
        let entries = values.map { key, value in
            if inMemory {
                return insert(value, key: key, cost: value.memoryCost ?? Self.assumedCost, lifetime: lifetime)
            }
            memory.removeValue(forKey: key)
            return entry(value, key: key, lifetime: lifetime)
        }
        guard let disk, let bucket = state.bucket, reachesDisk else { return values.map { _ in nil } }
        let pending = entries.map { PendingEntry($0, format: state.format, storage: self) }
        disk.writes.add(pending.map { (.set($0), $0.entry.key) }, bucket: bucket)
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
    func insert(_ value: Value, key: CacheKey, cost: Int, lifetime: Lifetime) -> MemoryEntry<Value> {
        let entry = entry(value, key: key, lifetime: lifetime)
        memory.setValue(entry, forKey: key, cost: cost, lifetime: lifetimeInMemory(of: entry))
        return entry
    }

    private func entry(_ value: Value, key: CacheKey, lifetime: Lifetime) -> MemoryEntry<Value> {
        MemoryEntry(key: key, value: value, expiry: Expiry(lifetime, now: clock.now))
    }

    /// What the memory cache is to know of a lifetime: of one that slides the entry itself knows the end.
    private func lifetimeInMemory(of entry: MemoryEntry<Value>) -> Duration? {
        guard let expiry = entry.expiry, expiry.slide == nil else { return nil }
        return expiry.remaining(now: clock.now)
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
        disk.writes.add([(.remove, key)], bucket: bucket)
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
            memory.setValue(entry, forKey: entry.key, cost: bytes, lifetime: lifetimeInMemory(of: entry))
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

extension FormatStorage: MemoryPressureResponder {
    /// Both levels of shortage empty the memory tier; the disk serves what is fetched next.
    func handlePressure(_ level: MemoryPressureLevel) {
        if level != .normal { removeAllFromMemory() }
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
