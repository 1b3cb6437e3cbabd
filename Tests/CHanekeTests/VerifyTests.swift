import CHaneke
import TestSupport
import Testing

@Suite struct VerifyTests {
    private final class Calls {
        var seen: [(done: UInt64, all: UInt64)] = []
        var stopsAt = Int.max
    }

    private static func verify(_ fixture: Fixture, _ calls: Calls) -> (hnk_status, hnk_verification) {
        var found = hnk_verification()
        found.struct_size = UInt32(MemoryLayout<hnk_verification>.size)
        let status = hnk_store_verify(
            fixture.store.raw, fixture.bucket.raw,
            { context, done, all in
                guard let context else { return 1 }
                let calls = Unmanaged<Calls>.fromOpaque(context).takeUnretainedValue()
                calls.seen.append((done, all))
                return calls.seen.count >= calls.stopsAt ? 1 : 0
            }, Unmanaged.passUnretained(calls).toOpaque(), &found)
        return (status, found)
    }

    @Test("progress is told now and then, and may stop the work")
    func progress() throws {
        let fixture = try Fixture()
        try fixture.store.setAll(
            (0..<1_000).map { ([UInt8($0 >> 8), UInt8($0 & 0xFF)], sample(10)) }, in: fixture.bucket)
        let all = Calls()
        let (status, found) = Self.verify(fixture, all)
        #expect(status == .ok && found.entries == 1_000 && found.bytes == 10_000)
        #expect(all.seen.count == 3 && all.seen.allSatisfy { $0.all == 1_000 && $0.done <= 1_000 })
        let stopped = Calls()
        stopped.stopsAt = 2
        #expect(Self.verify(fixture, stopped).0 == .cancelled && stopped.seen.count == 2)
    }

    @Test("an orphaned blob is found, and swept at the next open after a kill; other files are left alone")
    func orphans() throws {
        let fixture = try Fixture { $0.blob_threshold_bytes = 1_000 }
        #expect(fixture.bucket.set("a", sample(2_000)) == .ok)
        let directory = fixture.directory
        let blob = try #require(Files.blobs(in: directory.path).first)
        let folder = String(blob.dropLast(blob.split(separator: "/").last?.count ?? 0))
        let unnamed = folder + "000001-00000100-0000000000000001"
        try Files.copy(blob, to: unnamed)
        try Files.write([1], to: directory.path("blobs/README"))
        try Files.write([1], to: directory.path("blobs/new-0123456789abcdef"))
        let (status, found) = fixture.store.verify()
        #expect(status == .damaged && found.orphan_blobs == 1, "\(found.words)")
        _ = consume fixture
        try RawState.kill(directory.path)
        let store = try Store(directory.path)
        #expect(Files.exists(blob) && !Files.exists(unnamed))
        #expect(Files.exists(directory.path("blobs/README")))
        #expect(!Files.exists(directory.path("blobs/new-0123456789abcdef")))
        #expect(try store.bucket().get("a") == .value(sample(2_000)))
        store.expectSound()
    }
}
