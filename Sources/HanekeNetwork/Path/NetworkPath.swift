/// What the machine's way to the network is like.
public enum NetworkPath: Sendable, Hashable {
    /// The kind of link.
    public enum Link: Sendable, Hashable {
        /// A cable.
        case wired
        /// Wi-Fi.
        case wifi
        /// A mobile network.
        case cellular
        /// Something else, such as a tunnel.
        case other
    }

    /// There is a way.
    case satisfied(Link, isExpensive: Bool = false, isConstrained: Bool = false)
    /// There is none.
    case unsatisfied
    /// Nobody can tell; treated as a good one.
    case unknown

    /// Most operations at a time: 6; 2 on a mobile, expensive or constrained way; 0 where there is none.
    public var width: Int {
        switch self {
        case .unknown: Self.widthMax
        case .unsatisfied: 0
        case .satisfied(let link, let isExpensive, let isConstrained):
            link == .cellular || isExpensive || isConstrained ? 2 : Self.widthMax
        }
    }

    /// True where `wifiOnlyMode` makes operations wait.
    var isMetered: Bool {
        guard case .satisfied(let link, let isExpensive, _) = self else { return false }
        return link == .cellular || isExpensive
    }

    static let widthMax = 6
}
