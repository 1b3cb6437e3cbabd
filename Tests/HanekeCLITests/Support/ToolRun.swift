import Foundation
import TestSupport

/// One run of the built `haneke`: what it was given, and how it ended.
struct ToolRun {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
    /// The lines of standard error, without the empty one at the end.
    var errorLines: [Substring] { errors.split(separator: "\n") }

    /// Standard output as one JSON document.
    func json() throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: output)
        guard let members = object as? [String: Any] else { throw Problem("not a dictionary: \(text)") }
        return members
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// Beside the test bundle: both are products of one build.
    static var executable: URL {
        #if canImport(Darwin)
            let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }
            let products = bundles.first?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
        #else
            let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
                .deletingLastPathComponent()
        #endif
        return products.appendingPathComponent("haneke")
    }

    /// Runs the tool to its end.
    init(_ arguments: [String], input: Data = Data(), environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        let inherited = ProcessInfo.processInfo.environment.filter { $0.key != "HANEKE_STORE" }
        process.environment = inherited.merging(environment) { _, given in given }
        // Files, not pipes: nothing has to be pumped while the process runs.
        let directory = try TemporaryDirectory()
        try input.write(to: URL(fileURLWithPath: directory.path("input")))
        for name in ["output", "errors"] { try Data().write(to: URL(fileURLWithPath: directory.path(name))) }
        process.standardInput = FileHandle(forReadingAtPath: directory.path("input"))
        process.standardOutput = FileHandle(forWritingAtPath: directory.path("output"))
        process.standardError = FileHandle(forWritingAtPath: directory.path("errors"))
        try process.run()
        process.waitUntilExit()
        status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        output = try Self.read(directory.path("output"))
        errors = String(decoding: try Self.read(directory.path("errors")), as: UTF8.self)
    }

    /// Not `Data(contentsOf:)`, which on Linux leaks a block for each empty file: the address sanitizer tells.
    private static func read(_ path: String) throws -> Data {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        return try file.readToEnd() ?? Data()
    }
}
