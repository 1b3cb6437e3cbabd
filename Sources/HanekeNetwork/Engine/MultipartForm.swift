public import Foundation

/// A `multipart/form-data` body (RFC 7578): fields first, then files, each in the order in which they were added.
///
/// Files are read while they are sent, never held in memory. Repetitions send the same boundary.
public struct MultipartForm: Sendable {
    struct Part: Sendable {
        let head: Data
        let body: RequestBody
        /// As written, for `curlCommandLineString`.
        let name: String
        let fileName: String?
    }

    /// What separates the parts: "hnk-" and 32 hexadecimal digits of 16 random bytes.
    public let boundary: String
    private var fields: [Part] = []
    private var files: [Part] = []

    /// An empty form with a boundary of its own.
    public init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    init(using generator: inout some RandomNumberGenerator) {
        let digits = (0..<2).map { _ in
            let half = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - half.count) + half
        }
        boundary = "hnk-" + digits.joined()
    }

    /// The media type with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    var parts: [Part] { fields + files }

    /// Adds fields.
    ///
    /// Throws `.encoding` for a number that is not finite.
    public mutating func addFields(_ parameters: RequestParameters) throws {
        for (name, text) in try parameters.flattened() {
            fields.append(
                Part(head: head(name, nil, nil), body: .data(Data(text.utf8)), name: name, fileName: nil))
        }
    }

    /// Adds a file that is read when the form is sent.
    ///
    /// - Parameters:
    ///   - mimeType: Default: by the extension, else `application/octet-stream`.
    ///   - fileName: Default: the file's own; of a path only the last part is sent.
    public mutating func addFile(
        _ path: String, forKey key: String, mimeType: String? = nil, fileName: String? = nil
    ) throws {
        try add(.file(path: path), key, mimeType, Self.lastComponent(fileName ?? path))
    }

    /// Adds bytes as a file; see `addFile(_:forKey:mimeType:fileName:)`.
    public mutating func addData(
        _ data: Data, forKey key: String, mimeType: String? = nil, fileName: String = "file"
    ) throws {
        try add(.data(data), key, mimeType, Self.lastComponent(fileName))
    }

    private mutating func add(
        _ body: RequestBody, _ key: String, _ mimeType: String?, _ fileName: String
    ) throws(NetworkError) {
        let type = mimeType ?? MediaType.forFileName(fileName)
        guard HeaderRules.isFieldValue(type) else {
            throw NetworkError(.invalidHeader, "the media type holds a line break or another control character")
        }
        files.append(Part(head: head(key, fileName, type), body: body, name: key, fileName: fileName))
    }

    func length() throws(NetworkError) -> Int64 {
        var total = Int64(closing.count)
        for part in parts { total += Int64(part.head.count) + (try part.body.length() ?? 0) + 2 }
        return total
    }

    func reader() throws -> any UploadReader {
        var readers: [any UploadReader] = []
        for part in parts {
            readers += [DataReader(part.head), try part.body.reader(), DataReader(Data("\r\n".utf8))]
        }
        return ReaderChain(readers + [DataReader(closing)])
    }

    private var closing: Data { Data("--\(boundary)--\r\n".utf8) }

    private func head(_ name: String, _ fileName: String?, _ type: String?) -> Data {
        var text = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName))\"" }
        if let type { text += "\r\nContent-Type: \(type)" }
        return Data((text + "\r\n\r\n").utf8)
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? "file"
    }

    /// By scalars: CR and LF together are one character of a Swift string.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}

enum MediaType {
    static func forFileName(_ name: String) -> String {
        let parts = name.split(separator: ".")
        guard parts.count > 1, let ending = parts.last?.lowercased() else { return fallback }
        return byEnding[ending] ?? fallback
    }

    private static let fallback = "application/octet-stream"
    private static let byEnding = [
        "avif": "image/avif", "bmp": "image/bmp", "css": "text/css", "csv": "text/csv", "gif": "image/gif",
        "gz": "application/gzip", "heic": "image/heic", "htm": "text/html", "html": "text/html", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
        "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain", "wav": "audio/wav", "webp": "image/webp",
        "xml": "application/xml", "zip": "application/zip",
    ]
}
