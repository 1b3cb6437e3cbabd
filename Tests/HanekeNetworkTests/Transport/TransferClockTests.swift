import Testing

@testable import HanekeNetwork

@Suite("Time limits as a value")
struct TransferClockTests {
    private let start = ContinuousClock.now
    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test("N-089: each phase runs out at its own default")
    func phases() {
        var clock = TransferClock(NetworkTimeouts(), now: start)
        #expect(clock.expired(at: at(9.9)) == nil)
        #expect(clock.expired(at: at(10))?.phase == .connect)
        clock.sent(at: at(5))
        #expect(clock.expired(at: at(34.9)) == nil)
        #expect(clock.expired(at: at(35))?.phase == .firstByte)
        clock.received(10_000, at: at(20))
        #expect(clock.expired(at: at(49.9)) == nil)
        #expect(clock.expired(at: at(50))?.phase == .idle)
        clock.received(1, at: at(49))
        #expect(clock.expired(at: at(59.9)) == nil)
        #expect(clock.expired(at: at(60))?.phase == .attempt)
    }

    @Test("N-098: one byte every ten seconds is given up within 61 s of the first")
    func slowLoris() {
        var limits = NetworkTimeouts()
        limits.attempt = nil
        var clock = TransferClock(limits, now: start)
        clock.sent(at: start)
        for second in stride(from: 0.0, to: 60, by: 10) {
            clock.received(1, at: at(second))
            #expect(clock.expired(at: at(second + 9.9)) == nil)
        }
        #expect(clock.next?.at == at(60))
        #expect(clock.expired(at: at(60.5))?.phase == .slow)
    }

    @Test("N-089: a window that was fast enough begins anew")
    func fastEnough() {
        var limits = NetworkTimeouts()
        limits.attempt = nil
        var clock = TransferClock(limits, now: start)
        clock.sent(at: start)
        clock.received(1, at: start)
        clock.received(6_000, at: at(50))
        #expect(clock.expired(at: at(60)) == nil)
        clock.received(1, at: at(79))
        clock.received(1, at: at(108))
        #expect(clock.expired(at: at(119)) == nil)
        #expect(clock.expired(at: at(120))?.phase == .slow)
    }

    @Test("N-089: silence is nobody's fault while the reader asks for nothing")
    func paused() {
        var limits = NetworkTimeouts()
        limits.attempt = nil
        var clock = TransferClock(limits, now: start)
        clock.sent(at: start)
        clock.received(1, at: start)
        clock.paused()
        #expect(clock.next == nil)
        #expect(clock.expired(at: at(10_000)) == nil)
        clock.resumed(at: at(10_000))
        #expect(clock.expired(at: at(10_029)) == nil)
        #expect(clock.expired(at: at(10_030))?.phase == .idle)
    }

    @Test("N-089: a limit of nil never runs out")
    func unlimited() {
        var limits = NetworkTimeouts()
        limits.connect = nil
        limits.attempt = nil
        let clock = TransferClock(limits, now: start)
        #expect(clock.next == nil)
    }
}
