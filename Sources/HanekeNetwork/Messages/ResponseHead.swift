import Foundation

/// Status line and field lines of a response.
public struct ResponseHead: Sendable, Equatable {
    /// The status code, 100 to 999.
    public let status: Int
    /// The protocol with its version: "HTTP/1.1", "HTTP/2".
    public let version: String
    /// The field lines as received.
    public let headers: HTTPHeaders

    /// A head, as a transport makes it.
    public init(status: Int, version: String = "HTTP/1.1", headers: HTTPHeaders = HTTPHeaders()) {
        self.status = status
        self.version = version
        self.headers = headers
    }

    /// The announced number of body bytes; nil if it is missing, no number, or contradicts itself.
    var contentLength: Int64? {
        guard case .length(let length) = declaredLength else { return nil }
        return length
    }

    enum DeclaredLength: Equatable {
        case none
        case length(Int64)
        case contradictory
    }

    /// Several equal values count as one (RFC 9112, 6.3).
    var declaredLength: DeclaredLength {
        let values = headers.values(for: "Content-Length").flatMap { line -> [Substring] in
            line.split(separator: ",", omittingEmptySubsequences: false)
        }.map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = values.first else { return .none }
        guard values.allSatisfy({ $0 == first }), first.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int64(first)
        else { return .contradictory }
        return .length(length)
    }
}
