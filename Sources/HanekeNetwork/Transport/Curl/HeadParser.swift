// Turns the header lines that libcurl hands over into heads, and holds them to the limits (N-094).

/// One for each transfer: interim heads, the final head, then trailers.
struct HeadParser {
    enum Limits {
        static let lineBytesMax = 64 * 1024
        /// Of all heads and trailers of one exchange together.
        static let totalBytesMax = 256 * 1024
        static let fieldsMax = 500
        static let interimHeadsMax = 20
    }

    enum Problem: Error, Equatable {
        case tooLarge(String)
        case malformed(String)
    }

    private(set) var interim: [ResponseHead] = []
    private(set) var final: ResponseHead?
    private(set) var trailers = HTTPHeaders()

    private var totalBytes = 0
    private var status: (code: Int, version: String)?
    private var fields: [HTTPHeaders.Field] = []

    /// Takes one line with its line end.
    ///
    /// Returns true if it completed the final head.
    mutating func take(_ line: UnsafeRawBufferPointer) throws(Problem) -> Bool {
        totalBytes += line.count
        guard line.count <= Limits.lineBytesMax else { throw .tooLarge("a line has more than 64 KiB") }
        guard totalBytes <= Limits.totalBytesMax else { throw .tooLarge("the head has more than 256 KiB") }
        let content = Self.withoutLineEnd(line)

        if final != nil {
            if !content.isEmpty { try addField(content) }
            trailers = HTTPHeaders(fields)
            return false
        }
        guard let status else {
            self.status = try Self.statusLine(content)
            return false
        }
        guard content.isEmpty else {
            try addField(content)
            return false
        }
        let head = ResponseHead(status: status.code, version: status.version, headers: HTTPHeaders(fields))
        self.status = nil
        fields = []
        if status.code < 200 {
            interim.append(head)
            guard interim.count <= Limits.interimHeadsMax else { throw .tooLarge("more than 20 interim answers") }
            return false
        }
        guard head.declaredLength != .contradictory else {
            throw .malformed("Content-Length is no single number: \(head.headers["Content-Length"] ?? "")")
        }
        final = head
        return true
    }

    private mutating func addField(_ line: Slice<UnsafeRawBufferPointer>) throws(Problem) {
        if let first = line.first, first == 0x20 || first == 0x09 {
            // obs-fold (RFC 9112, 5.2): the line goes on with the value of the one before.
            guard let last = fields.popLast() else { throw .malformed("a folded line follows no field") }
            fields.append(.init(name: last.name, value: last.value + " " + Self.value(line)))
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw .malformed("a header line has no colon")
        }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        guard HeaderRules.isToken(name) else { throw .malformed("a header line has no valid field name") }
        guard fields.count < Limits.fieldsMax else { throw .tooLarge("more than 500 fields") }
        fields.append(.init(name: name, value: Self.value(line[(colon + 1)...])))
    }

    /// `HTTP/1.1 200 OK` or `HTTP/2 200`: the version, and three digits.
    private static func statusLine(
        _ line: Slice<UnsafeRawBufferPointer>
    ) throws(Problem) -> (code: Int, version: String) {
        let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/"), parts[1].utf8.count == 3, let code = Int(parts[1]),
            (100...999).contains(code)
        else { throw .malformed("the response does not begin with an HTTP status line") }
        return (code, String(parts[0]))
    }

    private static func withoutLineEnd(_ line: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var content = line[...]
        if content.last == 0x0A { content = content.dropLast() }
        if content.last == 0x0D { content = content.dropLast() }
        return content
    }

    /// Control characters become spaces, white space around goes.
    ///
    /// Bytes that are no UTF-8 are read as Latin-1.
    private static func value(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let clean = bytes.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
        let kept = clean.drop { $0 == 0x20 }
        let end = kept.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? kept.startIndex
        let trimmed = kept[..<end]
        if let text = String(validating: trimmed, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(trimmed.map { Unicode.Scalar($0) }))
    }
}
