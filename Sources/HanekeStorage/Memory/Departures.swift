// What leaves a cache during one call: collected under the lock, reported and released after it.

/// An entry that left.
@usableFromInline
struct Departure<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let key: Key
    @usableFromInline let value: Value
    @usableFromInline let reason: MemoryCacheRemovalReason
    @usableFromInline let isDiscardable: Bool
    @usableFromInline let isReported: Bool

    @inlinable
    init(key: Key, value: Value, reason: MemoryCacheRemovalReason, isDiscardable: Bool, isReported: Bool) {
        self.key = key
        self.value = value
        self.reason = reason
        self.isDiscardable = isDiscardable
        self.isReported = isReported
    }
}

/// The entries that left in one call, in order, and who is to hear of it.
@usableFromInline
struct Departures<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var delegate: (any MemoryCacheDelegate<Key, Value>)?
    // Mostly one entry leaves, and then no array is made.
    @usableFromInline var first: Departure<Key, Value>?
    @usableFromInline var rest: [Departure<Key, Value>] = []

    @inlinable
    init() {}

    @inlinable
    mutating func append(_ departure: Departure<Key, Value>) {
        if first == nil {
            first = departure
        } else {
            rest.append(departure)
        }
    }

    /// Calls the delegate and asks discardable content to discard; to be called without the lock.
    ///
    /// - Parameter incoming: Content that the call has stored: when it replaces itself it does not leave.
    @inlinable
    func settle(from cache: MemoryCache<Key, Value>, incoming: (any DiscardableContent)? = nil) {
        guard let first else { return }
        settle(first, from: cache, incoming: incoming)
        for departure in rest { settle(departure, from: cache, incoming: incoming) }
    }

    @inlinable
    func settle(
        _ departure: Departure<Key, Value>, from cache: MemoryCache<Key, Value>, incoming: (any DiscardableContent)?
    ) {
        if departure.isReported {
            delegate?.cache(cache, willEvict: departure.value, forKey: departure.key, reason: departure.reason)
        }
        guard departure.isDiscardable, let content = departure.value as? any DiscardableContent else { return }
        if departure.reason == .replaced, content === incoming { return }
        content.discardIfPossible()
    }
}
