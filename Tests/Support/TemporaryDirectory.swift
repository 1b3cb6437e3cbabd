import Foundation

/// A directory of a test's own, which goes with all that is in it when the last reference does.
public final class TemporaryDirectory: Sendable {
    /// Its path, symbolic links resolved.
    public let path: String

    /// Makes the directory.
    public init() throws {
        let parent = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        let url = parent.appendingPathComponent("haneke-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file or folder inside.
    public func path(_ name: String) -> String { path + "/" + name }
}
