internal import Foundation

/// Whether an error only says that somebody cancelled: Swift's own, and that of the platform's network library.
func isCancellationError(_ error: any Error) -> Bool {
    if error is CancellationError { return true }
    let error = error as NSError
    return error.domain == NSURLErrorDomain && error.code == NSURLErrorCancelled
}
