// What leaves a cache during one call: collected under the lock, reported and released after it.

/// An entry that left.
struct Departure<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    let key: Key
    let value: Value
    let reason: MemoryCacheRemovalReason
    let isDiscardable: Bool
    let isReported: Bool
}

/// The entries that left in one call, in order, and who is to hear of it.
struct Departures<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    var delegate: (any MemoryCacheDelegate<Key, Value>)?
    // Mostly one entry leaves, and then no array is made.
    private var first: Departure<Key, Value>?
    private var rest: [Departure<Key, Value>] = []

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
    func settle(from cache: MemoryCache<Key, Value>, incoming: (any DiscardableContent)? = nil) {
        guard let first else { return }
        settle(first, from: cache, incoming: incoming)
        for departure in rest { settle(departure, from: cache, incoming: incoming) }
    }

    private func settle(
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
