import Foundation
import Testing

@testable import Haneke

@Suite("Cache: model", .timeLimit(.minutes(5)))
struct CacheModelTests {
    /// SplitMix64.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    @Test(
        "H-035, H-038, H-068, H-087: random sets, fetches, removals, pressure and restarts agree with a dictionary",
        arguments: [UInt64(1), 2, 3, 20_150_921])
    func agrees(seed: UInt64) async throws {
        let fixture = try CacheFixture(String.self)
        var cache = fixture.cache
        var model: [String: String] = [:]
        var random = Generator(state: seed)
        // Fetches whose fetcher waits until something later has changed its key.
        var late: [(fetch: Fetch<String>, fetcher: ScriptedFetcher<String>, value: String)] = []
        for step in 0..<400 {
            let key = "k\(Int.random(in: 0..<8, using: &random))"
            let value = "\(seed)-\(step)"
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<6:
                cache.set(value: value, key: key)
                model[key] = value
            case 6..<9:
                cache.remove(key: key)
                model[key] = nil
            case 9..<13:
                let found = try? await cache.fetch(key: key).value
                #expect(found == model[key], "step \(step), seed \(seed)")
            case 13, 14:
                let expected = model[key] ?? value
                #expect(try await cache.fetch(key: key, value: value).value == expected, "step \(step), seed \(seed)")
                model[key] = expected
            case 15:
                let fetcher = ScriptedFetcher<String>(key: key)
                let fetch = cache.fetch(fetcher: fetcher, policy: .reload)
                await fetcher.starts.events(count: 1)
                // The later of the two wins: the set and the removal come after the fetch.
                cache.set(value: value, key: key)
                model[key] = value
                if Bool.random(using: &random) {
                    cache.remove(key: key)
                    model[key] = nil
                }
                late.append((fetch, fetcher, "late \(value)"))
            case 16:
                cache.removeAll()
                model = [:]
            case 17: cache.handleMemoryPressure()
            case 18:
                for (fetch, fetcher, value) in late {
                    fetcher.succeed(value)
                    #expect(try await fetch.value == value)
                }
                late = []
            default:
                await cache.flush()
                if Bool.random(using: &random) { cache = fixture.sibling() }
            }
        }
        for (fetch, fetcher, value) in late {
            fetcher.succeed(value)
            #expect(try await fetch.value == value)
        }
        await cache.flush()
        let restarted = fixture.sibling()
        for number in 0..<8 {
            let found = try? await restarted.fetch(key: "k\(number)").value
            #expect(found == model["k\(number)"], "k\(number) after a restart, seed \(seed)")
        }
    }
}
