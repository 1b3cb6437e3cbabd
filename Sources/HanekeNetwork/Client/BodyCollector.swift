import Foundation

/// Pulls one body to its end, decoding it and holding it to its limit (N-095).
struct BodyCollector {
    private static let reportInterval = Duration.milliseconds(50)

    private let exchange: TransportExchange
    private let target: WebURL
    private let url: URL
    private let maxBodyBytes: Int
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private let totalBytes: Int64?

    private var decoder: ContentDecoder?
    private var body = Data()
    private var receivedBytes: Int64 = 0
    private var lastReport: ContinuousClock.Instant?
    private var reportedBytes: Int64 = -1

    /// Throws `.bodyTooLarge` before anything is read if the announced length is over the limit.
    init(
        _ exchange: TransportExchange, _ hop: RequestHop, maxBodyBytes: Int,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) throws {
        let (head, target) = (exchange.head, hop.target)
        guard let url = URL(string: target.string) else {
            throw NetworkError.badURL("it has no URL form", url: target.string)
        }
        self.exchange = exchange
        self.target = target
        self.url = url
        self.maxBodyBytes = maxBodyBytes
        self.progress = progress

        let hasBody = hop.method != "HEAD" && head.status != 204 && head.status != 304
        let announced = hasBody && !head.headers.contains("Transfer-Encoding") ? head.contentLength : nil
        if let announced, announced > maxBodyBytes {
            exchange.body.cancel()
            throw NetworkError.bodyTooLarge(maxBodyBytes, target)
        }
        let decoder = try hasBody && !exchange.bodyIsDecoded ? ContentDecoder(head, target: target) : nil
        self.decoder = decoder
        let isPacked = decoder?.isActive ?? head.headers.contains("Content-Encoding")
        totalBytes = isPacked ? nil : announced
        // An announcement is only a claim: memory follows what really comes.
        body.reserveCapacity(min(Int(announced ?? 0), 1024 * 1024))
    }

    mutating func response() async throws -> HTTPResponse {
        while true {
            switch try await exchange.body.next() {
            case .bytes(let bytes):
                receivedBytes += Int64(bytes.count)
                try take(bytes)
                report(isLast: false)
            case .end(let trailers, let metrics):
                try decoder?.finish()
                report(isLast: true)
                let head = exchange.head
                return HTTPResponse(
                    url: url, status: head.status, version: head.version, headers: head.headers, body: body,
                    trailers: trailers, metrics: metrics)
            }
        }
    }

    private mutating func take(_ bytes: Data) throws {
        var decoded = body
        body = Data()
        let (maxBodyBytes, target) = (maxBodyBytes, target)
        let append = { (piece: Data) throws in
            guard decoded.count + piece.count <= maxBodyBytes else {
                throw NetworkError.bodyTooLarge(maxBodyBytes, target)
            }
            decoded.append(piece)
        }
        do {
            if decoder == nil { try append(bytes) } else { try decoder?.decode(bytes, append) }
        } catch {
            exchange.body.cancel()
            throw error
        }
        body = decoded
    }

    private mutating func report(isLast: Bool) {
        guard let progress, isLast ? reportedBytes != receivedBytes : true else { return }
        let now = ContinuousClock.now
        let isDue = lastReport.map { now - $0 >= Self.reportInterval } ?? true
        guard isLast || isDue || receivedBytes == totalBytes else { return }
        lastReport = now
        reportedBytes = receivedBytes
        progress(TransferProgress(completedBytes: receivedBytes, totalBytes: totalBytes))
    }
}
