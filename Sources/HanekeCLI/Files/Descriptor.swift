import Foundation

/// An open file, closed with its last use; reads and writes are whole or an error.
struct Descriptor: ~Copyable {
    let raw: Int32
    /// For messages: a path, or "standard output".
    let name: String
    private let isOwned: Bool

    /// Nobody reads what is written any more.
    struct ReaderGone: Error {}

    private init(raw: Int32, name: String, isOwned: Bool) {
        self.raw = raw
        self.name = name
        self.isOwned = isOwned
    }

    deinit { if isOwned { _ = close(raw) } }

    static var standardInput: Descriptor { Descriptor(raw: 0, name: "standard input", isOwned: false) }
    static var standardOutput: Descriptor { Descriptor(raw: 1, name: "standard output", isOwned: false) }
    static var standardError: Descriptor { Descriptor(raw: 2, name: "standard error", isOwned: false) }

    /// Takes over a file that another call has opened; nil if it failed.
    init?(adopting raw: Int32, name: String) {
        guard raw >= 0 else { return nil }
        self.init(raw: raw, name: name, isOwned: true)
    }

    /// Opens `path` as `open(2)` does; nil, with `errno`, if it fails.
    init?(opening path: String, _ flags: Int32, mode: mode_t = 0o666) {
        self.init(adopting: retrying { open(path, flags | O_CLOEXEC, mode) }, name: path)
    }

    var isTerminal: Bool { isatty(raw) == 1 }

    var status: stat {
        var status = stat()
        return fstat(raw, &status) == 0 ? status : stat()
    }

    /// Fills `buffer` with what comes next, in as many rounds as it takes; the result is less than its length only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = retrying { Foundation.read(raw, rest.baseAddress, rest.count) }
            if count < 0 { throw Failure.failed("\(name): cannot be read: \(systemErrorText())") }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// All of `bytes`, in as many rounds as it takes.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = retrying { Foundation.write(raw, piece.baseAddress, piece.count) }
            if count < 0 {
                if errno == EPIPE { throw ReaderGone() }
                throw Failure.failed("\(name): cannot be written: \(systemErrorText())")
            }
            rest = rest.dropFirst(count)
        }
    }
}
