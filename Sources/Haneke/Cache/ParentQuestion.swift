internal import Dispatch
internal import HanekeNetwork

/// Where parents' flights report how far they are, in order; nothing else runs here.
private let reports = DispatchQueue(label: "io.haneke.parents")

/// What a format that misses a key asks its parent, which asks its own: so siblings that ask at once share one flight.
struct ParentQuestion<Value: DataConvertible & DataRepresentable & Sendable>: Sendable {
    let parent: FormatStorage<Value>
    let slot: FlightTable<Value>.Slot
    let registry: FormatRegistry<Value>
    let report: @Sendable (TransferProgress) -> Void

    /// The parent's value, out of its tiers, of its parents or of the fetcher; without a fetcher nil if nobody has one.
    ///
    /// Cancelling the task withdraws the question.
    func value(with loader: Loader<Value>?) async throws -> FetchCore<Value>.Success? {
        // Without a fetcher the policy is of no consequence below, but to join who loads would wait for the network.
        let policy = loader == nil ? FetchPolicy.cacheOnly : FetchPolicy(kind: slot.policy, allowsStale: false)
        let fetch = parent.fetch(
            slot.key, FlightRequest(loader: loader, policy: policy, registry: registry), callbackQueue: reports)
        fetch.onProgress(report)
        do {
            try await withTaskCancellationHandler {
                _ = try await fetch.value()
            } onCancel: {
                fetch.cancel()
            }
        } catch let error as HanekeError where error.code == .objectNotFound && loader == nil {
            return nil
        }
        guard case .success(let success)? = fetch.settledOutcome else { throw CancellationError() }
        guard let loader, success.source == loader.source else {
            return .init(value: success.value, source: .parentFormat)
        }
        return success
    }
}
