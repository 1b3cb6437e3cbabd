internal import CHaneke

/// Counts of a bucket or of a whole store.
///
/// Events are counted since the store was made, by all processes. Hits, misses, expirations and corruptions are advisory:
/// other processes see them after this one's next write to the bucket or when it drops a `Bucket`, and a killed process
/// takes along what was counted since.
public struct StoreStatistics: Sendable, Hashable {
    /// How many buckets these are the counts of.
    public var buckets = 0
    /// How many entries are held, the expired ones included.
    public var entries = 0
    /// What the entries are charged against the capacity, in bytes.
    public var bytes = 0
    /// The sum of the lengths of all values, in bytes.
    public var payloadBytes = 0
    /// The capacity in bytes; `UInt64.max` for unlimited.
    public var capacityBytes: UInt64 = 0
    /// The blocks really used by the directory, in bytes; 0 for a single bucket.
    public var diskBytes = 0
    /// Reads that found a value.
    public var hits = 0
    /// Reads that found none: not there, expired or damaged.
    public var misses = 0
    /// Values stored.
    public var writes = 0
    /// Entries that went to make room.
    public var evictions = 0
    /// Reads that met an entry whose lifetime was over.
    public var expirations = 0
    /// Records that failed their check.
    public var corruptions = 0
    /// Values refused since they exceed the capacity.
    public var refused = 0
    /// Leases held now by this process; 0 for a single bucket.
    public var leases = 0
    /// The age of the oldest lease; zero for a single bucket.
    public var oldestLease: Duration = .zero

    init(_ raw: hnk_statistics) {
        buckets = Int(raw.buckets)
        entries = Int(clamping: raw.entries)
        bytes = Int(clamping: raw.bytes)
        payloadBytes = Int(clamping: raw.payload_bytes)
        capacityBytes = raw.capacity_bytes
        diskBytes = Int(clamping: raw.disk_bytes)
        hits = Int(clamping: raw.hits)
        misses = Int(clamping: raw.misses)
        writes = Int(clamping: raw.writes)
        evictions = Int(clamping: raw.evictions)
        expirations = Int(clamping: raw.expirations)
        corruptions = Int(clamping: raw.corruptions)
        refused = Int(clamping: raw.refused)
        leases = Int(clamping: raw.leases)
        oldestLease = .milliseconds(Int64(clamping: raw.oldest_lease_ms))
    }

    init(_ fill: (UnsafeMutablePointer<hnk_statistics>) -> hnk_status) throws(StoreError) {
        var raw = hnk_statistics()
        raw.struct_size = UInt32(MemoryLayout<hnk_statistics>.size)
        let status = fill(&raw)
        guard status == .ok else { throw StoreError(status) }
        self.init(raw)
    }
}
