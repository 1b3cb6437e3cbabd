import Foundation
import TestSupport
import Testing

/// A program of Tests/PlainC, built from the store's sources by the system's C compiler.
struct Child: Sendable {
    /// Writes until it is killed, uses handles after `fork()`, fills a disk.
    static let writer = Child("child")
    /// Fails each call of a scenario in turn, those of LMDB included where it can be linked statically.
    static let faults = Child(
        "faults",
        wrapping: [
            "malloc", "calloc", "realloc", "posix_memalign", "strdup", "realpath", "pthread_create", "open", "openat",
            "fdopendir", "faccessat", "fstat", "fstatat", "mkdir", "mkdirat", "unlinkat", "renameat", "read", "pread",
            "write", "pwrite", "writev", "lseek", "ftruncate", "posix_fallocate", "fallocate", "fsync", "fdatasync",
            "msync", "mmap", "mprotect", "flock", "fcntl",
        ])

    /// Holds a lease until it is killed.
    static let reader = Child("reader")
    /// Uses stores whose files may not be written.
    static let unwritable = Child("unwritable")
    /// Lets processes with a history from a seed be killed, and compares what is left with a model.
    static let kills = Child("kill", beside: ["history", "model"])
    /// Threads and processes that do everything at once.
    static let torture = Child("torture")
    /// Damages stores and uses them.
    ///
    /// In the long rounds under the address and undefined sanitizers.
    static let damaged = Child(
        "damaged",
        flags: ProcessInfo.processInfo.environment["HANEKE_LONG"] == nil
            ? [] : ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"])

    private let folder: TemporaryDirectory?
    private let program: String?

    /// Whether there is a compiler, and LMDB and xxHash for it.
    var isAvailable: Bool { program != nil }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path
    private static let core = root + "/CSources/CHaneke"
    private static let compiler = ["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-I", core + "/include"]

    private static func sources(in folder: String) -> [String] {
        Files.names(in: folder).filter { $0.hasSuffix(".c") }.map { "\(folder)/\($0)" }
    }

    /// The store, compiled once for all programs that need no flags of their own.
    private static let store = try? TemporaryDirectory()
    private static let objects: [String] = {
        guard let folder = store, succeeds(compiler + ["-c"] + sources(in: core + "/src"), in: folder.path) else {
            return []
        }
        return Files.names(in: folder.path).map(folder.path)
    }()

    /// Builds `name`.c and those beside it, or all files of the folder `name`.
    private init(
        _ name: String, beside others: [String] = [], wrapping functions: [String] = [], flags: [String] = []
    ) {
        let own = Self.sources(in: "\(Self.root)/Tests/PlainC/\(name)")
        folder = try? TemporaryDirectory()
        let built = folder?.path(name) ?? ""
        let arguments =
            Self.compiler + ["-o", built] + flags
            + (own.isEmpty ? ([name] + others).map { "\(Self.root)/Tests/PlainC/\($0).c" } : own)
            + (flags.isEmpty ? Self.objects : Self.sources(in: Self.core + "/src"))
            + functions.map { "-Wl,--wrap=\($0)" }
        // Only in a static library are calls wrapped too; not every system has one.
        let libraries = functions.isEmpty ? ["-llmdb"] : ["-l:liblmdb.a", "-llmdb"]
        let isBuilt =
            folder != nil && libraries.contains { Self.succeeds(arguments + [$0, "-lxxhash", "-lpthread"]) }
        program = isBuilt ? built : nil
    }

    private static func succeeds(_ command: [String], in folder: String? = nil) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Runs it to its end: exit status and what it wrote, errors included.
    func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = try made(arguments)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// Runs it until it has written `lines` lines, kills it, and gives the numbers that it wrote in whole lines.
    func killed(_ arguments: [String], afterLines lines: Int, _ meanwhile: () -> Void) throws -> [UInt64] {
        let process = try made(arguments)
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        var output: [UInt8] = []
        while output.count(where: { $0 == 10 }) < lines {
            let some = pipe.fileHandleForReading.availableData
            if some.isEmpty { break }
            output += some
            meanwhile()
        }
        kill(process.processIdentifier, SIGKILL)
        output += pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let whole = output[..<(output.lastIndex(of: 10) ?? 0)]
        return whole.split(separator: 10).compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
    }

    /// Runs `body` between its first line and the end of its standard input, after which it has to end well.
    func beside(_ arguments: [String], _ body: () throws -> Void) throws {
        let process = try made(arguments)
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        defer { process.waitUntilExit() }
        do {
            defer { try? input.fileHandleForWriting.close() }
            #expect(!output.fileHandleForReading.availableData.isEmpty)
            try body()
        }
        #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private func made(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(program))
        process.arguments = arguments
        return process
    }
}
