import HanekeStorage
import TestSupport
import Testing

@Suite struct StoreErrorTests {
    private static func error(_ key: String, _ value: [UInt8] = []) throws -> StoreError? {
        let directory = try TemporaryDirectory()
        let bucket = try DiskStore(directory: directory.path).bucket(
            named: "b", options: Bucket.Options(capacityBytes: 1_000))
        do throws(StoreError) {
            try bucket.set(value, forKey: key)
            return nil
        } catch { return error }
    }

    @Test("an error names its code, the key and the remedy")
    func named() throws {
        let empty = try #require(try Self.error(""))
        #expect(empty.code == .keySize && empty.key == "" && empty.osError == 0)
        #expect(empty.description == "key \"\": a key must have 1 to 65,536 bytes; shorten it or use a digest of it")
        let large = try #require(try Self.error("icon", [UInt8](repeating: 0, count: 5_000)))
        #expect(large.code == .valueTooLarge && large.key == "icon")
        #expect(large.description.hasPrefix("key \"icon\": ") && large.description.contains("raise it"))
        #expect(large == large && large != empty)
    }

    @Test("a key is shortened and escaped for printing")
    func excerpt() throws {
        let long = try #require(try Self.error(String(repeating: "k", count: 70_000)))
        #expect(long.key == String(repeating: "k", count: 64) + "…")
        let odd = try #require(try Self.error("a\u{0}\n\"b\u{7F}ü", [UInt8](repeating: 0, count: 5_000)))
        #expect(odd.key == "a\\0\\n\\\"b\\u{7F}ü")
    }

    @Test("codes are those of the C interface, and open to new ones")
    func codes() {
        let codes: [StoreError.Code] = [
            .io, .memory, .argument, .keySize, .metadataSize, .nameSize, .valueTooLarge, .diskFull, .access,
            .notADirectory, .notAStore, .newerFormat, .damagedStore, .directoryGone, .forked, .readersFull, .notFound,
            .cancelled, .internalFault,
        ]
        #expect(Set(codes).count == codes.count)
        #expect(StoreError.Code.notFound.rawValue == 1 && StoreError.Code.diskFull.rawValue == -9)
        #expect(StoreError.Code(rawValue: -9) == .diskFull && StoreError.Code(rawValue: 77).rawValue == 77)
    }

    @Test("too much metadata is told")
    func metadata() throws {
        let directory = try TemporaryDirectory()
        let bucket = try DiskStore(directory: directory.path).bucket(named: "b")
        let error = #expect(throws: StoreError.self) {
            try bucket.set([1], forKey: "key", metadata: [UInt8](repeating: 0, count: 65_537))
        }
        #expect(error?.code == .metadataSize)
    }
}
