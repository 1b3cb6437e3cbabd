import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A part of an open file, read in order; its length is what the file had when it was opened (N-019).
final class FileSlice: UploadReader {
    let length: Int64
    private let path: String
    private let descriptor: Int32
    private let fileBytes: Int64
    private let end: Int64
    private var position: Int64

    /// Throws `.uploadSource` for what is no readable regular file with these bytes in it.
    init(path: String, offset: Int64, length: Int64?) throws(NetworkError) {
        // Not blocking: opening a FIFO would wait for its writer.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        self.path = path
        var status = stat()
        let result = fstat(descriptor, &status)
        fileBytes = Int64(status.st_size)
        position = offset
        self.length = length ?? max(0, fileBytes - offset)
        end = offset + self.length
        guard result == 0 else { throw Self.failure(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Self.failure(path, status.st_mode & S_IFMT == S_IFDIR ? EISDIR : ESPIPE)
        }
        guard offset >= 0, self.length >= 0, end <= fileBytes else { throw Self.failure(path, EINVAL) }
    }

    deinit { close(descriptor) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let wanted = Int(min(Int64(buffer.count), end - position))
        guard wanted > 0 else {
            try checkUnchanged()
            return 0
        }
        var count = pread(descriptor, buffer.baseAddress, wanted, off_t(position))
        while count < 0, errno == EINTR { count = pread(descriptor, buffer.baseAddress, wanted, off_t(position)) }
        guard count >= 0 else { throw Self.failure(path, errno) }
        guard count > 0 else { throw changed() }
        position += Int64(count)
        if position == end { try checkUnchanged() }
        return count
    }

    private func checkUnchanged() throws(NetworkError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, Int64(status.st_size) == fileBytes else { throw changed() }
    }

    private func changed() -> NetworkError {
        NetworkError(.uploadSourceChanged, "\(Redaction.printable(path)) changed its size while it was sent")
    }

    private static func failure(_ path: String, _ code: Int32) -> NetworkError {
        NetworkError(
            .uploadSource, "\(Redaction.printable(path)) can't be sent: \(String(cString: strerror(code)))",
            underlying: POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO))
    }
}
