/// A fetcher of a value that an expression gives: evaluated when it is needed, not before.
///
/// ```swift
/// cache.fetch(fetcher: SimpleFetcher(key: "report", value: expensiveReport()))
/// ```
open class SimpleFetcher<Value: Sendable>: Fetcher<Value>, @unchecked Sendable {
    // Sendable: restated for the class it inherits from; a `let` of a `@Sendable` closure is all there is.
    private let makeValue: @Sendable () throws -> Value

    /// Keeps the expression.
    ///
    /// It runs once for each `fetch`, on any thread; an error it throws is the outcome.
    public init(key: String, value makeValue: @autoclosure @escaping @Sendable () throws -> Value) {
        self.makeValue = makeValue
        super.init(key: key)
    }

    /// Evaluates the expression and calls a closure before it returns.
    open override func fetch(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (Value) -> Void
    ) {
        do {
            succeed(try makeValue())
        } catch {
            fail(error)
        }
    }

    /// Does nothing: what is synchronous is over before it could be cancelled.
    open override func cancelFetch() {}
}
