import Foundation

/// A directory of a test's own, gone with it.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("haneke-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String, _ content: Data) throws -> String {
        let file = url.appendingPathComponent(name)
        try content.write(to: file)
        return file.path
    }
}
