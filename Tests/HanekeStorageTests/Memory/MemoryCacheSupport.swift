// What the tests of the memory cache share: a clock that stands still, random numbers with a seed, and values, keys
// and delegates that keep account.

import HanekeStorage
import Synchronization

/// A clock that moves when told.
final class ManualClock: MemoryCacheClock {
    private let time = Mutex(Duration.zero)
    var now: Duration { time.withLock { $0 } }
    func advance(by step: Duration) { time.withLock { $0 += step } }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

struct Mishap: Error, Equatable {}

/// A number that threads count up and down.
final class Tally: Sendable {
    private let number: Atomic<Int>
    init(_ number: Int = 0) { self.number = Atomic(number) }
    var value: Int { number.load(ordering: .sequentiallyConsistent) }
    @discardableResult
    func add(_ step: Int) -> Int { number.add(step, ordering: .sequentiallyConsistent).newValue }
}

/// Counts values that live and that have died.
final class Living: Sendable {
    private let numbers = Mutex((count: 0, deaths: 0))
    var count: Int { numbers.withLock { $0.count } }
    var deaths: Int { numbers.withLock { $0.deaths } }
    fileprivate func born() { numbers.withLock { $0.count += 1 } }
    fileprivate func died() {
        numbers.withLock {
            $0.count -= 1
            $0.deaths += 1
        }
    }
}

/// A value whose life is counted.
final class Tracked: Sendable {
    let number: Int
    private let living: Living
    init(_ number: Int, in living: Living) {
        self.number = number
        self.living = living
        living.born()
    }
    deinit { living.died() }
}

/// A value that does something when it is released.
final class Farewell: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}

/// A key object whose hash can be changed, as no key should.
final class ChangeableKey: Hashable, Sendable {
    private let number: Atomic<Int>
    init(_ number: Int) { self.number = Atomic(number) }
    func change(to new: Int) { number.store(new, ordering: .relaxed) }
    private var current: Int { number.load(ordering: .relaxed) }
    static func == (left: ChangeableKey, right: ChangeableKey) -> Bool { left.current == right.current }
    func hash(into hasher: inout Hasher) { hasher.combine(current) }
}

/// A delegate that writes down what it hears, and then may do something with the cache.
final class EvictionLog<Key: Hashable & Sendable, Value: Sendable>: MemoryCacheDelegate {
    struct Line: Sendable {
        let key: Key
        let value: Value
        let reason: MemoryCacheRemovalReason
    }

    private let lines = Mutex<[Line]>([])
    private let reaction: @Sendable (MemoryCache<Key, Value>, Line) -> Void

    init(_ reaction: @escaping @Sendable (MemoryCache<Key, Value>, Line) -> Void = { _, _ in }) {
        self.reaction = reaction
    }

    var all: [Line] { lines.withLock { $0 } }
    var keys: [Key] { all.map(\.key) }
    var reasons: [MemoryCacheRemovalReason] { all.map(\.reason) }

    func cache(
        _ cache: MemoryCache<Key, Value>, willEvict value: Value, forKey key: Key, reason: MemoryCacheRemovalReason
    ) {
        let line = Line(key: key, value: value, reason: reason)
        lines.withLock { $0.append(line) }
        reaction(cache, line)
    }
}
