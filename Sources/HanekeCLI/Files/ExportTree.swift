import Foundation
import HanekeStorage

/// A directory that values are written into, and never beside: no name leads out of it, no link in it is followed.
final class ExportTree {
    private let root: Descriptor

    /// Opens `path`, making it, and its parents, where they are missing.
    init(_ path: String) throws {
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard let root = Descriptor(opening: path, O_RDONLY | O_DIRECTORY) else {
            throw Failure.failed("\(path): is no directory to write to: \(systemErrorText()); choose another one")
        }
        self.root = root
    }

    /// Writes a value under the path that stands for its key.
    func write(_ value: borrowing Lease, key: String) throws {
        let name = ExportName(key)
        if let directory = directory(name.directories), !isDirectory(name.file, in: directory) {
            try write(value, name, in: directory)
        } else {
            // Keys `a` and `a/b`: a directory can't have the name of a file.
            try write(value, ExportName(flat: key), in: root)
        }
    }

    private func write(_ value: borrowing Lease, _ name: ExportName, in directory: borrowing Descriptor) throws {
        let file = try FileReplacement(name.file, in: directory.raw, shownAs: "\(root.name)/\(name.path)")
        try value.withUnsafeBytes { try file.write($0) }
        try file.commit()
    }

    /// nil if something other than a directory stands in the way.
    private func directory(_ names: [String]) -> Descriptor? {
        guard var current = Descriptor(adopting: fcntl(root.raw, F_DUPFD_CLOEXEC, 0), name: root.name) else {
            return nil
        }
        for name in names {
            if mkdirat(current.raw, name, 0o777) != 0, errno != EEXIST { return nil }
            let opened = openat(current.raw, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard let next = Descriptor(adopting: opened, name: name) else { return nil }
            current = next
        }
        return current
    }

    private func isDirectory(_ name: String, in directory: borrowing Descriptor) -> Bool {
        var status = stat()
        return fstatat(directory.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
