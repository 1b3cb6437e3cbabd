import Foundation

/// Whether a stored response may be given out (RFC 9111, 4; N-029, N-048…N-050).
struct ReuseRule {
    enum Decision: Equatable {
        /// Good without asking.
        case fresh
        /// Out of date, but the request or the policy permits that.
        case stale
        /// Out of date, permitted, and to be refreshed in the background.
        case staleWhileRevalidating
        /// To be asked about first.
        case validate
    }

    let head: StoredHead
    let freshness: Freshness
    private let response: CacheControl
    private let request: RequestDirectives
    private let policy: CachePolicy

    init(_ head: StoredHead, request: RequestDirectives, policy: CachePolicy, now: Date) {
        self.head = head
        self.request = request
        self.policy = policy
        freshness = Freshness(head, now: now)
        response = head.cacheControl
    }

    var decision: Decision {
        guard !mustAsk, !request.forcesValidation else { return .validate }
        let isYoungEnough = request.maxAge.map { freshness.age <= $0 } ?? true
        let remains = freshness.lifetime - freshness.age
        if freshness.isFresh, isYoungEnough, remains >= request.minFresh { return .fresh }
        guard !isStrict, isYoungEnough else { return .validate }
        if let maxStale = request.maxStale, freshness.staleness <= maxStale { return .stale }
        // One that only lacks `min-fresh` is not stale by anything.
        guard !freshness.isFresh else { return .validate }
        var window = response.seconds("stale-while-revalidate").number ?? 0
        if case .staleWhileRevalidate(let seconds) = policy { window = max(window, seconds) }
        return freshness.staleness <= window && window > 0 ? .staleWhileRevalidating : .validate
    }

    /// True if it may stand in for an error of the network or the server.
    var mayReplaceError: Bool {
        guard !mustAsk, !isStrict, !request.forcesValidation else { return false }
        var window = max(
            response.seconds("stale-if-error").number ?? 0, request.staleIfError ?? 0)
        if case .staleIfError(let seconds) = policy { window = max(window, seconds) }
        return window > 0 && freshness.staleness <= window
    }

    /// True if it may be shown however old it is: by `cacheOnly`, and before the network's answer.
    var mayBeShownStale: Bool { !mustAsk && (freshness.isFresh || !response.has("must-revalidate")) }

    /// Fresh and promised never to change: not even worth asking.
    var isImmutable: Bool { decision == .fresh && response.has("immutable") }

    /// Never used without asking.
    private var mustAsk: Bool { response.has("no-cache") || head.needsValidation }

    private var isStrict: Bool { !freshness.isFresh && response.has("must-revalidate") }
}

/// What a request says in `Cache-Control`, or in `Pragma` if there is none (N-049).
struct RequestDirectives {
    let forcesValidation: Bool
    let isOnlyIfCached: Bool
    let isNoStore: Bool
    let maxAge: TimeInterval?
    let minFresh: TimeInterval
    /// Infinite without a number.
    let maxStale: TimeInterval?
    let staleIfError: TimeInterval?

    init(_ headers: HTTPHeaders) {
        let control = CacheControl(headers)
        let pragma = control.isEmpty && CacheControl(lines: headers.values(for: "Pragma")).has("no-cache")
        let maxAge = control.seconds("max-age")
        forcesValidation = control.has("no-cache") || pragma || maxAge == .invalid || maxAge.number == 0
        isOnlyIfCached = control.has("only-if-cached")
        isNoStore = control.has("no-store")
        self.maxAge = maxAge.number
        minFresh = control.seconds("min-fresh").number ?? (control.has("min-fresh") ? .infinity : 0)
        let maxStale = control.seconds("max-stale").number
        let isBare = control.has("max-stale") && control.isBare("max-stale")
        self.maxStale = maxStale ?? (isBare ? .infinity : nil)
        staleIfError = control.seconds("stale-if-error").number
    }
}
