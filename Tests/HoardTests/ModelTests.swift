import Foundation
import TestSupport
import Testing

@testable import Hoard

/// Random steps against a plain dictionary of keys, with restarts of the disk.
@Suite("Model")
struct ModelTests {
    @Test(
        "T-004, T-021, T-023, T-035, T-038: agrees with a plain tree", arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func agrees(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        let place = URL(fileURLWithPath: directory.path("disk"))
        let time = ManualClock()
        let root = MemoryContext(clock: time.clock)
        var now = 0.0
        var model: [Key: (value: Int, ends: Double)] = [:]
        root.put("d", try DiskContext(dirUrl: place, clock: time.clock))
        func randomKey() -> Key {
            let names = ["d", "a", "aa", "b", "\u{0}"]
            return Key.from(
                segments: (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    names.randomElement(using: &random) ?? "a"
                })
        }
        let mount = Key.from("d")
        for step in 0..<600 {
            let key = randomKey()
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let life = Double(Int.random(in: 1...50, using: &random))
                root.put(key, step, validFor: life)
                model[key] = (step, now + life)
            case 9..<12:
                guard key != mount else { break }
                root.remove(key)
                model = model.filter { !key.isPrefix(of: $0.key) }
            case 12:
                root.remove(key, descendants: false)
                model[key] = nil
            case 13:
                let seconds = Double(Int.random(in: 1...10, using: &random))
                time.advance(seconds)
                now += seconds
            case 14:
                let dead = model.filter { $0.value.ends <= now }
                #expect(root.clean() == dead.count, "seed \(seed), step \(step)")
                model = model.filter { $0.value.ends > now }
            case 15:
                // A restart: the context goes and comes back with all it held.
                root.remove(mount, descendants: false)
                model[mount] = nil
                root.put(mount, try DiskContext(dirUrl: place, clock: time.clock))
            case 16 where step % 3 == 0:
                guard let disk: DiskContext = root.get(mount) else { break }
                disk.clear()
                model = model.filter { !(mount.isPrefix(of: $0.key) && $0.key != mount) }
            default:
                let found: Int? = root.get(key)
                let expected = model[key].flatMap { $0.ends > now ? $0.value : nil }
                #expect(found == expected, "seed \(seed), step \(step), key \(key)")
            }
            let live = model.filter { $0.value.ends > now }.keys
                .sorted { $0.encoded.utf8.lexicographicallyPrecedes($1.encoded.utf8) }
            guard root.keys() == live else {
                Issue.record("seed \(seed), step \(step): \(root.keys()) is not \(live)")
                return
            }
        }
    }
}
