/// Which entries of a ``MemoryCache`` leave first when room is needed.
public enum MemoryCacheEvictionPolicy: Sendable, Hashable {
    /// S3-FIFO: new entries prove themselves in a small queue before they may push out those used more than once.
    ///
    /// A scan of keys that are read once leaves what is used often in place, and a hit moves nothing. Keys lately evicted are
    /// remembered, about nine for each ten entries. A cache whose ``MemoryCache/countLimit`` is under 64 goes by `lru`
    /// all the same: its small queue would hold but a handful.
    case s3fifo
    /// The least recently used leave first, exactly.
    case lru
}
