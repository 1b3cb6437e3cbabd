import CHaneke
import TestSupport
import Testing

/// A repair makes cells and counts anew from the records; what records can't tell, it has to take over.
@Suite struct RepairTests {
    /// Ten entries of at most seven, and a value refused: counts that no record tells.
    private static func closed() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let bucket = try Store(directory.path).bucket {
            $0.fields = HNK_FIELD_ENTRIES | HNK_FIELD_CAPACITY
            $0.entries_max = 7
            $0.capacity_bytes = 100_000
        }
        for number in 0..<10 { #expect(bucket.set([UInt8(number)], sample(500)) == .ok) }
        #expect(bucket.set("large", sample(200_000)) == .valueTooLarge)
        return directory
    }

    private static func expectCounts(_ directory: TemporaryDirectory, _ comment: Comment) throws {
        let store = try Store(directory.path)
        let found = try store.bucket().statistics()
        #expect(found.entries == 7 && found.writes == 10, comment)
        #expect(found.evictions == 3 && found.refused == 1, comment)
        store.expectSound(comment)
    }

    /// As a writer that was killed over the bucket leaves it.
    private static func killWriter(in directory: TemporaryDirectory) throws {
        try Files.patch(RawSlots.path(directory.path), at: 72) { $0.set(UInt64(1), at: 0) }
        try RawState.kill(directory.path)
    }

    @Test("the counts of a bucket outlive the death of a writer")
    func writer() throws {
        let directory = try Self.closed()
        try Self.killWriter(in: directory)
        try Self.expectCounts(directory, "repaired")
        try Self.expectCounts(directory, "and opened again")
    }

    @Test("the counts of a bucket outlive the death of the one who repairs it, before the commit of that")
    func repairer() throws {
        let directory = try Self.closed()
        let (data, slots) = (directory.path("data.mdb"), RawSlots.path(directory.path))
        let before = (data: try Files.read(data), slots: try Files.read(slots))
        try Self.killWriter(in: directory)
        try Self.expectCounts(directory, "repaired")
        // The commit is undone, and so are the stores that come after it; those that come before it stay.
        try Files.write(before.data, to: data)
        try Files.patch(slots, at: 128, { $0 = Array(before.slots[128..<384]) }, count: 256)
        try Self.killWriter(in: directory)
        try Self.expectCounts(directory, "repaired again")
    }
}
