// The loads of a context: for each key and type at most one is under way, and whoever misses meanwhile waits for it.

import Dispatch
import Synchronization

/// The values that are being loaded for a context.
///
/// Opaque: a context of your own has one and hands it out.
public final class ContextLoads: Sendable {
    struct Name: Hashable, Sendable {
        let table: ObjectIdentifier
        let key: Key
        let type: ObjectIdentifier
    }

    typealias Outcome = Result<(any Sendable)?, any Error>

    private enum Waiter: Sendable {
        case task(CheckedContinuation<(any Sendable)?, any Error>)
        case thread(LoadThread)
    }

    private struct Load: Sendable {
        let number: Int
        var waiters: [Int: Waiter] = [:]
        var task: Task<Void, Never>?
        /// Something was put or removed meanwhile: what is loaded is not stored.
        var isOvertaken = false
        /// Writers of the key wait until the loaded value has been stored, so that theirs is the last.
        var isStoring = false
        var writers: [DispatchSemaphore] = []
    }

    /// What a write touches.
    private enum Written: Sendable {
        case key(Key)
        case keys(Set<Key>)
        case under(Key)

        func contains(_ key: Key) -> Bool {
            switch self {
            case .key(let written): written == key
            case .keys(let written): written.contains(key)
            case .under(let written): written.isPrefix(of: key)
            }
        }
    }

    private struct State: Sendable {
        var loads: [Name: Load] = [:]
        /// The writes under way: a load that begins meanwhile is overtaken from its start.
        var writes: [Int: Written] = [:]
        var next = 0
    }

    /// The loads that the running code is part of: to tell a loader that asks for its own value.
    @TaskLocal static var running: Set<Name> = []
    /// The load whose value is being stored by the running code.
    @TaskLocal private static var storing: Name?

    private let state = Mutex(State())

    /// With nothing under way.
    public init() {}

    func name<T>(_ key: Key, _ type: T.Type) -> Name {
        Name(table: ObjectIdentifier(self), key: key, type: ObjectIdentifier(type))
    }

    // MARK: Waiting

    /// Waits for the load of a name; if there is none, `start` is called with its number and has to see to its end.
    func value(
        of name: Name, start: @escaping @Sendable (_ number: Int) -> Task<Void, Never>
    ) async throws -> (any Sendable)? {
        let waiter = nextNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enum Step { case cancelled, wait, lead(Int) }
                let step = state.withLock { state -> Step in
                    // A cancellation handler that ran before this line found nobody to wake.
                    if Task.isCancelled { return .cancelled }
                    let number = begin(name, &state)
                    state.loads[name]?.waiters[waiter] = .task(continuation)
                    return number.map(Step.lead) ?? .wait
                }
                switch step {
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .wait: break
                case .lead(let number): keep(start(number), of: name, number)
                }
            }
        } onCancel: {
            cancel(waiter, of: name)
        }
    }

    /// The same for a thread, which loads itself if there is no load under way.
    func blockingValue(of name: Name, load: (_ number: Int) -> Outcome) throws -> (any Sendable)? {
        let thread = LoadThread()
        let number = state.withLock { state in
            let number = begin(name, &state)
            state.next += 1
            state.loads[name]?.waiters[state.next] = .thread(thread)
            return number
        }
        if let number { finish(name, number, load(number)) }
        return try thread.outcome().get()
    }

    /// The number of a new load; nil if one is under way.
    private func begin(_ name: Name, _ state: inout State) -> Int? {
        guard state.loads[name] == nil else { return nil }
        state.next += 1
        state.loads[name] = Load(
            number: state.next, isOvertaken: state.writes.values.contains { $0.contains(name.key) })
        return state.next
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.next += 1
            return state.next
        }
    }

    private func keep(_ task: Task<Void, Never>, of name: Name, _ number: Int) {
        let isGone = state.withLock { state in
            guard state.loads[name]?.number == number else { return true }
            state.loads[name]?.task = task
            return false
        }
        // It has ended, or everybody has left.
        if isGone { task.cancel() }
    }

    private func cancel(_ waiter: Int, of name: Name) {
        let (left, task, writers) = state.withLock {
            state -> (Waiter?, Task<Void, Never>?, [DispatchSemaphore]) in
            guard let left = state.loads[name]?.waiters.removeValue(forKey: waiter) else { return (nil, nil, []) }
            guard state.loads[name]?.waiters.isEmpty == true, state.loads[name]?.isStoring == false else {
                return (left, nil, [])
            }
            let load = state.loads.removeValue(forKey: name)
            return (left, load?.task, load?.writers ?? [])
        }
        task?.cancel()
        for writer in writers { writer.signal() }
        if case .task(let continuation) = left { continuation.resume(throwing: CancellationError()) }
    }

    // MARK: Ending

    /// Stores what was loaded, unless something was put or removed since, or nobody waits any more.
    func storeUnlessOvertaken(_ name: Name, _ number: Int, _ store: () -> Void) {
        let mayStore = state.withLock { state in
            guard let load = state.loads[name], load.number == number, !load.isOvertaken else { return false }
            state.loads[name]?.isStoring = true
            return true
        }
        guard mayStore else { return }
        Self.$storing.withValue(name) { store() }
        let writers = state.withLock { state -> [DispatchSemaphore] in
            state.loads[name]?.isStoring = false
            defer { state.loads[name]?.writers = [] }
            return state.loads[name]?.writers ?? []
        }
        for writer in writers { writer.signal() }
    }

    /// Ends a load and tells all who wait; a later or foreign end does nothing.
    func finish(_ name: Name, _ number: Int, _ outcome: Outcome) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.loads[name]?.number == number else { return [] }
            let load = state.loads.removeValue(forKey: name)
            return load.map { Array($0.waiters.values) } ?? []
        }
        for waiter in waiters {
            switch waiter {
            case .task(let continuation): continuation.resume(with: outcome)
            case .thread(let thread): thread.finish(outcome)
            }
        }
    }

    // MARK: Overtaking

    /// Writes a key in `body`: a load of it that is under way, or begins before the end, is not stored over it.
    public func writing<Result>(
        _ key: Key, _ body: () throws(TreeError) -> Result
    ) throws(TreeError) -> Result { try writing(.key(key), body) }

    /// Writes many keys in `body`, likewise.
    public func writing<Result>(
        _ keys: Set<Key>, _ body: () throws(TreeError) -> Result
    ) throws(TreeError) -> Result { try writing(.keys(keys), body) }

    /// Removes the key and all below it in `body`, likewise.
    public func writing<Result>(
        under key: Key, _ body: () throws(TreeError) -> Result
    ) throws(TreeError) -> Result { try writing(.under(key), body) }

    private func writing<Result>(
        _ written: Written, _ body: () throws(TreeError) -> Result
    ) throws(TreeError) -> Result {
        let current = Self.storing
        let (number, waits) = state.withLock { state -> (Int, [DispatchSemaphore]) in
            state.next += 1
            state.writes[state.next] = written
            var waits: [DispatchSemaphore] = []
            for (name, load) in state.loads where name != current && written.contains(name.key) {
                state.loads[name]?.isOvertaken = true
                // Two loads of one key that store at once don't wait for each other: either may be the last.
                guard load.isStoring, current == nil else { continue }
                let semaphore = DispatchSemaphore(value: 0)
                state.loads[name]?.writers.append(semaphore)
                waits.append(semaphore)
            }
            return (state.next, waits)
        }
        defer { state.withLock { $0.writes[number] = nil } }
        for wait in waits { wait.wait() }
        return try body()
    }

    /// How many tasks and threads wait for a load of the key; for tests that need the moment.
    func waiterCount(_ name: Name) -> Int { state.withLock { $0.loads[name]?.waiters.count ?? 0 } }
}

/// A thread that waits for a load.
private final class LoadThread: Sendable {
    private let result = Mutex<ContextLoads.Outcome?>(nil)
    private let done = DispatchSemaphore(value: 0)

    func finish(_ outcome: ContextLoads.Outcome) {
        result.withLock { $0 = outcome }
        done.signal()
    }

    func outcome() -> ContextLoads.Outcome {
        done.wait()
        return result.withLock { $0 } ?? .success(nil)
    }
}
