import Foundation
import TestSupport
import Testing

/// Tests/PlainC/child.c, built from the store's sources by the system's C compiler.
enum Child {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let folder = try? TemporaryDirectory()

    /// The program; nil where there is no compiler or no LMDB for it.
    private static let program: String? = {
        guard let program = folder?.path("child") else { return nil }
        let core = root.appendingPathComponent("CSources/CHaneke")
        let sources = Files.names(in: core.path + "/src").filter { $0.hasSuffix(".c") }.map { core.path + "/src/" + $0 }
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments =
            ["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-I", core.path + "/include", "-o", program]
            + [root.appendingPathComponent("Tests/PlainC/child.c").path] + sources + [
                "-llmdb", "-lxxhash", "-lpthread",
            ]
        guard (try? compiler.run()) != nil else { return nil }
        compiler.waitUntilExit()
        return compiler.terminationStatus == 0 ? program : nil
    }()

    static var isAvailable: Bool { program != nil }

    /// Runs it to its end: exit status and what it wrote, errors included.
    static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
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
    static func killed(_ arguments: [String], afterLines lines: Int, _ meanwhile: () -> Void) throws -> [UInt64] {
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

    private static func made(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(program))
        process.arguments = arguments
        return process
    }
}
