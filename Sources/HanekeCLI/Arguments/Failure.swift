/// Why the tool gives up: one line that names the input and the remedy.
struct Failure: Error, Equatable {
    let status: ExitStatus
    let message: String

    /// A command line that makes no sense.
    static func usage(_ message: String) -> Failure { Failure(status: .usage, message: message) }

    /// A store, file or network that failed.
    static func failed(_ message: String) -> Failure { Failure(status: .failure, message: message) }
}
