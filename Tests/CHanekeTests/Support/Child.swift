import Foundation
import TestSupport
import Testing

/// A program of Tests/PlainC, built from the store's sources by the system's C compiler.
struct Child: Sendable {
    /// Writes until it is killed, uses handles after `fork()`, fills a disk.
    static let writer = Child("child")
    /// Fails each call of a scenario in turn.
    static let faults = Child(
        "faults",
        wrapping: [
            "malloc", "calloc", "realloc", "posix_memalign", "posix_fallocate", "strdup", "realpath", "flock", "fsync",
            "fstat",
            "mkdirat", "unlinkat", "renameat", "pread", "pwrite", "write", "mmap", "openat", "open",
        ])

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

    /// Builds `name`.c and those beside it, or all files of the folder `name`.
    private init(
        _ name: String, beside others: [String] = [], wrapping functions: [String] = [], flags: [String] = []
    ) {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().path
        let core = root + "/CSources/CHaneke"
        func sources(in folder: String) -> [String] {
            Files.names(in: folder).filter { $0.hasSuffix(".c") }.map { "\(folder)/\($0)" }
        }
        let own = sources(in: "\(root)/Tests/PlainC/\(name)")
        folder = try? TemporaryDirectory()
        let built = folder?.path(name) ?? ""
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments =
            ["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-I", core + "/include", "-o", built]
            + flags + (own.isEmpty ? ([name] + others).map { "\(root)/Tests/PlainC/\($0).c" } : own)
            + sources(in: core + "/src") + functions.map { "-Wl,--wrap=\($0)" }
            + ["-llmdb", "-lxxhash", "-lpthread"]
        guard folder != nil, (try? compiler.run()) != nil else {
            program = nil
            return
        }
        compiler.waitUntilExit()
        program = compiler.terminationStatus == 0 ? built : nil
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

    private func made(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(program))
        process.arguments = arguments
        return process
    }
}
