import Foundation

/// A file that appears whole or not at all: written under a temporary name, and renamed by `commit()`.
struct FileReplacement: ~Copyable {
    private let directory: Int32
    private let name: String
    private let shownAs: String
    private let temporary: String
    private let file: Descriptor

    /// Starts a file called `name` in an open directory; a link of that name will be replaced, never followed.
    init(_ name: String, in directory: Int32 = AT_FDCWD, shownAs: String) throws {
        // In the same directory, short enough for every file system, and no other process's.
        let folder = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name[...$0] } ?? ""
        let temporary = "\(folder).haneke-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let raw = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard let file = Descriptor(adopting: raw, name: shownAs) else { throw Self.failure(shownAs) }
        self.directory = directory
        self.name = name
        self.shownAs = shownAs
        self.temporary = temporary
        self.file = file
    }

    deinit { unlinkat(directory, temporary, 0) }

    /// Adds bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws { try file.write(bytes) }

    /// Puts the file in its place.
    func commit() throws {
        guard renameat(directory, temporary, directory, name) == 0 else { throw Self.failure(shownAs) }
    }

    private static func failure(_ path: String) -> Failure {
        .failed("\(path): cannot be written: \(systemErrorText()); choose another place")
    }
}
