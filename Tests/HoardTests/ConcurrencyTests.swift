import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hoard

@Suite("Concurrency", .timeLimit(.minutes(2)))
struct ConcurrencyTests {
    private static let threads = 4

    @Test(
        "T-004: four threads put, get and remove at random, and nobody reads a value of another key",
        arguments: Place.allCases, [1, 2] as [UInt64])
    func random(place: Place, seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        let context = try place.make(in: directory)
        let steps = place == .memory ? 5_000 : 500
        let wrong = Atomic(0)
        let found = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: Self.threads) { thread in
            var random = SeededGenerator(seed: seed &* 100 &+ UInt64(thread))
            for step in 0..<steps {
                let key = Key.from(
                    segments: (0..<Int.random(in: 1...3, using: &random)).map { _ in
                        String(Int.random(in: 0..<4, using: &random))
                    })
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4: context.put(key, "\(key)#\(thread).\(step)")
                case 4: context.remove(key)
                case 5: context.remove(key, descendants: false)
                default:
                    guard let value: String = context.get(key) else { continue }
                    found.add(1, ordering: .relaxed)
                    if !value.hasPrefix("\(key)#") { wrong.add(1, ordering: .relaxed) }
                }
            }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(found.load(ordering: .relaxed) > 0)
        let left = context.keys()
        for key in left {
            let value: String? = context.get(key)
            #expect(value?.hasPrefix("\(key)#") == true)
        }
        #expect(context.clear() == left.count)
        #expect(context.keys().isEmpty)
    }
}
