public import Synchronization

/// Values in memory under keys, within strict limits: the coldest leave first, see ``EvictionPolicy``.
///
/// ```swift
/// let images = MemoryCache<String, Image>(totalCostLimit: 64 << 20)   // costs are bytes here
/// images.setValue(image, forKey: "tree.jpg", cost: image.byteCount)
/// let tree = images["tree.jpg"]
/// ```
///
/// All members may be used from any thread. When a call returns, the count and the total cost are at or under their
/// limits. Reading, setting and removing take constant time; an entry with a lifetime adds a step that grows with the
/// logarithm of the number of entries that have one.
///
/// Values are released, delegates called and contents discarded without a lock held. Only `==` of the keys runs
/// under the lock: it must not use the cache.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Which entries leave first.
    public typealias EvictionPolicy = MemoryCacheEvictionPolicy
    @usableFromInline typealias State = MemoryCacheState<Key, Value>

    /// Which entries leave first when a limit demands it.
    public let evictionPolicy: EvictionPolicy

    @usableFromInline let state: Mutex<State>
    @usableFromInline let clock: any MemoryCacheClock
    /// Whether an entry ever had a lifetime: until then nobody asks for the time.
    @usableFromInline let hasLifetimes = Atomic(false)

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - name: Free text for the reader of a log. Default: empty.
    ///   - countLimit: Largest number of entries; 0 (default) or less is no limit.
    ///   - totalCostLimit: Largest sum of costs, in units of the caller's choice; 0 (default) or less is no limit.
    ///   - policy: Which entries leave first when a limit demands it. Default: ``MemoryCacheEvictionPolicy/s3fifo``.
    ///   - clock: Decides when lifetimes end. Default: the machine's monotonic clock.
    public init(
        name: String = "", countLimit: Int = 0, totalCostLimit: Int = 0,
        policy: EvictionPolicy = .s3fifo, clock: any MemoryCacheClock = SystemMemoryCacheClock()
    ) {
        state = Mutex(State(name: name, countLimit: countLimit, totalCostLimit: totalCostLimit, policy: policy))
        evictionPolicy = policy
        self.clock = clock
    }

    deinit {
        let contents = state.withLock { $0.discardableContents }
        for content in contents { content.discardIfPossible() }
    }

    // MARK: Reading

    /// The value of the key, which becomes the most recently used; nil if there is none, or if it has expired.
    ///
    /// Content that was discarded is dropped and gives nil, see ``evictsObjectsWithDiscardedContent``.
    @inlinable
    public func value(forKey key: Key) -> Value? {
        let hash = key.hashValue
        let now = time()
        var departures = Departures<Key, Value>()
        let found = state.withLock { $0.get(key, hash: hash, now: now, departures: &departures) }
        departures.settle(from: self)
        guard let found else { return nil }
        guard isDiscarded(found) else { return found.value }
        dropDiscarded(found, key: key, hash: hash)
        return nil
    }

    /// The value of the key, without counting as a use of it; nil as for ``value(forKey:)``.
    @inlinable
    public func peek(_ key: Key) -> Value? {
        let hash = key.hashValue
        let now = time()
        let found = state.withLock { $0.peek(key, hash: hash, now: now) }
        guard let found, !isDiscarded(found) else { return nil }
        return found.value
    }

    /// Whether the key has a value, without counting as a use of it.
    @inlinable
    public func contains(_ key: Key) -> Bool {
        peek(key) != nil
    }

    /// The value of the key, as with ``value(forKey:)``; setting costs nothing and lasts for ever, nil removes.
    @inlinable
    public subscript(key: Key) -> Value? {
        get { value(forKey: key) }
        set {
            if let newValue {
                setValue(newValue, forKey: key)
            } else {
                removeValue(forKey: key)
            }
        }
    }

    // MARK: Writing

    /// Stores a value, in place of the key's former one, as the most recently used.
    ///
    /// Makes room if a limit demands it, but never at the new entry's own expense: entries whose lifetime is over go
    /// first, then the coldest by the policy. To lower the cost only entries that cost something go.
    ///
    /// - Parameters:
    ///   - value: The value, held strongly until it leaves.
    ///   - key: The key, kept as given. A key object must not change its hash while it is in use here: its entry
    ///     would no longer be found, and leave as the coldest in the end.
    ///   - cost: What the entry counts against ``totalCostLimit``. Default 0; negative counts as 0.
    ///   - lifetime: How long the entry lasts; zero or less is over at once. Default nil: no end.
    /// - Returns: False if the cost alone exceeds the limit. Then nothing is stored or evicted, but a former
    ///   value of the key is removed, for it is out of date.
    @inlinable
    @discardableResult
    public func setValue(_ value: Value, forKey key: Key, cost: Int = 0, lifetime: Duration? = nil) -> Bool {
        store(value, forKey: key, cost: cost, lifetime: lifetime, from: nil)
    }

    /// Removes the key's entry and returns its value; nil if there is none, or if it has expired.
    ///
    /// Discardable content is asked to discard when it leaves: begin an access first if you go on using it.
    @inlinable
    @discardableResult
    public func removeValue(forKey key: Key) -> Value? {
        let hash = key.hashValue
        let now = time()
        var departures = Departures<Key, Value>()
        let value = state.withLock { $0.remove(key, hash: hash, now: now, departures: &departures) }
        departures.settle(from: self)
        return value
    }

    // MARK: Helpers of this and the extensions

    /// Stores a value that the caller sets, or that a flight brings.
    @inlinable
    @discardableResult
    func store(
        _ value: Value, forKey key: Key, cost: Int, lifetime: Duration?, from flight: Flight<Key, Value>?
    ) -> Bool {
        if lifetime != nil { hasLifetimes.store(true, ordering: .relaxed) }
        let now = time()
        let content = value as? any DiscardableContent
        let incoming = State.Incoming(
            key: key, hash: key.hashValue, value: value, cost: max(0, cost),
            deadline: lifetime.flatMap { deadline(after: $0, from: now) }, isDiscardable: content != nil,
            flight: flight)
        var departures = Departures<Key, Value>()
        let isStored = state.withLock { $0.set(incoming, now: now, departures: &departures) }
        departures.settle(from: self, incoming: content)
        return isStored
    }

    /// The time; not asked for while no entry ever had a lifetime.
    @inlinable
    func time() -> Duration {
        hasLifetimes.load(ordering: .relaxed) ? clock.now : .zero
    }

    /// The end of a lifetime, or nil if it is beyond any use: adding it up could overflow.
    @usableFromInline
    func deadline(after lifetime: Duration, from now: Duration) -> Duration? {
        let longest = Duration.seconds(1 << 40)
        return lifetime < longest ? now + max(.zero, lifetime) : nil
    }

    @inlinable
    func isDiscarded(_ found: State.Found) -> Bool {
        guard found.mayBeDiscarded, let content = found.value as? any DiscardableContent else { return false }
        return content.isDiscarded
    }

    /// Drops an entry found discarded, unless the key has a new one by now; what counted as a hit was a miss.
    @usableFromInline
    func dropDiscarded(_ found: State.Found, key: Key, hash: Int) {
        var departures = Departures<Key, Value>()
        state.withLock { state in
            state.statistics.hits -= 1
            state.statistics.misses += 1
            state.remove(key, hash: hash, id: found.id, reason: .discarded, departures: &departures)
        }
        departures.settle(from: self)
    }
}
