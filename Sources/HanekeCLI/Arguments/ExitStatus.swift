/// How the tool ends, for scripts that ask.
enum ExitStatus: Int32, Sendable {
    /// Done, or found.
    case done = 0
    /// Not there: an answer, not an error.
    case miss = 1
    /// The command line makes no sense; nothing was touched.
    case usage = 2
    /// The store, a file or the network failed, or damage was found.
    case failure = 3
}
