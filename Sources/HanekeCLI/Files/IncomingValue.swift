import Foundation
import HanekeStorage

/// A value on its way into the store: read piece by piece, so that memory stays bounded whatever its size.
struct IncomingValue: ~Copyable {
    /// Its first bytes, at most 1 MiB.
    let start: [UInt8]
    /// Whether the start is all of it.
    let isWhole: Bool
    private let file: Descriptor
    private static let pieceBytes = 1 << 20

    /// The value exceeds the bucket's capacity; the key's old value, now stale, is gone.
    struct TooLarge: Error {
        /// How much there is, in words.
        let size: String
    }

    /// Reads the start of a file, or of standard input for "-".
    init(_ path: String) throws {
        let file = try Self.open(path)
        // One byte more than a small file has, so that its end is met in one round; in /proc they claim to have none.
        let status = file.status
        let isFile = status.st_mode & S_IFMT == S_IFREG
        let room = isFile ? min(Self.pieceBytes, max(4_096, Int(clamping: status.st_size) + 1)) : Self.pieceBytes
        start = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        isWhole = start.count < room
        self.file = file
    }

    private static func open(_ path: String) throws -> Descriptor {
        if path == "-" { return .standardInput }
        guard let file = Descriptor(opening: path, O_RDONLY) else {
            throw Failure.failed("\(path): cannot be read: \(systemErrorText()); name a file that can")
        }
        return file
    }

    /// Puts the value under `key`; the result is its length in bytes.
    ///
    /// - Throws: `TooLarge`; or what keeps the rest from being read or stored: then nothing was changed.
    consuming func store(in bucket: Bucket, forKey key: String, lifetime: Duration?) throws -> Int {
        var count = start.count
        do {
            guard !isWhole else {
                try bucket.set(start, forKey: key, lifetime: lifetime)
                return count
            }
            let capacity = try bucket.statistics().capacityBytes
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 1)
            defer { buffer.deallocate() }
            var writer = try bucket.writer(forKey: key, lifetime: lifetime)
            try writer.append(start)
            while case let length = try file.read(into: buffer), length > 0 {
                count += length
                guard count <= capacity else {
                    // Not the store's to refuse: an endless pipe would fill the disk before it is asked.
                    try bucket.remove(key)
                    throw TooLarge(size: "at least \(ByteCount.text(max(count, Int(clamping: file.status.st_size))))")
                }
                try writer.append(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            }
            try writer.commit()
            return count
        } catch let error as StoreError where error.code == .valueTooLarge {
            throw TooLarge(size: ByteCount.text(count))
        }
    }
}
