/// A cache of any `Codable` type.
///
/// ```swift
/// struct User: Codable, Sendable { let name: String }
/// let users = CodableCache<User>(name: "users")
/// users.set(User(name: "Ada"), key: "ada")
/// let name = try await users.fetch(key: "ada").value.name
/// ```
public typealias CodableCache<Value: Codable & Sendable> = Cache<CodableValue<Value>>

extension Cache {
    /// Stores a `Codable` value; see ``set(value:key:formatName:lifetime:sliding:callbackQueue:)``.
    @discardableResult
    public func set<Value>(
        _ value: Value, key: String, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        lifetime: Duration? = nil, sliding: Bool? = nil
    ) -> Setting<T> where T == CodableValue<Value> {
        set(value: CodableValue(value), key: key, formatName: formatName, lifetime: lifetime, sliding: sliding)
    }
}
