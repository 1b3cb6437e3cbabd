import Foundation

/// A file that appears whole or not at all: written under a temporary name, then renamed.
enum FileReplacement {
    /// Writes `path`. What is no regular file (a device, a pipe, a link) is written in place.
    static func write(_ path: String, _ body: (borrowing Descriptor) throws -> Void) throws {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            guard let file = Descriptor(opening: path, O_WRONLY | O_TRUNC) else { throw failure(path) }
            return try body(file)
        }
        try write(name: path, in: AT_FDCWD, shownAs: path, body)
    }

    /// Writes `name` in the open directory. A link of that name is replaced, never followed.
    static func write(
        name: String, in directory: Int32, shownAs path: String, _ body: (borrowing Descriptor) throws -> Void
    ) throws {
        let temporary = temporaryName(beside: name)
        guard
            let file = Descriptor(
                adopting: openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666),
                name: path)
        else { throw failure(path) }
        do {
            try body(file)
            guard renameat(directory, temporary, directory, name) == 0 else { throw failure(path) }
        } catch {
            unlinkat(directory, temporary, 0)
            throw error
        }
    }

    /// In the same directory, short enough for every file system, and no other process's.
    private static func temporaryName(beside name: String) -> String {
        let folder = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name[...$0] } ?? ""
        return "\(folder).haneke-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    }

    private static func failure(_ path: String) -> Failure {
        .failed("\(path): cannot be written: \(systemErrorText()); choose another place")
    }
}
