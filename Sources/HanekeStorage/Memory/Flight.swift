// One run of a closure that makes a missing value, and all who wait for it.

internal import Dispatch
internal import Synchronization

/// The key of a flight: its hash is frozen, so that a key object that changes breaks no dictionary.
@usableFromInline
struct FlightKey<Key: Hashable & Sendable>: Hashable, Sendable {
    let key: Key
    let hash: Int

    @usableFromInline
    static func == (left: FlightKey, right: FlightKey) -> Bool {
        left.hash == right.hash && left.key == right.key
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// A value in the making: one caller makes it, tasks and threads wait for the outcome.
@usableFromInline
final class Flight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    enum Outcome: Sendable {
        case made(Value)
        case failed(any Error)
        /// The maker's task was cancelled, which is no answer for the others: one of them makes the value.
        case abandoned

        /// The value; nil if somebody else has to make it.
        func get() throws -> Value? {
            switch self {
            case .made(let value): value
            case .failed(let error): throw error
            case .abandoned: nil
            }
        }
    }

    enum Waiter: Sendable {
        case task(CheckedContinuation<Outcome, Never>)
        case thread(DispatchSemaphore)
    }

    struct Progress: Sendable {
        var outcome: Outcome?
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    let name: FlightKey<Key>
    let progress = Mutex(Progress())

    init(_ name: FlightKey<Key>) { self.name = name }

    /// Ends the flight and tells all who wait; only the first call counts.
    func finish(_ outcome: Outcome) {
        let waiters = progress.withLock { progress -> [Int: Waiter] in
            guard progress.outcome == nil else { return [:] }
            progress.outcome = outcome
            defer { progress.waiters = [:] }
            return progress.waiters
        }
        for waiter in waiters.values {
            switch waiter {
            case .task(let continuation): continuation.resume(returning: outcome)
            case .thread(let semaphore): semaphore.signal()
            }
        }
    }

    /// Suspends the task until the flight ends, or fails with `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) func outcome() async -> Outcome {
        let number = progress.withLock { progress in
            progress.nextWaiter += 1
            return progress.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = progress.withLock { progress -> Outcome? in
                    if let outcome = progress.outcome { return outcome }
                    // A cancellation handler that ran before this line found nobody to wake.
                    if Task.isCancelled { return .failed(CancellationError()) }
                    progress.waiters[number] = .task(continuation)
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            let waiter = progress.withLock { $0.waiters.removeValue(forKey: number) }
            if case .task(let continuation) = waiter {
                continuation.resume(returning: .failed(CancellationError()))
            }
        }
    }

    /// Blocks the thread until the flight ends.
    func blockingOutcome() -> Outcome {
        let semaphore = DispatchSemaphore(value: 0)
        while true {
            let ready = progress.withLock { progress -> Outcome? in
                if let outcome = progress.outcome { return outcome }
                progress.nextWaiter += 1
                progress.waiters[progress.nextWaiter] = .thread(semaphore)
                return nil
            }
            if let ready { return ready }
            semaphore.wait()
        }
    }
}
