public import Foundation

/// What a request carries.
///
/// Only `.data` is held in memory; the others are read while they are sent.
public enum RequestBody: Sendable {
    /// These bytes.
    case data(Data)
    /// A part of a file: `length` bytes from `offset`, to the end if nil.
    case file(path: String, offset: Int64 = 0, length: Int64? = nil)
    /// Bytes out of a reader; a nil length is sent in chunks.
    ///
    /// The reader is asked on the transport's thread, so it must not wait for anything. It is made again for each attempt
    /// if `isReplayable`; otherwise the body can be sent once only.
    case stream(length: Int64?, isReplayable: Bool = true, @Sendable () throws -> any UploadReader)
    /// A form with files.
    case multipart(MultipartForm)

    /// The bytes, if they are in memory.
    public var data: Data? {
        guard case .data(let data) = self else { return nil }
        return data
    }

    var isReplayable: Bool {
        guard case .stream(_, let isReplayable, _) = self else { return true }
        return isReplayable
    }

    /// The number of bytes, nil if unknown.
    ///
    /// Looks at files; throws `.uploadSource` for one that can't be sent.
    func length() throws(NetworkError) -> Int64? {
        switch self {
        case .data(let data): Int64(data.count)
        case .file(let path, let offset, let length): try FileSlice(path: path, offset: offset, length: length).length
        case .stream(let length, _, _): length
        case .multipart(let form): try form.length()
        }
    }

    /// A reader at the first byte.
    func reader() throws -> any UploadReader {
        switch self {
        case .data(let data): DataReader(data)
        case .file(let path, let offset, let length): try FileSlice(path: path, offset: offset, length: length)
        case .stream(_, _, let makeReader): try makeReader()
        case .multipart(let form): try form.reader()
        }
    }
}

/// Gives the bytes of a body in order.
///
/// Asked on one thread at a time.
public protocol UploadReader: AnyObject {
    /// Fills the front of `buffer` and returns the number of bytes; 0 is the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

final class DataReader: UploadReader {
    private var rest: Data

    init(_ data: Data) { rest = data }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = rest.copyBytes(to: buffer)
        rest = rest.dropFirst(count)
        return count
    }
}

/// One reader behind the other.
final class ReaderChain: UploadReader {
    private var rest: [any UploadReader]

    init(_ readers: [any UploadReader]) { rest = readers.reversed() }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while let reader = rest.last {
            let count = try reader.read(into: buffer)
            if count > 0 { return count }
            rest.removeLast()
        }
        return 0
    }
}
