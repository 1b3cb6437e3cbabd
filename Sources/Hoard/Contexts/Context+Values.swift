// Putting, getting and removing: the throwing forms and the plain ones.

public import Foundation

extension Context {
    /// Stores a value for `validFor` seconds (nil: the context's life), making the branches on the way; nil removes the leaf.
    ///
    /// A context is mounted. 0 or less, or not a number, is expired from the start; infinity lives for ever.
    ///
    /// - Throws: `invalidKey`, `keyTooLong`, `notPersistable`, `tooLarge`, `cycle`, `storage`.
    public func setValue<V: Sendable>(
        _ value: V?, for key: some Keyable, validFor: TimeInterval? = nil
    ) throws(TreeError) {
        let key = key.asKey()
        try key.check()
        guard let value else {
            _ = try removeValues(at: key, descendants: false, clearingMounts: false)
            return
        }
        try store(value, at: key, validFor: validFor, inherited: nil)
    }

    /// The value under the key; nil if there is none, it has expired, or it is of another type.
    ///
    /// - Throws: `invalidKey`, `keyTooLong`, `storage`.
    public func value<T>(for key: some Keyable, as type: T.Type = T.self) throws(TreeError) -> T? {
        let key = key.asKey()
        try key.check()
        return try value(at: key, as: type)
    }

    /// Removes the leaf under the key and, with `descendants`, all below it; the result is how many leaves.
    ///
    /// What is mounted there is unmounted, and with `clearingMounts` emptied.
    ///
    /// - Throws: `invalidKey`, `keyTooLong`, `storage`.
    @discardableResult
    public func removeValues(
        for key: some Keyable, descendants: Bool = true, clearingMounts: Bool = false
    ) throws(TreeError) -> Int {
        let key = key.asKey()
        try key.check()
        return try removeValues(at: key, descendants: descendants, clearingMounts: clearingMounts)
    }

    /// Stores a value; see `setValue(_:for:validFor:)`.
    ///
    /// What can't be kept is dropped, and an older value of the key with it.
    public func put<V: Sendable>(_ key: some Keyable, _ value: V?, validFor: TimeInterval? = nil) {
        plain { () throws(TreeError) -> Void? in try setValue(value, for: key, validFor: validFor) }
    }

    /// Stores a value; see `setValue(_:for:validFor:)`.
    public func put<V: Sendable>(key: some Keyable, value: V?, validFor: TimeInterval? = nil) {
        put(key, value, validFor: validFor)
    }

    /// The value under the key; nil if there is none, it has expired, or it is of another type.
    ///
    /// A context type gets what is mounted there, else a view of the branch; `any Sendable` takes a value of any type.
    public func get<T>(_ key: some Keyable) -> T? {
        plain { () throws(TreeError) -> T? in try value(for: key, as: T.self) }
    }

    /// The value under the key, as `get(_:)`.
    public func get<T>(key: some Keyable) -> T? { get(key) }

    /// The value under the key, else `standIn`, which is not stored.
    public func get<T>(_ key: some Keyable, default standIn: @autoclosure () -> T) -> T {
        get(key) ?? standIn()
    }

    /// Removes the leaf and all below the key; see `removeValues(for:descendants:clearingMounts:)`.
    @discardableResult
    public func remove(_ key: some Keyable, descendants: Bool = true, clearingMounts: Bool = false) -> Int {
        plain { () throws(TreeError) -> Int? in
            try removeValues(for: key, descendants: descendants, clearingMounts: clearingMounts)
        } ?? 0
    }

    /// The same as `remove(_:descendants:clearingMounts:)`.
    @discardableResult
    public func remove(key: some Keyable) -> Int { remove(key) }

    /// Empties the context and unmounts what is mounted; its life stays.
    ///
    /// The result is how many leaves.
    @discardableResult
    public func clear() -> Int { plain { () throws(TreeError) -> Int? in try removeAll() } ?? 0 }

    /// Removes expired leaves, in mounted contexts too; with `deep` also those not read for over half of their life.
    ///
    /// The result is how many.
    @discardableResult
    public func clean(deep: Bool = false) -> Int {
        plain { () throws(TreeError) -> Int? in try removeExpired(deep: deep) } ?? 0
    }
}
