import HanekeStorage

extension Command {
    static let statistics = Command(
        name: "stat", operands: "", operandCount: 0...0, options: [],
        summary: "Show the counts of the bucket and what the store takes on the disk.",
        details: """
            "bytes" is what the entries are charged: their share of pages and blocks, at or under the capacity. "disk_bytes" are
            the blocks of the whole directory, all buckets together. Events are counted since the bucket was made, over all
            processes. "eviction" is what goes first when there is no room: lru, the least recently used, or sieve. An unlimited
            capacity is null in JSON.
            """
    ) { session in
        let bucket = try session.requiredBucket()
        let counts = try bucket.statistics()
        let report = StatisticsReport(
            store: bucket.store.directory, bucket: bucket.name, buckets: try bucket.store.bucketNames(),
            eviction: try bucket.settings().eviction?.name, counts: counts,
            diskBytes: try bucket.store.statistics().diskBytes)
        try session.console.finish(report)
        return .done
    }
}

private struct StatisticsReport: Report {
    let store: String
    let bucket: String
    let buckets: [String]
    let eviction: String?
    let counts: StoreStatistics
    let diskBytes: Int

    enum CodingKeys: CodingKey {
        case store, bucket, buckets, eviction, entries, bytes, payloadBytes, capacityBytes, diskBytes, hits, misses,
            writes
        case evictions, expirations, corruptions, refused
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(bucket, forKey: .bucket)
        try container.encode(buckets, forKey: .buckets)
        try container.encode(eviction, forKey: .eviction)
        for (key, number) in numbers { try container.encode(number, forKey: key) }
        if counts.capacityBytes == .max {
            try container.encodeNil(forKey: .capacityBytes)
        } else {
            try container.encode(counts.capacityBytes, forKey: .capacityBytes)
        }
    }

    private var numbers: [(CodingKeys, Int)] {
        [
            (.entries, counts.entries), (.bytes, counts.bytes), (.payloadBytes, counts.payloadBytes),
            (.diskBytes, diskBytes), (.hits, counts.hits), (.misses, counts.misses), (.writes, counts.writes),
            (.evictions, counts.evictions), (.expirations, counts.expirations), (.corruptions, counts.corruptions),
            (.refused, counts.refused),
        ]
    }

    var text: String {
        """
        store        \(Printable.text(store))
        buckets      \(buckets.map(Printable.text).joined(separator: ", "))
        on disk      \(ByteCount.text(diskBytes)), all buckets together

        bucket       \(Printable.text(bucket))
        entries      \(counts.entries)
        charged      \(ByteCount.text(counts.bytes)) of \(ByteCount.text(counts.capacityBytes))
        eviction     \(eviction ?? "")
        values       \(ByteCount.text(counts.payloadBytes))
        hits         \(counts.hits)
        misses       \(counts.misses)
        writes       \(counts.writes)
        evictions    \(counts.evictions)
        expirations  \(counts.expirations)
        corruptions  \(counts.corruptions)
        refused      \(counts.refused)
        """
    }
}
