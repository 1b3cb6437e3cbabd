/// Where a cache gets a value that it does not have, as an `async` function.
///
/// ```swift
/// struct Lookup: AsyncFetcher {
///     let key: String
///     func fetch() async throws -> String { try await directory.name(of: key) }
/// }
/// let name = try await cache.fetch(fetcher: Lookup(key: "ada")).value
/// ```
public protocol AsyncFetcher<Value>: Sendable {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The key under which a cache stores the value.
    var key: String { get }

    /// Gets the value. Runs in a task of the cache, which is cancelled when nobody wants the value any more.
    ///
    /// - Throws: An error that is handed on unchanged.
    func fetch() async throws -> Value
}
