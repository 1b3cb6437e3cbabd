import Testing

/// The file `state`, as docs/DISK_FORMAT.md describes it.
struct RawState {
    static let open: UInt32 = 1
    static let closed: UInt32 = 2

    var bytes: [UInt8]

    init(_ directory: String) throws {
        bytes = try Files.read(directory + "/state")
        try #require(bytes.count == 64)
    }

    var magic: String { String(decoding: bytes.prefix(8), as: UTF8.self) }
    var version: UInt32 { bytes.integer(at: 8) }

    var state: UInt32 {
        get { bytes.integer(at: 12) }
        set { bytes.set(newValue, at: 12) }
    }

    var boot: [UInt8] {
        get { Array(bytes[16..<32]) }
        set { bytes.replaceSubrange(16..<32, with: newValue) }
    }

    var dataBytes: UInt64 {
        get { bytes.integer(at: 32) }
        set { bytes.set(newValue, at: 32) }
    }

    var dataChangedAt: UInt64 {
        get { bytes.integer(at: 40) }
        set { bytes.set(newValue, at: 40) }
    }

    var isSynced: Bool {
        get { bytes.integer(at: 48) as UInt64 == 1 }
        set { bytes.set(UInt64(newValue ? 1 : 0), at: 48) }
    }

    var digest: UInt64 { bytes.integer(at: 56) }
    var computedDigest: UInt64 { xxh3(Array(bytes.prefix(56))) }

    /// Writes it with the digest made right.
    mutating func write(to directory: String) throws {
        bytes.set(computedDigest, at: 56)
        try Files.write(bytes, to: directory + "/state")
    }

    /// Runs `body`, which damages the closed store, and marks what it leaves as closed cleanly.
    ///
    /// So the damage is met at reads, not at the open.
    static func silently(_ directory: String, _ body: () throws -> Void) throws {
        var state = try RawState(directory)
        #expect(state.state == closed)
        try body()
        let data = directory + "/data.mdb"
        state.dataBytes = UInt64(Files.size(data))
        state.dataChangedAt = Files.changedAt(data)
        try state.write(to: directory)
    }

    /// Marks the closed store as one that was open when the system went down.
    static func crash(_ directory: String) throws {
        var state = try RawState(directory)
        state.state = open
        state.boot = [UInt8](repeating: 7, count: 16)
        try state.write(to: directory)
    }

    /// Marks the closed store as one whose only process was killed.
    static func kill(_ directory: String) throws {
        var state = try RawState(directory)
        state.state = open
        try state.write(to: directory)
    }
}
