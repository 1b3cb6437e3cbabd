/// Where the value of a fetch came from.
public enum FetchSource: Sendable, Hashable {
    /// The memory tier.
    case memory
    /// The disk tier, or its queue of values still on their way to the disk.
    case disk
    /// A server.
    case network
    /// A fetcher other than the network's, or the value given to `set`.
    case fetcher
    /// The same key in a parent format.
    case parentFormat
}
