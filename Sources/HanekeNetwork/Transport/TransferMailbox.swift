// Where the thread that brings the bytes of one response meets the task that reads them.
import Foundation
import Synchronization

/// A bounded buffer with a head in front and an end behind.
///
/// The writer never blocks; it is told when to pause.
///
/// The lock is held for appending and taking only; continuations are resumed outside.
final class TransferMailbox: Sendable {
    struct Heads: Sendable {
        let interim: [ResponseHead]
        let final: ResponseHead
    }

    struct End: Sendable {
        let trailers: HTTPHeaders
        let metrics: TransferMetrics
    }

    /// What became of bytes that the writer brought.
    enum Acceptance {
        case taken
        /// Not taken: the writer pauses, and brings the same bytes again after the reader's `wasPaused`.
        case full
        /// Not taken: nobody reads any more.
        case closed
    }

    typealias Next = (part: TransportBodyPart, wasPaused: Bool)

    private typealias HeadReader = CheckedContinuation<Heads, any Error>
    private typealias BodyReader = CheckedContinuation<Next, any Error>

    private struct State {
        var heads: Heads?
        var buffer = Data()
        var isPaused = false
        var end: Result<End, any Error>?
        var headReaders: [HeadReader] = []
        var bodyReaders: [BodyReader] = []
    }

    /// Enough to keep a fast reader busy, little enough that a thousand slow ones cost nothing that matters.
    static let bufferBytesMax = 256 * 1024

    private let state = Mutex(State())

    // MARK: The writer's side

    func deliver(_ heads: Heads) {
        let readers = state.withLock { state in
            guard state.end == nil else { return [HeadReader]() }
            state.heads = heads
            defer { state.headReaders = [] }
            return state.headReaders
        }
        for reader in readers { reader.resume(returning: heads) }
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) -> Acceptance {
        let (acceptance, reader) = state.withLock { state -> (Acceptance, BodyReader?) in
            guard state.end == nil else { return (.closed, nil) }
            if !state.bodyReaders.isEmpty { return (.taken, state.bodyReaders.removeFirst()) }
            guard state.buffer.isEmpty || state.buffer.count + bytes.count <= Self.bufferBytesMax else {
                state.isPaused = true
                return (.full, nil)
            }
            state.buffer.append(contentsOf: bytes)
            return (.taken, nil)
        }
        reader?.resume(returning: (.bytes(Data(bytes)), false))
        return acceptance
    }

    /// For a writer that can't take bytes back: they are always kept, while somebody reads.
    ///
    /// True if it should pause until the reader's `wasPaused`.
    func deliverAll(_ bytes: Data) -> Bool {
        let (isFull, reader) = state.withLock { state -> (Bool, BodyReader?) in
            guard state.end == nil else { return (false, nil) }
            if !state.bodyReaders.isEmpty { return (false, state.bodyReaders.removeFirst()) }
            state.buffer.append(bytes)
            state.isPaused = state.buffer.count >= Self.bufferBytesMax
            return (state.isPaused, nil)
        }
        reader?.resume(returning: (.bytes(bytes), false))
        return isFull
    }

    /// The first end counts.
    ///
    /// Bytes that came before are still read, unless the reader itself gave up.
    func finish(_ end: Result<End, any Error>) { finish(end, droppingBuffer: false) }

    // MARK: The reader's side

    func heads() async throws -> Heads {
        try await withCheckedThrowingContinuation { reader in
            let answer = state.withLock { state -> Result<Heads, any Error>? in
                if let heads = state.heads { return .success(heads) }
                if let end = state.end { return Self.missingHead(end) }
                state.headReaders.append(reader)
                return nil
            }
            if let answer { reader.resume(with: answer) }
        }
    }

    /// The next part, and whether the writer had paused and has to be told to go on.
    func next() async throws -> Next {
        try await withCheckedThrowingContinuation { reader in
            let answer = state.withLock { state -> Result<Next, any Error>? in
                if !state.buffer.isEmpty {
                    defer {
                        state.buffer = Data()
                        state.isPaused = false
                    }
                    return .success((.bytes(state.buffer), state.isPaused))
                }
                if let end = state.end { return Self.next(end) }
                state.bodyReaders.append(reader)
                return nil
            }
            if let answer { reader.resume(with: answer) }
        }
    }

    /// Ends it for the reader at once, whatever the writer is doing.
    ///
    /// False if it had ended before.
    @discardableResult
    func cancel() -> Bool { finish(.failure(CancellationError()), droppingBuffer: true) }

    // MARK: Both

    @discardableResult
    private func finish(_ end: Result<End, any Error>, droppingBuffer: Bool) -> Bool {
        let readers = state.withLock { state -> (heads: [HeadReader], bodies: [BodyReader])? in
            if droppingBuffer { state.buffer = Data() }
            guard state.end == nil else { return nil }
            state.end = end
            defer {
                state.headReaders = []
                state.bodyReaders = []
            }
            return (state.headReaders, state.bodyReaders)
        }
        guard let readers else { return false }
        for reader in readers.heads { reader.resume(with: Self.missingHead(end)) }
        for reader in readers.bodies { reader.resume(with: Self.next(end)) }
        return true
    }

    private static func next(_ end: Result<End, any Error>) -> Result<Next, any Error> {
        end.map { (.end(trailers: $0.trailers, metrics: $0.metrics), false) }
    }

    private static func missingHead(_ end: Result<End, any Error>) -> Result<Heads, any Error> {
        switch end {
        case .success: .failure(NetworkError(.malformedResponse, "the response ended without a head"))
        case .failure(let error): .failure(error)
        }
    }
}
