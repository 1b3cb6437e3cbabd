import Foundation

/// Whole files in memory.
enum FileContents {
    /// The bytes of a file, or of standard input for "-".
    static func read(_ path: String) throws -> [UInt8] {
        if path == "-" { return try Descriptor.standardInput.readAll() }
        guard let file = Descriptor(opening: path, O_RDONLY) else {
            throw Failure.failed("\(path): cannot be read: \(systemErrorText()); name a file that can")
        }
        return try file.readAll()
    }
}
