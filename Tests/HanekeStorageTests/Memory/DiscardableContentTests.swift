import HanekeStorage
import Synchronization
import Testing

@Suite("MemoryCache: discardable content")
struct DiscardableContentTests {
    @Test("M-050: content is asked through the four members, and counts its accesses")
    func members() {
        let content = Pages()
        #expect(!content.isDiscarded)
        #expect(content.beginAccess())
        content.discardIfPossible()
        #expect(!content.isDiscarded)
        content.endAccess()
        content.discardIfPossible()
        #expect(content.isDiscarded)
        #expect(!content.beginAccess())
    }

    @Test("M-051: discarded content reads as nil and is dropped with its reason")
    func dropped() {
        let cache = MemoryCache<String, Pages>()
        let log = EvictionLog<String, Pages>()
        cache.delegate = log
        let content = Pages()
        cache.setValue(content, forKey: "a", cost: 5)
        #expect(cache["a"] === content)
        content.discardIfPossible()
        #expect(cache.peek("a") == nil)
        #expect(!cache.contains("a"))
        #expect(cache.count == 1)
        #expect(cache["a"] == nil)
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(log.reasons == [.discarded])
        #expect(cache.statistics.discarded == 1)
        #expect(cache.statistics.hits == 1)
        #expect(cache.statistics.misses == 1)
    }

    @Test("M-051: content behind an existential or a base class counts too")
    func existential() {
        let anything = MemoryCache<String, any Sendable>()
        let content = Pages()
        anything["a"] = content
        content.discardIfPossible()
        #expect(anything["a"] == nil)
        let protocols = MemoryCache<String, any DiscardableContent>()
        protocols["a"] = content
        #expect(protocols["a"] == nil)
    }

    @Test("M-051: a fresh value set while the old one is found discarded stays")
    func overtaken() {
        let cache = MemoryCache<String, Pages>()
        let fresh = Pages()
        let content = Pages { cache["a"] = fresh }
        cache["a"] = content
        content.discardIfPossible()
        #expect(cache["a"] == nil)
        #expect(cache["a"] === fresh)
        #expect(cache.statistics.discarded == 0)
    }

    @Test("M-051: a fresh value in a cache that was emptied meanwhile stays too")
    func overtakenAfterEmptying() {
        let cache = MemoryCache<String, Pages>()
        let emptyings: [@Sendable () -> Void] = [{ cache.removeAll() }, { cache.handlePressure(.critical) }]
        for empty in emptyings {
            cache.removeAll()
            let fresh = Pages()
            let content = Pages {
                empty()
                cache["a"] = fresh
            }
            cache["a"] = content
            content.discardIfPossible()
            #expect(cache["a"] == nil)
            #expect(cache["a"] === fresh)
        }
    }

    @Test("M-052: with the flag off, discarded content is returned as it is")
    func flagOff() {
        let cache = MemoryCache<String, Pages>()
        cache.evictsObjectsWithDiscardedContent = false
        let content = Pages()
        cache["a"] = content
        content.discardIfPossible()
        #expect(cache["a"] === content)
        #expect(cache.peek("a") === content)
        cache.evictsObjectsWithDiscardedContent = true
        #expect(cache["a"] == nil)
    }

    @Test("M-053: content is asked to discard once, whatever makes it leave")
    func leaving() {
        let clock = ManualClock()
        let cache = MemoryCache<Int, Pages>(countLimit: 10, totalCostLimit: 10, clock: clock)
        var all: [Pages] = []
        func put(_ key: Int, cost: Int = 0, lifetime: Duration? = nil) {
            let content = Pages()
            all.append(content)
            cache.setValue(content, forKey: key, cost: cost, lifetime: lifetime)
        }
        put(1)
        cache.removeValue(forKey: 1)  // removed
        put(1)
        put(1)  // replaced
        cache.setValue(Pages(), forKey: 1, cost: 11)  // removed, by a refused one
        put(1, cost: 10)
        put(2, cost: 10)  // by cost
        put(3)
        cache.countLimit = 1  // by count
        cache.countLimit = 0
        cache.removeAll()
        put(4, lifetime: .seconds(1))
        clock.advance(by: .seconds(2))
        #expect(cache[4] == nil)  // expired
        put(5)
        cache.handlePressure(.critical)
        put(6)
        cache.removeAll { _, _ in true }
        #expect(all.map(\.requests) == Array(repeating: 1, count: all.count))
        #expect(all.allSatisfy { $0.isDiscarded })
    }

    @Test("M-053: content in access keeps what it holds, but leaves")
    func inAccess() {
        let cache = MemoryCache<String, Pages>()
        let content = Pages()
        cache["a"] = content
        #expect(content.beginAccess())
        #expect(cache.removeValue(forKey: "a") === content)
        #expect(content.requests == 1)
        #expect(!content.isDiscarded)
        #expect(cache.count == 0)
    }

    @Test("M-053: content set again for its own key does not leave")
    func itself() {
        let cache = MemoryCache<String, Pages>()
        let content = Pages()
        cache["a"] = content
        cache.setValue(content, forKey: "a", cost: 3)
        #expect(content.requests == 0)
        #expect(cache["a"] === content)
    }

    @Test("M-053: a cache that goes asks its contents to discard")
    func goingAway() {
        let content = Pages()
        var cache: MemoryCache<String, Pages>? = MemoryCache()
        cache?["a"] = content
        cache = nil
        #expect(content.requests == 1)
    }

    @Test("M-054: other values are returned as they are")
    func others() {
        let cache = MemoryCache<String, Lookalike>()
        cache["a"] = Lookalike()
        #expect(cache["a"]?.isDiscarded == true)
    }
}

/// Content that counts accesses and requests to discard.
private final class Pages: DiscardableContent {
    private let numbers = Mutex((accesses: 0, requests: 0, isDiscarded: false))
    private let wasFoundDiscarded: @Sendable () -> Void

    init(wasFoundDiscarded: @escaping @Sendable () -> Void = {}) { self.wasFoundDiscarded = wasFoundDiscarded }

    var requests: Int { numbers.withLock { $0.requests } }

    var isDiscarded: Bool {
        let answer = numbers.withLock { $0.isDiscarded }
        if answer { wasFoundDiscarded() }
        return answer
    }

    func beginAccess() -> Bool {
        numbers.withLock {
            if !$0.isDiscarded { $0.accesses += 1 }
            return !$0.isDiscarded
        }
    }

    func endAccess() { numbers.withLock { $0.accesses -= 1 } }

    func discardIfPossible() {
        numbers.withLock {
            $0.requests += 1
            if $0.accesses == 0 { $0.isDiscarded = true }
        }
    }
}

/// Has the members of discardable content without being any.
private struct Lookalike: Sendable {
    var isDiscarded: Bool { true }
}
