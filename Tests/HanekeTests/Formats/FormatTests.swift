import Foundation
import Testing

@testable import Haneke

@Suite("Format")
struct FormatTests {
    @Test("H-100: the capacity is unlimited by default, and as given otherwise")
    func capacity() {
        #expect(Format<Data>(name: "a").diskCapacity == .max)
        #expect(Format<Data>(name: "icons", diskCapacity: 10 * 1024 * 1024).diskCapacity == 10_485_760)
    }

    @Test("H-101: without a transform a value stays as it came, and the format is identity")
    func identity() throws {
        let format = Format<String>(name: "a")
        #expect(format.isIdentity)
        #expect(try format.apply("x") == "x")
    }

    @Test("H-101: any transform makes a format non-identity, even one that returns its input")
    func transform() throws {
        #expect(!Format<String>(name: "a") { $0 }.isIdentity)
        #expect(try Format<String>(name: "a") { $0 + "!" }.apply("x") == "x!")
    }

    @Test("H-109: a transform's error is thrown by apply")
    func throwing() {
        let format = Format<String>(name: "a") { _ in throw TestFailure(7) }
        #expect(throws: TestFailure(7)) { try format.apply("x") }
    }

    @Test(
        "H-232: the memory capacity is a sixteenth of the memory, between 16 and 256 MiB",
        arguments: [
            (UInt64(0), 16 << 20), (256 << 20, 16 << 20), (1 << 30, 64 << 20), (4 << 30, 256 << 20), (.max, 256 << 20),
        ] as [(UInt64, Int)])
    func memory(bytes: UInt64, capacity: Int) {
        #expect(MemoryBudget.capacity(forMemoryBytes: bytes) == capacity)
    }

    @Test("H-232: the default memory capacity is finite and can be read")
    func defaultMemory() {
        #expect((16 << 20...256 << 20).contains(Format<Data>(name: "a").memoryCapacity))
    }
}
