/// What a cache object, or one of its formats, has done so far.
///
/// Counts are from its making on, in this process. A format that asks its parent counts as one who fetches there.
public struct CacheStatistics: Sendable, Hashable {
    /// Fetches that memory served.
    public var memoryHits = 0
    /// Fetches that the disk, or its queue of writes, served.
    public var diskHits = 0
    /// Fetches that neither memory nor disk could serve, whether a fetcher did then or not.
    ///
    /// Reloads don't count.
    public var misses = 0
    /// Runs of fetchers.
    public var loads = 0
    /// Values that reached the disk.
    public var writes = 0
    /// Values that did not: refused, without a form as bytes, or for want of a working disk.
    public var failedWrites = 0
    /// Records on disk whose bytes did not stand for a value; they were removed.
    public var undecodable = 0

    static func += (sum: inout CacheStatistics, other: CacheStatistics) {
        sum.memoryHits += other.memoryHits
        sum.diskHits += other.diskHits
        sum.misses += other.misses
        sum.loads += other.loads
        sum.writes += other.writes
        sum.failedWrites += other.failedWrites
        sum.undecodable += other.undecodable
    }
}
