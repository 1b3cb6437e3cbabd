/// Which places a fetch may ask for a value.
public struct FetchPolicy: Sendable, Hashable {
    enum Kind: Sendable, Hashable, CaseIterable {
        case cacheFirst, reload, cacheOnly
    }

    let kind: Kind
    let allowsStale: Bool

    /// Memory, then disk, then the fetcher.
    ///
    /// The default.
    public static let cacheFirst = Self(kind: .cacheFirst, allowsStale: false)
    /// The fetcher alone.
    ///
    /// The value stored before stays, and is served to others, until the new one is stored.
    public static let reload = Self(kind: .reload, allowsStale: false)
    /// Memory, then disk, never the fetcher.
    public static let cacheOnly = Self(kind: .cacheOnly, allowsStale: false)

    /// The same, but when the fetcher fails a value whose lifetime is over is better than none; the fetch says so in
    /// ``Fetch/isStale``.
    public var allowingStale: Self { Self(kind: kind, allowsStale: true) }
}
