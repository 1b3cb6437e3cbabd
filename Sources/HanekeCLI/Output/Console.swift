import Foundation

/// The tool's two outputs: standard output for answers, standard error for everything else.
final class Console {
    let wantsJSON: Bool
    /// Whether anything has gone to standard output, or is about to.
    private(set) var hasWritten = false
    private var pending: [UInt8] = [] { didSet { hasWritten = hasWritten || !pending.isEmpty } }
    private let encoder = JSONEncoder.report

    init(wantsJSON: Bool) { self.wantsJSON = wantsJSON }

    /// Ends the command with its answer.
    func finish(_ report: some Report) throws {
        if wantsJSON {
            try write(json: report)
            write("\n")
        } else if !report.text.isEmpty {
            write(report.text + "\n")
        }
        try flush()
    }

    /// Adds to standard output, when there is enough of it.
    func write(_ text: String) { pending += text.utf8 }

    /// The same for bytes that need not be text.
    func write(bytes: [UInt8]) { pending += bytes }

    /// Adds a value as a piece of a JSON document.
    func write(json value: some Encodable) throws { pending += try encoder.encode(value) }

    /// Writes out what is more than a page or so.
    func flushIfLarge() throws { if pending.count >= 65_536 { try flush() } }

    /// Writes out what was added.
    func flush() throws {
        defer { pending = [] }
        try pending.withUnsafeBytes { try Descriptor.standardOutput.write($0) }
    }

    /// Bytes as they are, behind what was added.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try flush()
        try Descriptor.standardOutput.write(bytes)
    }

    /// One line on standard error; nothing can be done if that fails.
    ///
    /// Any thread.
    static func note(_ message: String) {
        let line = Array("haneke: \(Printable.text(message))\n".utf8)
        try? line.withUnsafeBytes { try Descriptor.standardError.write($0) }
    }

    /// The same.
    func note(_ message: String) { Self.note(message) }
}
