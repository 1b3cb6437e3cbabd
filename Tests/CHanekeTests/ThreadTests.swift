import CHaneke
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct ThreadTests {
    /// A value that tells its key and version in every word.
    private static func value(_ key: Int, _ version: Int) -> [UInt8] {
        let word = UInt64(key) << 32 | UInt64(version)
        var bytes: [UInt8] = []
        for _ in 0...(version * 37 % 900) { bytes.append(integer: word) }
        return bytes
    }

    private static func isWhole(_ bytes: [UInt8], _ key: Int) -> Bool {
        let word: UInt64 = bytes.integer(at: 0)
        return Int(word >> 32) == key && bytes == value(key, Int(word & 0xFFFF_FFFF))
    }

    private static func key(_ number: Int) -> [UInt8] { [UInt8(number), 1] }

    @Test("four readers and two writers: only whole values of their keys, and a sound store at the end")
    func readersAndWriters() async throws {
        let capacity = 60 * Charge.of(keyBytes: 2, valueBytes: 4_000)
        let fixture = try Fixture(capacity: capacity) { $0.blob_threshold_bytes = 5_000 }
        let bucket = fixture.bucket
        let store = fixture.store
        // There is something to hit however the threads are scheduled.
        for number in 0..<60 { #expect(bucket.set(Self.key(number), Self.value(number, 0)) == .ok) }
        let hits = Atomic<Int>(0)
        let readers = (0..<4).map { reader in
            { @Sendable in
                var generator = SeededGenerator(seed: UInt64(reader))
                for _ in 0..<4_000 {
                    let number = Int.random(in: 0..<100, using: &generator)
                    let (status, lease) = bucket.lease(Self.key(number))
                    #expect(status == .ok || status == .notFound)
                    guard let lease else { continue }
                    #expect(Self.isWhole(lease.value, number))
                    hits.add(1, ordering: .relaxed)
                }
            }
        }
        let writers = (0..<2).map { writer in
            { @Sendable in
                var generator = SeededGenerator(seed: UInt64(100 + writer))
                for version in 0..<600 {
                    let number = Int.random(in: 0..<100, using: &generator)
                    switch version % 20 {
                    case 7: _ = bucket.remove(Self.key(number))
                    case 13:
                        let steps = (0..<4).map { offset in
                            let other = (number + offset) % 100
                            return Step(
                                bucket: bucket, kind: .set, key: Self.key(other), value: Self.value(other, version))
                        }
                        #expect(store.apply(steps).status == .ok)
                    default: #expect(bucket.set(Self.key(number), Self.value(number, version)) == .ok)
                    }
                    if version % 50 == 0 { #expect(bucket.statistics().bytes <= capacity) }
                }
            }
        }
        let others: [@Sendable () -> Void] = [
            {
                for _ in 0..<20 {
                    store.expectSound()
                    _ = (bucket.list(.byAccess), bucket.list(), store.statistics())
                }
            }
        ]
        await onThreads(readers + writers + others)
        #expect(hits.load(ordering: .relaxed) > 1_000)
        fixture.store.expectSound()
        #expect(fixture.store.statistics().leases == 0)
    }

    @Test("opening and closing stores and buckets from many threads")
    func openAndClose() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        await onThreads(
            (0..<6).map { thread in
                { @Sendable in
                    for round in 0..<40 {
                        do {
                            let store = try Store(path)
                            let bucket = try store.bucket("b\(round % 3)")
                            #expect(bucket.set([UInt8(thread)], [UInt8(round)]) == .ok)
                            let lease = bucket.lease([UInt8(thread)]).1
                            #expect(lease != nil)
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            })
        let store = try Store(path)
        #expect(store.statistics().entries == 18)
        store.expectSound()
    }

    @Test("dropping and making a bucket while others use it gives answers, never a wrong value")
    func dropping() async throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 2_000 }
        let store = fixture.store
        await onThreads(
            (0..<3).map { thread in
                { @Sendable in
                    for round in 0..<100 {
                        let bucket: Bucket
                        do { bucket = try store.bucket("shared") } catch {
                            Issue.record(error)
                            continue
                        }
                        let status = bucket.set(Self.key(thread), Self.value(thread, round))
                        #expect(status == .ok || status == .notFound)
                        if case .value(let bytes) = bucket.get(Self.key(thread)) {
                            #expect(Self.isWhole(bytes, thread))
                        }
                        if round % 10 == thread { _ = store.drop("shared") }
                    }
                }
            })
        _ = store.drop("shared")
        #expect(Files.blobs(in: fixture.directory.path).isEmpty)
        #expect(Files.names(in: fixture.directory.path).filter { $0.hasPrefix("slots-") } == ["slots-000001"])
        store.expectSound()
    }
}
