import Foundation

/// One hop with the cache in front of the network (RFC 9111; N-029…N-057).
struct CachedHop: Sendable {
    let hop: RequestHop
    let policy: CachePolicy
    let cache: HTTPCache
    let clock: any NetworkClock
    let sender: HopSender
    /// Takes the first of two deliveries.
    let deliverFirst: (@Sendable (HTTPResponse) -> Void)?

    private static let safeMethods = ["GET", "HEAD", "OPTIONS", "TRACE"]
    private static let replaceableStatuses = [500, 502, 503, 504]

    private var partition: String { cache.partition(hop.headers) }

    func response() async throws -> HTTPResponse {
        if hop.method == "HEAD" { return try await headResponse() }
        guard StorageRule.isCacheable(method: hop.method, headers: hop.headers) else {
            if RequestDirectives(hop.headers).isOnlyIfCached { return gatewayTimeout() }
            if policy == .cacheOnly { throw miss() }
            let answer = try await sender.send(hop)
            if !Self.safeMethods.contains(hop.method), (200...399).contains(answer.head.status) {
                invalidate(answer.head)
            }
            return answer.response
        }
        return try await getResponse()
    }

    // MARK: GET

    private func getResponse() async throws -> HTTPResponse {
        let variants = policy == .networkOnly ? [] : cache.variants(url: hop.target, partition: partition)
        let chosen = newest(variants)
        let directives = RequestDirectives(hop.headers)
        let rule = chosen.map { ReuseRule($0.head, request: directives, policy: policy, now: clock.now) }

        if directives.isOnlyIfCached || policy == .cacheOnly {
            guard let chosen, let rule else {
                if directives.isOnlyIfCached { return gatewayTimeout() }
                throw miss()
            }
            let isUsable = policy == .cacheOnly ? rule.mayBeShownStale : rule.decision != .validate
            if isUsable, let response = cached(chosen, rule) { return response }
            if directives.isOnlyIfCached { return gatewayTimeout() }
            guard isUsable else { throw mustRevalidate() }
            throw miss()
        }
        if let chosen, let rule {
            if policy == .cacheThenNetwork {
                if rule.isImmutable, let response = cached(chosen, rule) { return response }
                if rule.mayBeShownStale, !directives.forcesValidation, try !leadsOn(chosen.head),
                    var response = cached(chosen, rule)
                {
                    response.isFinal = false
                    deliverFirst?(response)
                }
            } else if rule.decision != .validate, let response = cached(chosen, rule) {
                if rule.decision == .staleWhileRevalidating { refreshInBackground(chosen, variants) }
                return response
            }
        }
        do {
            let response = try await fromNetwork(chosen, variants)
            if Self.replaceableStatuses.contains(response.status), let stale = replacement(chosen, rule) {
                return stale
            }
            return response
        } catch let error as NetworkError {
            if let stale = replacement(chosen, rule) { return stale }
            throw error
        }
    }

    private func fromNetwork(
        _ chosen: HTTPCache.Stored?, _ variants: [HTTPCache.Stored], isRepetition: Bool = false
    ) async throws -> HTTPResponse {
        let conditions = ValidationRule.conditions(chosen?.head, variants: variants.map(\.head))
        let moment = cache.moment()
        let answer = try await sender.send(hop, adding: conditions)
        if answer.head.status == 304 {
            if !conditions.isEmpty, let response = validated(answer, chosen, variants) { return response }
            guard !isRepetition else {
                throw NetworkError.malformedResponse("304 to a request without a condition", hop.target)
            }
            return try await fromNetwork(nil, [], isRepetition: true)
        }
        if answer.isComplete, StorageRule.mayStore(answer.head) {
            cache.store(
                storedHead(answer), body: answer.response.body, url: hop.target, partition: partition, since: moment)
        } else if (200...299).contains(answer.head.status), let chosen {
            cache.distrust(chosen)
        }
        return answer.response
    }

    private func validated(
        _ answer: HopSender.Answer, _ chosen: HTTPCache.Stored?, _ variants: [HTTPCache.Stored]
    ) -> HTTPResponse? {
        let selected = ValidationRule.selected(by: answer.head, chosen: chosen?.head, variants: variants.map(\.head))
        guard let selected, let stored = variants.first(where: { $0.head == selected }),
            let body = cache.body(of: stored)
        else { return nil }
        let head = ValidationRule.refreshed(
            selected, by: answer.head, request: hop.headers, sent: answer.sent, received: answer.received)
        if VaryRule.names(head.headers) != nil, !head.cacheControl.has("no-store") {
            cache.update(stored, head: head, body: body)
        }
        return made(head, body, .validated)
    }

    /// True for a stored redirect that is followed, which nobody wants to see.
    private func leadsOn(_ head: StoredHead) throws -> Bool {
        guard sender.request.followsRedirects else { return false }
        return try hop.following(ResponseHead(status: head.status, headers: head.headers)) != nil
    }

    /// Once for each entry at a time; nobody waits for it.
    private func refreshInBackground(_ chosen: HTTPCache.Stored, _ variants: [HTTPCache.Stored]) {
        guard cache.beginRefresh(chosen) else { return }
        Task {
            defer { cache.endRefresh(chosen) }
            // Whatever goes wrong is met again by the next request, which then waits for the network itself.
            _ = try? await fromNetwork(chosen, variants)
        }
    }

    private func replacement(_ chosen: HTTPCache.Stored?, _ rule: ReuseRule?) -> HTTPResponse? {
        guard policy != .cacheThenNetwork, let chosen, let rule, rule.mayReplaceError else { return nil }
        return cached(chosen, rule)
    }

    // MARK: HEAD and unsafe methods

    private func headResponse() async throws -> HTTPResponse {
        let variants = cache.variants(url: hop.target, partition: partition)
        let chosen = newest(variants)
        let directives = RequestDirectives(hop.headers)
        if let chosen, policy != .networkOnly, !directives.isNoStore, !hop.headers.contains("Range"),
            !ValidationRule.isConditional(hop.headers)
        {
            let rule = ReuseRule(chosen.head, request: directives, policy: .cacheElseNetwork, now: clock.now)
            if rule.decision == .fresh { return made(chosen.head, Data(), .cacheFresh) }
        }
        if directives.isOnlyIfCached { return gatewayTimeout() }
        if policy == .cacheOnly { throw miss() }
        let answer = try await sender.send(hop)
        if answer.head.status == 200, let chosen, let body = cache.body(of: chosen) {
            let head = ValidationRule.updated(
                chosen.head, byHead: answer.head, sent: answer.sent, received: answer.received)
            cache.update(chosen, head: head, body: body)
        }
        return answer.response
    }

    private func invalidate(_ head: ResponseHead) {
        cache.invalidate(hop.target)
        for name in ["Location", "Content-Location"] {
            guard let text = head.headers.values(for: name).first, let url = hop.target.resolving(text),
                url.isSameOrigin(as: hop.target)
            else { continue }
            cache.invalidate(url)
        }
    }

    // MARK: Making answers

    private func newest(_ variants: [HTTPCache.Stored]) -> HTTPCache.Stored? {
        let matching = variants.filter { VaryRule.matches($0.head, hop.headers) }
        let newest = VaryRule.newest(matching.map(\.head))
        return matching.first { $0.head == newest }
    }

    private func storedHead(_ answer: HopSender.Answer) -> StoredHead {
        StoredHead(
            url: hop.target.string, status: answer.head.status, version: answer.head.version,
            headers: StorageRule.storedHeaders(answer.head.headers), requestTime: answer.sent,
            responseTime: answer.received,
            selectors: VaryRule.selectors(VaryRule.names(answer.head.headers) ?? [], in: hop.headers),
            bodyIsDecoded: answer.bodyIsDecoded)
    }

    private func cached(_ stored: HTTPCache.Stored, _ rule: ReuseRule) -> HTTPResponse? {
        cache.body(of: stored).map { made(stored.head, $0, rule.freshness.isFresh ? .cacheFresh : .cacheStale) }
    }

    /// One computed `Age`; everything else as it was stored.
    private func made(_ head: StoredHead, _ body: Data, _ source: ResponseSource) -> HTTPResponse {
        let age = Freshness.age(head, now: clock.now)
        var headers = head.headers
        headers["Age"] = "\(Int64(age))"
        var response = HTTPResponse(
            url: URL(string: head.url) ?? sender.request.url, status: head.status, version: head.version,
            headers: headers, body: body)
        response.source = source
        response.age = age
        return response
    }

    private func gatewayTimeout() -> HTTPResponse {
        HTTPResponse(url: URL(string: hop.target.string) ?? sender.request.url, status: 504)
    }

    private func miss() -> NetworkError {
        NetworkError(.cacheMiss, "nothing is stored for it; allow the network", url: hop.target.string)
    }

    private func mustRevalidate() -> NetworkError {
        NetworkError(
            .mustRevalidate, "what is stored must be checked with the server; allow the network",
            url: hop.target.string)
    }
}
