/// What names a place in a tree.
public protocol Keyable {
    /// The place; `Key.invalid` if there is none.
    func asKey() -> Key
}

extension Key: Keyable {
    /// The key itself.
    public func asKey() -> Key { self }
}

extension String: Keyable {
    /// The pieces between slashes; empty ones don't count, so "/a//b/" is `a`, `b`.
    ///
    /// Nothing else is special: no percent-decoding, no folding of case, and ".." is a name like any other.
    public func asKey() -> Key {
        Key.from(segments: utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) })
    }
}
