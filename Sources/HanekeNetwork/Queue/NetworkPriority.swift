/// How urgent an operation is.
///
/// The order of the cases is the order of the queue.
public enum NetworkPriority: Int, Sendable, Comparable, CaseIterable {
    /// Somebody waits for it and can do nothing else.
    case userBlocking
    /// A picture that is on the screen.
    case thumbnail
    /// The default.
    case normal
    /// Large uploads and downloads; with `background` they never take the last slot.
    case bulk
    /// Nobody waits for it.
    case background

    /// True if `left` is the less urgent one.
    public static func < (left: NetworkPriority, right: NetworkPriority) -> Bool { left.rawValue > right.rawValue }

    /// True for those that share the bulk lane.
    var isBulk: Bool { self <= .bulk }
}
