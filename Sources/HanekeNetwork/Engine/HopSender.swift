import Foundation

/// Sends one hop through the queue, again if it fails in a way that passes.
struct HopSender: Sendable {
    /// An answer, with what the cache has to know of it.
    struct Answer: Sendable {
        let response: HTTPResponse
        let head: ResponseHead
        let sent: Date
        let received: Date
        /// False for the long body of a redirect, of which nobody wants to see the end.
        let isComplete: Bool
        let bodyIsDecoded: Bool
    }

    private static let redirectBodyMax = 64 * 1024

    let configuration: EngineConfiguration
    let request: NetworkRequest
    let priority: NetworkPriority
    /// The identity in the queue.
    let id: UInt64
    let progress: (@Sendable (TransferProgress) -> Void)?
    let didReceive: @Sendable (TransferMetrics) -> Void
    /// Makes the first hop again for a repetition, with what `prepare` adds.
    let renew: @Sendable () async throws -> RequestHop

    func send(_ hop: RequestHop, adding conditions: [HTTPHeaders.Field] = []) async throws -> Answer {
        let retries = configuration.retries
        var hop = hop
        var attempt = 0
        while true {
            let verdict: RetryPolicy.Verdict
            let outcome: Result<Answer, NetworkError>
            do {
                let answer = try await queued(hop.adding(conditions))
                outcome = .success(answer)
                verdict = retries.verdict(
                    answer.head.status, answer.head.headers, attempt: attempt, random: configuration.random(),
                    now: configuration.clock.now)
            } catch let error as NetworkError {
                outcome = .failure(error)
                verdict = retries.verdict(error, attempt: attempt, random: configuration.random())
            }
            guard RetryPolicy.isRepeatable(hop) else { return try outcome.get() }
            switch verdict {
            case .giveUp:
                return try outcome.get()
            case .waitTooLong(let seconds):
                var error = NetworkError(
                    .retryAfter, "the server asks for a pause of \(seconds) s; try again then", url: hop.target.string)
                error.retryAfter = seconds
                error.response = try outcome.get().response
                throw error
            case .retry(let seconds):
                try await configuration.clock.sleep(for: .seconds(seconds))
            }
            attempt += 1
            if hop.chain.count == 1 { hop = try await renew() }
        }
    }

    private func queued(_ hop: RequestHop) async throws -> Answer {
        let ticket = SlotTable.Ticket(
            origin: "\(hop.target.isSecure ? "https" : "http")://\(hop.target.authority)", priority: priority,
            isLoopback: hop.target.isLoopback, needsUnmeteredPath: configuration.wifiOnlyMode,
            originMax: configuration.originLimit)
        // Checked before it is queued: a request that can't be sent takes no slot.
        let outgoing = try TransportRequest(
            target: hop.target, method: hop.method, headers: hop.headers, body: hop.body, timeouts: request.timeouts)
        return try await configuration.queue.run(ticket, id: id) { try await exchange(hop, outgoing) }
    }

    private func exchange(_ hop: RequestHop, _ outgoing: TransportRequest) async throws -> Answer {
        let sent = configuration.clock.now
        let exchange = try await configuration.transport.execute(outgoing)
        let received = configuration.clock.now
        let head = exchange.head
        let leadsOn = request.followsRedirects ? try hop.following(head) != nil : false
        let decodes = try exchange.bodyIsDecoded || ContentDecoder(head, target: hop.target).isActive
        var isComplete = true
        let response: HTTPResponse
        do {
            let limit = leadsOn ? Self.redirectBodyMax : request.maxBodyBytes
            var collector = try BodyCollector(exchange, hop, maxBodyBytes: limit, leadsOn ? nil : progress)
            response = try await collector.response()
        } catch let error as NetworkError where leadsOn && error.code == .bodyTooLarge {
            isComplete = false
            response = HTTPResponse(
                url: request.url, status: head.status, version: head.version, headers: head.headers)
        }
        didReceive(response.metrics)
        return Answer(
            response: response, head: head, sent: sent, received: received, isComplete: isComplete,
            bodyIsDecoded: decodes)
    }
}
