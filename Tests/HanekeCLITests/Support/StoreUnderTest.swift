import Foundation
import TestSupport

/// A store of a test's own, and the tool that works on it.
struct StoreUnderTest {
    let directory: TemporaryDirectory
    /// Where the store is; nothing is there at first.
    var store: String { directory.path("store") }

    init() throws { directory = try TemporaryDirectory() }

    /// Runs `haneke --store …` with more arguments.
    @discardableResult
    func haneke(_ arguments: String..., input: Data = Data()) throws -> ToolRun {
        try ToolRun(["--store", store] + arguments, input: input)
    }

    /// Runs a shell script, in which `$haneke` is the tool and `$HANEKE_STORE` the store.
    func shell(_ script: String) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "exec 2>&1; " + script]
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        process.environment = ProcessInfo.processInfo.environment
            .merging(["haneke": ToolRun.executable.path, "HANEKE_STORE": store]) { _, given in given }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// Writes a file below the test's directory.
    func write(_ name: String, _ contents: Data) throws {
        let url = URL(fileURLWithPath: directory.path(name))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try contents.write(to: url)
    }

    func read(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: directory.path(name)))
    }
}

extension Data {
    /// Every byte value, over and over: what a text mode would spoil.
    static func sample(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    }
}
