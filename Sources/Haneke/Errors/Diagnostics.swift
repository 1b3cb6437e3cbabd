internal import Foundation
internal import Synchronization

/// Where the library reports what has no caller to be told: a failed write in the background, a cache without a disk.
public enum Diagnostics {
    private static let sink = Mutex<@Sendable (String) -> Void> { message in
        FileHandle.standardError.write(Data("haneke: \(message)\n".utf8))
    }

    /// Takes over the reports.
    ///
    /// Default: a line on standard error.
    ///
    /// `handler` is called on any thread, also on several at once.
    public static func setHandler(_ handler: @escaping @Sendable (String) -> Void) {
        sink.withLock { $0 = handler }
    }

    static func report(_ message: String) {
        let handler = sink.withLock { $0 }
        handler(message)
    }
}
