/// What a fetch wants of a flight.
struct FlightRequest<Value: DataConvertible & DataRepresentable & Sendable>: Sendable {
    let loader: Loader<Value>?
    let policy: FetchPolicy
    /// Where the parents of the format are found.
    let registry: FormatRegistry<Value>
    /// See ``FlightTable/Waiter/wantsMemory``.
    var wantsMemory = true
}
