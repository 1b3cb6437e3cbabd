public import HanekeNetwork

/// How a fetcher tells how far it has come.
///
/// ```swift
/// let text = cache.fetch(key: "log", from: {
///     ProgressReport.current?(TransferProgress(completedBytes: 10, totalBytes: 20))
///     …
/// })
/// ```
///
/// ``NetworkFetcher`` does it by itself. See ``Fetch/onProgress(_:)``.
public struct ProgressReport: Sendable {
    /// Takes reports of the fetcher that runs in the current task, or was called by it; nil outside of a fetcher.
    @TaskLocal public static var current: ProgressReport?

    private let body: @Sendable (TransferProgress) -> Void

    init(_ body: @escaping @Sendable (TransferProgress) -> Void) { self.body = body }

    /// Hands the report to all who wait for the value.
    ///
    /// May be called from any thread.
    public func callAsFunction(_ progress: TransferProgress) { body(progress) }
}
