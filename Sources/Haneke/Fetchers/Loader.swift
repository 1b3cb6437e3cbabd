internal import Synchronization

/// A fetcher of any kind in the one form that the cache works with.
struct Loader<Value: Sendable>: Sendable {
    let source: FetchSource
    let load: @Sendable () async throws -> Value

    init(source: FetchSource, load: @escaping @Sendable () async throws -> Value) {
        self.source = source
        self.load = load
    }

    init(_ fetcher: some AsyncFetcher<Value>) {
        self.init(source: .fetcher) { try await fetcher.fetch() }
    }

    init(_ fetcher: Fetcher<Value>) {
        self.init(source: fetcher.source) { try await FetcherReply.value(of: fetcher) }
    }
}

/// What one run of a ``Fetcher`` answers: the first answer counts, silence and cancelling are answers too.
private final class FetcherReply<Value: Sendable>: Sendable {
    private enum Phase {
        case idle
        case starting(CheckedContinuation<Value, any Error>)
        case started(CheckedContinuation<Value, any Error>)
        case cancelledWhileStarting
        case over
    }

    private let phase = Mutex(Phase.idle)

    /// Runs the fetcher in the current task, and cancels it once if the task is cancelled.
    static func value(of fetcher: Fetcher<Value>) async throws -> Value {
        let reply = FetcherReply()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { reply.start(fetcher, $0) }
        } onCancel: {
            if reply.cancel() { fetcher.cancelFetch() }
        }
    }

    private func start(_ fetcher: Fetcher<Value>, _ continuation: CheckedContinuation<Value, any Error>) {
        let isWanted = phase.withLock { phase in
            guard case .idle = phase else { return false }
            phase = .starting(continuation)
            return true
        }
        guard isWanted else { return continuation.resume(throwing: CancellationError()) }
        do {
            // This scope ends the function's own hold on the token: then only the fetcher's closures hold it.
            let token = Token(self, fetcher)
            fetcher.fetch(
                failure: { token.answer(.failure($0)) },
                success: { token.answer(.success($0)) })
        }
        let wasCancelled = phase.withLock { phase in
            switch phase {
            case .starting(let continuation): phase = .started(continuation)
            case .cancelledWhileStarting:
                phase = .over
                return true
            case .idle, .started, .over: break
            }
            return false
        }
        if wasCancelled { fetcher.cancelFetch() }
    }

    /// Ends the wait; true if the fetcher runs and has to be told.
    private func cancel() -> Bool {
        let (continuation, isRunning) = phase.withLock { phase -> (CheckedContinuation<Value, any Error>?, Bool) in
            switch phase {
            case .starting(let continuation):
                phase = .cancelledWhileStarting
                return (continuation, false)
            case .started(let continuation):
                phase = .over
                return (continuation, true)
            case .idle:
                phase = .over
                return (nil, false)
            case .cancelledWhileStarting, .over: return (nil, false)
            }
        }
        continuation?.resume(throwing: CancellationError())
        return isRunning
    }

    /// Passes the first answer on; false for a further one.
    private func answer(_ result: Result<Value, any Error>) {
        let continuation = phase.withLock { phase -> CheckedContinuation<Value, any Error>? in
            switch phase {
            case .starting(let continuation), .started(let continuation):
                phase = .over
                return continuation
            case .idle, .cancelledWhileStarting, .over: return nil
            }
        }
        continuation?.resume(with: result)
    }

    /// Held by the two closures of a run: when it goes, nobody can answer any more.
    private final class Token: Sendable {
        private let reply: FetcherReply
        private let key: String
        private let isAnswered = Atomic(false)
        // Weak: a fetcher that keeps its closures would keep itself.
        private weak let fetcher: Fetcher<Value>?

        init(_ reply: FetcherReply, _ fetcher: Fetcher<Value>) {
            self.reply = reply
            self.fetcher = fetcher
            key = fetcher.key
        }

        deinit {
            guard !isAnswered.load(ordering: .acquiring) else { return }
            if fetcher?.endsSilently == true {
                reply.answer(.failure(CancellationError()))
            } else {
                reply.answer(
                    .failure(
                        HanekeError(
                            .fetcherAbandoned, "the fetcher of \"\(key)\" let go of its closures without a call")))
            }
        }

        func answer(_ result: Result<Value, any Error>) {
            guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else {
                return Diagnostics.report(
                    "the fetcher of \"\(key)\" answered more than once; only the first answer counts")
            }
            reply.answer(result)
        }
    }
}
