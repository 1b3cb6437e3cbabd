import Foundation

/// Whole files out of memory.
enum FileContents {
    /// Writes a file, whole or not at all; what is no regular file (a device, a pipe, a link) is written in place.
    static func write(_ path: String, _ bytes: UnsafeRawBufferPointer) throws {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            guard let file = Descriptor(opening: path, O_WRONLY | O_TRUNC) else {
                throw Failure.failed("\(path): cannot be written: \(systemErrorText()); choose another place")
            }
            return try file.write(bytes)
        }
        let file = try FileReplacement(path, shownAs: path)
        try file.write(bytes)
        try file.commit()
    }
}
