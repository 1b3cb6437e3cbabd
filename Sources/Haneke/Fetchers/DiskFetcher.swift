internal import Foundation

/// A fetcher of a value out of a file.
///
/// The key is the file's path.
open class DiskFetcher<Value: DataConvertible & Sendable>: Fetcher<Value>, @unchecked Sendable {
    // Sendable: restated for the class it inherits from; the only member is Sendable itself.
    private let runs = FetcherRuns()

    /// The path of the file, which is also the key.
    public var path: String { key }

    /// Names the file.
    ///
    /// It is read at `fetch`, not before.
    public init(path: String) { super.init(key: path) }

    /// Reads the file off the caller's thread.
    ///
    /// Closures are called on any thread.
    ///
    /// Fails with the system's error unchanged if the file can't be read (a missing one: `CocoaError.fileReadNoSuchFile`),
    /// with ``HanekeError/Code/invalidFileData`` if its bytes do not stand for a value.
    open override func fetch(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (Value) -> Void
    ) {
        let path = path
        runs.start(failure: fail, success: succeed) {
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            return try Value.decoded(from: data, code: .invalidFileData, "the file \(path) holds no valid value")
        }
    }

    /// Stops reading; no closure is called.
    open override func cancelFetch() { runs.cancel() }

    override var endsSilently: Bool { runs.wasCancelled }
}
