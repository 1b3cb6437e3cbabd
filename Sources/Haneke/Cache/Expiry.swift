internal import HanekeStorage
internal import Synchronization

/// How long a value lasts, as it was told when it was stored.
struct Lifetime: Sendable {
    /// From now on; nil is for ever.
    var duration: Duration?
    /// Whether each use starts it anew.
    var slides = false

    /// Beyond this nobody waits for the end, and adding it up could overflow.
    private static let longest = Duration.seconds(1 << 32)

    /// The same, or without end if the end is beyond any use.
    var bounded: Lifetime {
        guard let duration, duration < Self.longest else { return Lifetime() }
        return self
    }
}

/// When a value in memory ends, by the cache's clock.
final class Expiry: Sendable {
    /// What each use adds; nil if it adds nothing.
    let slide: Duration?
    /// Nanoseconds of the clock.
    private let end: Atomic<Int64>

    /// Starts a lifetime that has an end; nil for one without.
    init?(_ lifetime: Lifetime, now: Duration) {
        guard let duration = lifetime.bounded.duration else { return nil }
        slide = lifetime.slides && duration > .zero ? duration : nil
        end = Atomic(Self.nanoseconds(now + duration))
    }

    /// What is left; zero or less when it is over.
    func remaining(now: Duration) -> Duration { .nanoseconds(end.load(ordering: .relaxed)) - now }

    /// A use at that time: starts a sliding lifetime anew; false if it is over.
    func use(now: Duration) -> Bool {
        guard remaining(now: now) > .zero else { return false }
        if let slide { end.store(Self.nanoseconds(now + slide), ordering: .relaxed) }
        return true
    }

    private static func nanoseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
