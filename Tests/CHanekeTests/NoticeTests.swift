import CHaneke
import TestSupport
import Testing

/// Callers are told of what is evicted: all of it, in order, after the commit, outside every lock.
@Suite struct NoticeTests {
    /// What a notice was given, and what it does in turn.
    private final class Listener: @unchecked Sendable {
        // Sendable: each test uses it on one thread.
        private(set) var told: [[UInt8]] = []
        private(set) var bytes: [UInt64] = []
        var answer: ([UInt8]) -> Void = { _ in }

        func listen(to bucket: Bucket) {
            let context = Unmanaged.passUnretained(self).toOpaque()
            let status = hnk_bucket_on_eviction(
                bucket.raw,
                { context, key, valueBytes in
                    guard let context else { return }
                    let listener = Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue()
                    listener.take(Array(UnsafeRawBufferPointer(start: key.data, count: key.size)), valueBytes)
                }, context)
            #expect(status == .ok)
        }

        private func take(_ key: [UInt8], _ valueBytes: UInt64) {
            told.append(key)
            bytes.append(valueBytes)
            answer(key)
        }
    }

    private static func limited(to entries: UInt64, eviction: hnk_eviction = .leastRecentlyUsed) throws -> Fixture {
        let fixture = try Fixture()
        let status = fixture.bucket.configure {
            $0.fields = HNK_FIELD_ENTRIES | HNK_FIELD_EVICTION
            $0.entries_max = entries
            $0.eviction = eviction.rawValue
        }
        #expect(status == .ok)
        return fixture
    }

    @Test("each evicted entry is told once, in order, with its whole key", arguments: [false, true])
    func told(isSieve: Bool) throws {
        let fixture = try Self.limited(to: 3, eviction: isSieve ? .sieve : .leastRecentlyUsed)
        let listener = Listener()
        listener.listen(to: fixture.bucket)
        let long = sample(5_000, seed: 1)
        #expect(fixture.bucket.set(long, sample(10)) == .ok)
        for number in 1..<6 { #expect(fixture.bucket.set([UInt8(number)], sample(number)) == .ok) }
        #expect(listener.told == [long, [1], [2]] && listener.bytes == [10, 1, 2])
        let lowered = fixture.bucket.configure {
            $0.fields = HNK_FIELD_ENTRIES
            $0.entries_max = 1
        }
        #expect(lowered == .ok && listener.told == [long, [1], [2], [3], [4]])
        #expect(UInt64(listener.told.count) == fixture.bucket.statistics().evictions)
    }

    @Test("what is removed, replaced, refused or emptied is not told; nor anything once the notice is taken away")
    func untold() throws {
        let fixture = try Fixture(capacity: 100_000)
        let listener = Listener()
        listener.listen(to: fixture.bucket)
        for number in 0..<9 { #expect(fixture.bucket.set([UInt8(number)], sample(100)) == .ok) }
        #expect(fixture.bucket.set([0], sample(200)) == .ok && fixture.bucket.remove([1]) == .ok)
        #expect(fixture.bucket.set([2], sample(200_000)) == .valueTooLarge)
        #expect(fixture.bucket.removePrefix([3]).removed == 1 && fixture.bucket.removeAll() == .ok)
        #expect(listener.told.isEmpty)
        #expect(hnk_bucket_on_eviction(fixture.bucket.raw, nil, nil) == .ok)
        for number in 0..<200 { #expect(fixture.bucket.set([UInt8(number)], sample(3_000)) == .ok) }
        #expect(fixture.bucket.statistics().evictions > 0 && listener.told.isEmpty)
    }

    @Test("a notice finds the entry gone, and may read, write and list, also what it is told of")
    func calls() throws {
        let fixture = try Self.limited(to: 2)
        let other = try fixture.store.bucket("other")
        let listener = Listener()
        listener.answer = { [weak listener] key in
            #expect(fixture.bucket.peek(key).status == .notFound)
            #expect(other.set(key, "moved") == .ok && other.get(key) == .text("moved"))
            if key == [0] { #expect(fixture.bucket.set([0], "back") == .ok) }  // evicts [1], told in its turn
            #expect(listener?.told.last != nil)
        }
        listener.listen(to: fixture.bucket)
        for number in 0..<3 { #expect(fixture.bucket.set([UInt8(number)], "value") == .ok) }
        #expect(listener.told == [[0], [1]])
        #expect(fixture.bucket.get([0]) == .text("back") && fixture.bucket.get([2]) == .text("value"))
        #expect(other.statistics().entries == 2)
        listener.answer = { _ in }
        fixture.store.expectSound()
    }

    @Test("a batch tells after all of it; one that fails tells nothing")
    func batches() throws {
        let fixture = try Self.limited(to: 4)
        let listener = Listener()
        var seen: [UInt64] = []
        listener.answer = { _ in seen.append(fixture.bucket.statistics().entries) }
        listener.listen(to: fixture.bucket)
        let keys = (0..<10).map { [UInt8($0)] }
        try fixture.store.setAll(keys.map { ($0, sample(10)) }, in: fixture.bucket)
        #expect(listener.told == Array(keys.prefix(6)) && seen == [4, 4, 4, 4, 4, 4])
        listener.answer = { _ in }
    }
}
