import HanekeStorage
import Synchronization
import Testing

@Suite("Memory pressure")
struct MemoryPressureTests {
    /// Reports what the test tells it to.
    private final class Script: MemoryPressureSignals {
        private let told = Mutex<(@Sendable (MemoryPressureLevel) -> Void)?>(nil)

        func start(_ report: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Bool {
            told.withLock { $0 = report }
            return true
        }

        func tell(_ level: MemoryPressureLevel) { told.withLock { $0 }?(level) }
    }

    private func filled() -> MemoryCache<Int, Int> {
        let cache = MemoryCache<Int, Int>()
        for key in 0..<10 { cache[key] = key }
        return cache
    }

    @Test("M-063: a source tells every cache added, each once")
    func telling() {
        let script = Script()
        let source = MemoryPressureSource(signals: script)
        let (one, other) = (filled(), filled())
        source.add(one)
        source.add(one)
        source.add(other)
        #expect(source.isActive)
        script.tell(.normal)
        #expect(one.count == 10)
        script.tell(.warning)
        #expect(one.count == 5)
        #expect(other.count == 5)
        source.remove(other)
        script.tell(.critical)
        #expect(one.count == 0)
        #expect(other.count == 5)
    }

    @Test("M-063: a source keeps no cache alive, and its signals don't keep the source's list")
    func weakly() {
        let script = Script()
        var source: MemoryPressureSource? = MemoryPressureSource(signals: script)
        var cache: MemoryCache<Int, Int>? = filled()
        weak let gone = cache
        if let cache { source?.add(cache) }
        cache = nil
        #expect(gone == nil)
        script.tell(.critical)
        let kept = filled()
        source?.add(kept)
        source = nil
        script.tell(.critical)
        #expect(kept.count == 10)
    }

    #if os(Linux)
        @Test("M-063: without the kernel's files a source is inactive, no error, and can be told by hand")
        func absent() {
            let signals = SystemPressureSignals(pressurePaths: ["/nowhere/memory"], eventsPath: "/nowhere/events")
            let source = MemoryPressureSource(signals: signals)
            #expect(!source.isActive)
            let cache = filled()
            source.add(cache)
            source.report(.critical)
            #expect(cache.count == 0)
        }
    #endif

    @Test("M-063: a window of 2 s is taken where 1 s is refused; a kernel that refuses both gives nothing")
    func windows() {
        for trigger in PressureTrigger.all {
            #expect(trigger.arm { $0.hasSuffix(" 1000000") ? $0 : nil } != nil)
            #expect(trigger.arm { $0.hasSuffix(" 2000000") ? $0 : nil } != nil)
            #expect(trigger.arm { _ in String?.none } == nil)
        }
        #expect(PressureTrigger.all.map(\.level) == [.warning, .critical])
    }

    @Test("M-063: events of a control group that grow tell a level")
    func events() {
        let before = ControlGroupEvents("low 0\nhigh 3\nmax 1\noom 0\noom_kill 0\nstrange\n")
        #expect(before.level(since: before) == .normal)
        #expect(ControlGroupEvents("high 4\nmax 1").level(since: before) == .warning)
        #expect(ControlGroupEvents("high 3\nmax 2").level(since: before) == .warning)
        #expect(ControlGroupEvents("high 9\nmax 2\noom 1").level(since: before) == .critical)
        #expect(ControlGroupEvents("").level(since: before) == .normal)
    }

    @Test("M-063: the shared source may be inactive here, and takes caches all the same")
    func shared() {
        let cache = filled()
        MemoryPressureSource.shared.add(cache)
        MemoryPressureSource.shared.remove(cache)
        #expect(cache.count == 10)
    }
}
