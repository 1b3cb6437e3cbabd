/// One step of `DiskStore.apply(_:)`.
public struct StoreOperation: Sendable {
    /// What to do in the bucket.
    public enum Kind: Sendable {
        /// Store `value` under `key`. Lifetime nil = the bucket's own; sliding = each access starts it anew.
        case set(
            key: String, value: [UInt8], metadata: [UInt8] = [], lifetime: Duration? = nil, sliding: Bool = false)
        /// Remove `key`.
        case remove(key: String)
        /// Remove every entry.
        case removeAll
    }

    /// The bucket to change.
    ///
    /// It must belong to the store that carries out the operation.
    public let bucket: Bucket
    /// What to do.
    public let kind: Kind

    /// Makes a step.
    public init(_ kind: Kind, in bucket: Bucket) {
        self.bucket = bucket
        self.kind = kind
    }
}
