import Foundation

/// Undoes `Content-Encoding` while the body streams in (N-097), and stops what grows without measure.
///
/// One for each response; not shared between tasks.
struct ContentDecoder {
    enum Limits {
        static let codingsMax = 2
        /// Unpacked bytes for each byte received.
        static let ratioMax = 100
        /// The ratio counts once this much is unpacked: small bodies may be very regular.
        static let ratioFreeBytes = 1024 * 1024
    }

    /// False if the body passes through as it is.
    var isActive: Bool {
        #if canImport(CZlib)
            !inflaters.isEmpty
        #else
            false
        #endif
    }

    private let target: WebURL
    private var receivedBytes = 0
    private var decodedBytes = 0
    #if canImport(CZlib)
        /// In the order in which they are undone: the last applied coding first.
        private let inflaters: [Inflater]
    #endif

    /// Throws `.malformedResponse` for more codings than anybody has a reason to stack.
    init(_ head: ResponseHead, target: WebURL) throws(NetworkError) {
        self.target = target
        let codings = head.headers.values(for: "Content-Encoding")
            .joined(separator: ",")
            .split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        guard codings.count <= Limits.codingsMax else {
            throw .malformedResponse("\(codings.count) stacked content codings", target)
        }
        #if canImport(CZlib)
            let formats = codings.reversed().map { coding -> Inflater.Format? in
                switch coding {
                case "gzip", "x-gzip": .gzip
                case "deflate": .deflate
                default: nil
                }
            }
            // A coding that we don't know leaves the whole body as it came: its header says what it is.
            let known = formats.compactMap(\.self)
            inflaters = known.count == formats.count ? known.map { Inflater($0) } : []
        #endif
    }

    /// Hands what `bytes` decode to, in pieces of at most 64 KiB unless nothing is packed, to `output`.
    mutating func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
        receivedBytes += bytes.count
        #if canImport(CZlib)
            if let first = inflaters.first {
                do {
                    try first.inflate(bytes) { [rest = inflaters.dropFirst()] piece in
                        try pass(piece, through: rest, output)
                    }
                } catch Inflater.Problem.broken(let words) {
                    throw NetworkError.malformedResponse("the packed body is broken (\(words))", target)
                }
                return
            }
        #endif
        try output(bytes)
    }

    /// Throws `.truncatedBody` if a packed stream has not come to its end.
    func finish() throws(NetworkError) {
        #if canImport(CZlib)
            guard inflaters.allSatisfy(\.isComplete) else {
                throw .truncatedBody(received: Int64(receivedBytes), expected: nil, target)
            }
        #endif
    }

    #if canImport(CZlib)
        private mutating func pass(
            _ piece: Data, through rest: ArraySlice<Inflater>, _ output: (Data) throws -> Void
        ) throws {
            // Each layer is measured against what came over the wire, so that layers can't share the blame.
            try measure(piece)
            guard let next = rest.first else { return try output(piece) }
            try next.inflate(piece) { inner in
                try pass(inner, through: rest.dropFirst(), output)
            }
        }

        private mutating func measure(_ piece: Data) throws(NetworkError) {
            decodedBytes += piece.count
            guard decodedBytes > Limits.ratioFreeBytes, decodedBytes / Limits.ratioMax > receivedBytes else { return }
            throw NetworkError(
                .decompressionBomb,
                "\(receivedBytes) packed bytes have become \(decodedBytes); don't trust this server",
                url: target.string)
        }
    #endif
}
