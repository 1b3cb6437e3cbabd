#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import Foundation
import Testing

/// Files as the tests see and damage them.
enum Files {
    static func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    static func read(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

    static func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    static func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

    static func move(_ path: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: other)
    }

    static func copy(_ path: String, to other: String) throws {
        try FileManager.default.copyItem(atPath: path, toPath: other)
    }

    /// The files of all blobs, drafts of values included.
    static func blobs(in store: String) -> [String] {
        let root = store + "/blobs"
        return names(in: root).flatMap { name in
            name.count == 2 ? names(in: root + "/" + name).map { "\(root)/\(name)/\($0)" } : ["\(root)/\(name)"]
        }
    }

    /// Changes bytes in place, as a disk would: no new file, no other length.
    static func patch(_ path: String, at offset: Int, _ change: (inout [UInt8]) -> Void, count: Int = 8) throws {
        let file = open(path, O_RDWR)
        try #require(file >= 0)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: count)
        try #require(pread(file, &bytes, count, off_t(offset)) == count)
        change(&bytes)
        try #require(pwrite(file, bytes, count, off_t(offset)) == count)
    }

    static func flip(_ path: String, at offset: Int) throws { try patch(path, at: offset, { $0[0] ^= 0x40 }, count: 1) }

    static func truncate(_ path: String, to size: Int) throws {
        let file = open(path, O_RDWR)
        try #require(file >= 0)
        defer { close(file) }
        try #require(ftruncate(file, off_t(size)) == 0)
    }

    static func size(_ path: String) -> Int {
        var found = stat()
        return stat(path, &found) == 0 ? Int(found.st_size) : -1
    }

    /// The time of the last change, in ns since 1970.
    static func changedAt(_ path: String) -> UInt64 {
        var found = stat()
        guard stat(path, &found) == 0 else { return 0 }
        #if canImport(Darwin)
            let time = found.st_mtimespec
        #else
            let time = found.st_mtim
        #endif
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
