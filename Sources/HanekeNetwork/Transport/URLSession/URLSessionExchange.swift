import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One data task with its mailbox and its time limits.
final class URLSessionExchange: Sendable {
    let task: URLSessionDataTask
    let mailbox = TransferMailbox()

    private struct State {
        var clock: TransferClock
        var head: ResponseHead?
        var receivedBytes: Int64 = 0
        var watchdog: Task<Void, Never>?
    }

    private let request: TransportRequest
    private let started = ContinuousClock.now
    private let state: Mutex<State>

    init(task: URLSessionDataTask, request: TransportRequest) {
        self.task = task
        self.request = request
        var limits = request.timeouts
        // When the connection stands is not reported in time.
        if let connect = limits.connect, let firstByte = limits.firstByte { limits.firstByte = connect + firstByte }
        var clock = TransferClock(limits, now: started)
        clock.sent(at: started)
        state = Mutex(State(clock: clock))
        let watchdog = Task { [weak self] in
            while let next = self?.nextDeadline() {
                // Throws when cancelled, at the end of the exchange.
                guard (try? await Task.sleep(until: next, clock: .continuous)) != nil else { return }
            }
        }
        state.withLock { $0.watchdog = watchdog }
    }

    func received(_ head: ResponseHead) {
        state.withLock {
            $0.head = head
            $0.clock.received(0, at: .now)
        }
        mailbox.deliver(.init(interim: [], final: head))
    }

    func received(_ bytes: Data) {
        state.withLock {
            $0.receivedBytes += Int64(bytes.count)
            $0.clock.received(bytes.count, at: .now)
        }
        guard mailbox.deliverAll(bytes) else { return }
        state.withLock { $0.clock.paused() }
        task.suspend()
    }

    /// The reader asks for more after a pause.
    func goOn() {
        state.withLock { $0.clock.resumed(at: .now) }
        task.resume()
    }

    func finished(_ error: (any Error)?) {
        let (head, receivedBytes) = state.withLock { state in
            state.watchdog?.cancel()
            return (state.head, state.receivedBytes)
        }
        if let error {
            return mailbox.finish(.failure(networkError(error, head: head, receivedBytes: receivedBytes)))
        }
        var metrics = TransferMetrics()
        metrics.total = ContinuousClock.now - started
        metrics.receivedBytes = receivedBytes
        metrics.sentBytes = Int64(request.bodyLength ?? 0)
        mailbox.finish(.success(.init(trailers: HTTPHeaders(), metrics: metrics)))
    }

    /// Nil when there is nothing to wait for any more: a limit ran out, or none is set.
    private func nextDeadline() -> ContinuousClock.Instant? {
        let (expired, next) = state.withLock { state in
            (state.clock.expired(at: .now), state.clock.next?.at ?? ContinuousClock.now.advanced(by: .seconds(1)))
        }
        guard let expired else { return next }
        mailbox.finish(.failure(NetworkError.timeout(expired.phase, limit: expired.limit, request.target)))
        task.cancel()
        return nil
    }

    private func networkError(_ error: any Error, head: ResponseHead?, receivedBytes: Int64) -> NetworkError {
        func made(_ code: NetworkError.Code, _ reason: String) -> NetworkError {
            NetworkError(code, reason, url: request.url, underlying: error)
        }
        guard let error = error as? URLError else { return made(.transport, "URLSession failed (\(error))") }
        switch error.code {
        case .cancelled:
            // Not by us: our own cancel has settled the mailbox before.
            return made(.transport, "URLSession gave up; see `underlying`")
        case .cannotFindHost, .dnsLookupFailed:
            return made(.dns, "the name can't be resolved; check it and your name server")
        case .cannotConnectToHost, .notConnectedToInternet:
            return made(.connect, "no connection; check that the server runs")
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            return made(.tls, "no trusted encrypted connection; check certificate and host name")
        case .cannotParseResponse, .badServerResponse, .cannotDecodeContentData, .cannotDecodeRawData:
            return made(.malformedResponse, "the server does not answer in HTTP")
        case .networkConnectionLost where head == nil:
            return made(.connectionLost, "the connection ended before a response; try again")
        default:
            guard let head else { return made(.transport, "URLSession failed; see `underlying`") }
            var truncated = NetworkError.truncatedBody(
                received: receivedBytes, expected: head.contentLength, request.target)
            truncated.underlying = error
            return truncated
        }
    }
}
