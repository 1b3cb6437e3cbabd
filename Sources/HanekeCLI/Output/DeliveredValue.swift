import Foundation
import HanekeStorage

/// Where a value went, as part of a JSON document: into it, or to a file.
struct DeliveredValue: Encodable {
    var file: String?
    var encoding: String?
    var value: String?
}

extension Session {
    /// Hands on a pinned value from where it lies; see `deliver(_:)`.
    func deliver(_ lease: borrowing Lease) throws -> DeliveredValue? {
        try lease.withUnsafeBytes { try deliver($0) }
    }

    /// Hands a value to the user: to the file of `-o`, into the JSON document that follows, or to standard output.
    ///
    /// The result is nil where nothing has to be said of it.
    func deliver(_ bytes: UnsafeRawBufferPointer) throws -> DeliveredValue? {
        if let path = invocation[.output], path != "-" {
            try FileContents.write(path, bytes)
            return DeliveredValue(file: path)
        }
        if !console.wantsJSON {
            try console.write(bytes)
            return nil
        }
        if let text = String(validating: bytes, as: UTF8.self) {
            return DeliveredValue(encoding: "utf-8", value: text)
        }
        return DeliveredValue(encoding: "base64", value: Data(bytes).base64EncodedString())
    }
}
