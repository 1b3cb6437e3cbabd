import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Name lookups")
struct HostResolverTests {
    private func addresses(_ resolver: HostResolver, _ host: String) async throws -> [String] {
        try await withCheckedThrowingContinuation { continuation in
            resolver.addresses(of: host) { continuation.resume(with: $0) }
        }
    }

    @Test("N-102: a name is looked up once for all who ask, and remembered")
    func sharing() async throws {
        let gate = Gate()
        let count = Atomic(0)
        let resolver = HostResolver(lookup: { _ in
            count.add(1, ordering: .relaxed)
            gate.waitOnThread()
            return ["127.0.0.1"]
        })
        try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<20 { group.addTask { try await addresses(resolver, "a.test") } }
            gate.open()
            for try await answer in group { #expect(answer == ["127.0.0.1"]) }
        }
        _ = try await addresses(resolver, "a.test")
        #expect(count.load(ordering: .relaxed) == 1)
        resolver.forget("a.test")
        _ = try await addresses(resolver, "a.test")
        #expect(count.load(ordering: .relaxed) == 2)
    }

    @Test("N-102: an answer is forgotten after its lifetime, a failure at once")
    func forgetting() async throws {
        struct NoSuchName: Error {}
        let count = Atomic(0)
        let brief = HostResolver(
            lookup: { _ in
                count.add(1, ordering: .relaxed)
                return ["::1"]
            }, lifetime: .zero)
        for _ in 0..<3 { _ = try await addresses(brief, "a.test") }
        #expect(count.load(ordering: .relaxed) == 3)

        let failing = HostResolver(lookup: { _ in
            count.add(1, ordering: .relaxed)
            throw NoSuchName()
        })
        for _ in 0..<2 { await #expect(throws: NoSuchName.self) { try await addresses(failing, "a.test") } }
        #expect(count.load(ordering: .relaxed) == 5)
    }

    @Test("N-102: more names than threads wait in line and are all answered")
    func line() async throws {
        let running = Atomic(0)
        let most = Atomic(0)
        let resolver = HostResolver(
            lookup: { host in
                let now = running.add(1, ordering: .sequentiallyConsistent).newValue
                most.max(now, ordering: .sequentiallyConsistent)
                defer { running.subtract(1, ordering: .sequentiallyConsistent) }
                return [host]
            }, threadsMax: 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let answer = try await addresses(resolver, "h\(number)")
                    #expect(answer == ["h\(number)"])
                }
            }
            try await group.waitForAll()
        }
        #expect(most.load(ordering: .sequentiallyConsistent) <= 2)
    }

    @Test("N-102: the system's lookup gives numeric addresses")
    func system() throws {
        let addresses = try HostResolver.systemLookup("localhost")
        #expect(addresses.contains("127.0.0.1") || addresses.contains("::1"))
        #expect(throws: HostResolver.LookupFailure.self) { try HostResolver.systemLookup("a..invalid") }
    }
}
