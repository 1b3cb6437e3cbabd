// The time limits of one transfer as a pure value: told what happens and when, it says what has run out.

struct TransferClock {
    typealias Instant = ContinuousClock.Instant

    private enum Stage { case connecting, waiting, receiving, paused }

    private let limits: NetworkTimeouts
    private let started: Instant
    private var stage = Stage.connecting
    /// When the present stage, or its last byte, began to count.
    private var mark: Instant
    private var windowStart: Instant
    private var windowBytes = 0

    init(_ limits: NetworkTimeouts, now: Instant) {
        self.limits = limits
        started = now
        mark = now
        windowStart = now
    }

    /// The connection stands, or a piece of the request's body went out: the wait for the answer begins.
    mutating func sent(at now: Instant) {
        stage = .waiting
        mark = now
    }

    mutating func received(_ bytes: Int, at now: Instant) {
        if stage != .receiving { startWindow(now) }
        stage = .receiving
        mark = now
        if let slow = limits.slow, now - windowStart >= slow, isFastEnough { startWindow(now) }
        windowBytes += bytes
    }

    /// The reader asks for nothing: the server is not to blame for silence.
    mutating func paused() { stage = .paused }

    mutating func resumed(at now: Instant) {
        guard stage == .paused else { return }
        stage = .receiving
        mark = now
        startWindow(now)
    }

    /// The limit that runs out next, and when.
    var next: (phase: NetworkTimeouts.Phase, limit: Duration, at: Instant)? {
        var soonest: (phase: NetworkTimeouts.Phase, limit: Duration, at: Instant)?
        func consider(_ phase: NetworkTimeouts.Phase, _ limit: Duration?, since: Instant) {
            guard let limit else { return }
            let at = since.advanced(by: limit)
            if soonest.map({ at < $0.at }) ?? true { soonest = (phase, limit, at) }
        }
        switch stage {
        case .connecting: consider(.connect, limits.connect, since: started)
        case .waiting: consider(.firstByte, limits.firstByte, since: mark)
        case .receiving:
            consider(.idle, limits.idle, since: mark)
            consider(.slow, limits.slow, since: windowStart)
        case .paused: break
        }
        consider(.attempt, limits.attempt, since: started)
        return soonest
    }

    /// The limit that has run out, if one has.
    ///
    /// A window that was fast enough is begun anew instead.
    mutating func expired(at now: Instant) -> (phase: NetworkTimeouts.Phase, limit: Duration)? {
        while let next, next.at <= now {
            guard next.phase == .slow, isFastEnough else { return (next.phase, next.limit) }
            startWindow(now)
        }
        return nil
    }

    private var isFastEnough: Bool {
        guard let slow = limits.slow else { return true }
        return Double(windowBytes) >= Double(limits.slowBytesPerSecond) * (slow / .seconds(1))
    }

    private mutating func startWindow(_ now: Instant) {
        windowStart = now
        windowBytes = 0
    }
}
