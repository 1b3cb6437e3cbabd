public import HanekeStorage

/// Why a tree refuses.
///
/// A miss is not an error: reads answer nil. The plain forms (`put`, `get`, `remove`) answer errors with nil or do nothing and
/// tell `events`; the throwing ones (`setValue`, `value`, `removeValues`) throw them.
public enum TreeError: Error, Sendable, Hashable {
    /// The key has no segments and names nothing.
    case invalidKey
    /// The key has over 64 segments, one over 1,024 bytes, or over 8,192 bytes in all.
    case keyTooLong
    /// The value's type can't be kept on a disk: make it `Codable` or `Persistable`; holds the type's name.
    case notPersistable(String)
    /// The value alone is over the context's `maxBytes`; nothing was evicted for it.
    case tooLarge(bytes: Int, maxBytes: Int)
    /// The context would lie below itself.
    case cycle
    /// A loader asked for the value that it was to load.
    case recursiveLoad
    /// The store on the disk failed.
    case storage(StoreError)
}

extension TreeError: CustomStringConvertible {
    /// What happened and what to do.
    public var description: String {
        switch self {
        case .invalidKey: "the key has no segments; name a place, or use clear() to empty the root"
        case .keyTooLong: "the key is too long; at most 64 segments of 1,024 bytes and 8,192 bytes in all"
        case .notPersistable(let type): "\(type) can't be kept on a disk; make it Codable or Persistable"
        case .tooLarge(let bytes, let most): "a value of \(bytes) bytes is over the limit of \(most); raise maxBytes"
        case .cycle: "the context would lie below itself; mount another one"
        case .recursiveLoad: "a loader asked for the value that it loads; read another key in it"
        case .storage(let error): error.description
        }
    }
}
