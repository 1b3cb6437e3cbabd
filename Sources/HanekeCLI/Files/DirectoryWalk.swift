import Foundation

/// The regular files below a directory, each directory's names in byte order; links are not followed.
struct DirectoryWalk {
    /// One thing met on the way.
    enum Step {
        /// A regular file: its path below the directory, with `/`.
        case file(String)
        /// Something that can't be an entry, and why.
        case obstacle(String)
    }

    let root: String
    /// A directory to stay out of, by its identity: the store itself may lie inside.
    let excluding: stat?

    /// Calls `body` for each step.
    func forEach(_ body: (Step) throws -> Void) throws {
        guard let directory = opendir(root) else {
            throw Failure.failed("\(root): cannot be read as a directory: \(systemErrorText()); name one that can")
        }
        try walk(directory, "", body)
    }

    private func walk(_ directory: OpaquePointer, _ path: String, _ body: (Step) throws -> Void) throws {
        defer { closedir(directory) }
        for name in try names(directory, path, body) {
            let child = path + name
            var status = stat()
            guard fstatat(dirfd(directory), name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                try body(.obstacle("\(root)/\(child): \(systemErrorText())"))
                continue
            }
            switch status.st_mode & S_IFMT {
            case S_IFREG: try body(.file(child))
            case S_IFDIR where !isExcluded(status):
                let descriptor = openat(dirfd(directory), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                guard descriptor >= 0, let inner = fdopendir(descriptor) else {
                    try body(.obstacle("\(root)/\(child): \(systemErrorText())"))
                    continue
                }
                try walk(inner, child + "/", body)
            default: break
            }
        }
    }

    private func names(
        _ directory: OpaquePointer, _ path: String, _ body: (Step) throws -> Void
    ) throws -> [String] {
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { [UInt8]($0.prefix { $0 != 0 }) }
            if name == Array(".".utf8) || name == Array("..".utf8) { continue }
            if let name = String(validating: name, as: UTF8.self) {
                names.append(name)
            } else {
                let shown = String(decoding: name, as: UTF8.self)
                try body(.obstacle("\(root)/\(path)\(shown): the name is not UTF-8, so it can't be a key; rename it"))
            }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func isExcluded(_ status: stat) -> Bool {
        excluding.map { $0.st_dev == status.st_dev && $0.st_ino == status.st_ino } ?? false
    }
}
