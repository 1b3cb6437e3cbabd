// What may be sent as method and field lines (RFC 9110, 5.5, 5.6.2 and 9.1). Nothing is repaired: a value with a line
// break in it is somebody's mistake or somebody's attack.

enum HeaderRules {
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Visible characters, spaces and tabs; bytes above ASCII are opaque data.
    static func isFieldValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    }

    /// Throws `.invalidHeader` for the first line that may not be sent with this body to this address.
    static func check(_ headers: HTTPHeaders, bodyBytes: Int64?, target: WebURL) throws(NetworkError) {
        for field in headers {
            guard isToken(field.name) else {
                throw .invalidHeader(
                    "\"\(Redaction.printable(field.name))\" is no field name; use letters, digits and -._", target)
            }
            guard isFieldValue(field.value) else {
                throw .invalidHeader(
                    "the value of \(field.name) holds a line break or another control character; remove it", target)
            }
            if field.name.isSameToken(as: "Transfer-Encoding") {
                throw .invalidHeader("Transfer-Encoding is the transport's to choose; leave it out", target)
            }
            if field.name.isSameToken(as: "Content-Length"),
                bodyBytes == nil || field.value != bodyBytes.map({ "\($0)" })
            {
                throw .invalidHeader(
                    "Content-Length is \(field.value) but the body has \(bodyBytes.map { "\($0)" } ?? "?") bytes; leave it out",
                    target)
            }
            if field.name.isSameToken(as: "Host"), !field.value.isSameToken(as: target.authority) {
                throw .invalidHeader(
                    "Host is \(field.value) but the URL says \(target.authority); leave it out", target)
            }
        }
    }

    static func checkMethod(_ method: String, target: WebURL) throws(NetworkError) {
        guard isToken(method) else {
            throw .invalidHeader("\"\(Redaction.printable(method))\" is no method; use a token such as GET", target)
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default:
            "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
