/// Where a cache gets a value that it does not have.
///
/// Subclass it for a source of your own.
///
/// ```swift
/// final class Lookup: Fetcher<String>, @unchecked Sendable {   // `let` properties only
///     override func fetch(
///         failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (String) -> Void
///     ) {
///         directory.lookUp(key) { $0.map(succeed) ?? fail(NotListed()) }
///     }
/// }
/// ```
///
/// Where the source is an `async` function, ``AsyncFetcher`` is less to write. A fetcher may be used again, and
/// for several fetches at once.
open class Fetcher<Value: Sendable>: @unchecked Sendable {
    // Sendable: an open class can't have it checked; this one has a `let` only, and subclasses are told the rule.

    /// The key under which a cache stores the value.
    public let key: String

    /// Names the key.
    ///
    /// Subclasses may have `let` properties and such as they lock themselves: all members are called from any thread.
    public init(key: String) { self.key = key }

    /// Gets the value.
    ///
    /// To be overridden; the base class fails with ``HanekeError/Code/notImplemented``.
    ///
    /// Call one of the closures, once, from any thread, now or later. Further calls are ignored and reported. Letting go
    /// of both without a call fails with ``HanekeError/Code/fetcherAbandoned``.
    ///
    /// - Parameters:
    ///   - fail: Takes the error, which is handed on unchanged.
    ///   - succeed: Takes the value.
    open func fetch(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (Value) -> Void
    ) {
        fail(HanekeError(.notImplemented, "\(type(of: self)) does not override fetch(failure:success:)"))
    }

    /// Stops what `fetch` began; from then on no closure is called.
    ///
    /// The base class does nothing.
    ///
    /// Called at most once for a fetch, when nobody wants the value any more.
    open func cancelFetch() {}

    /// What ``Fetch/source`` says of the values.
    ///
    /// Default ``FetchSource/fetcher``.
    open var source: FetchSource { .fetcher }

    /// Whether closures that were let go of mean a cancelled fetch rather than a fault.
    var endsSilently: Bool { false }
}
