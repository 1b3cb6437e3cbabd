// Getting a value that is made when it is missing.

public import Dispatch
public import Foundation

extension Context {
    /// The value under the key, else what `loader` makes, which is stored.
    ///
    /// However many miss at once, the loader runs once per key and type; all get its value or its error. Cancelling a task
    /// frees that one; when the last goes, the loader's task is cancelled and its result dropped. A put or remove of the key
    /// meanwhile wins: the loaded value is handed out but not stored. nil and errors are not stored.
    ///
    /// - Throws: what the loader throws; `CancellationError`; `TreeError.recursiveLoad` if the loader asks for its own value.
    public func value<T: Sendable>(
        for key: some Keyable, validFor: TimeInterval? = nil, loader: @escaping @Sendable () async throws -> T?
    ) async throws -> T? {
        let key = key.asKey()
        try key.check()
        if let found = try value(at: key, as: T.self) { return found }
        let owner = try owner(of: key)
        let loads = owner.context.loads
        let name = loads.name(owner.key, T.self)
        guard !ContextLoads.running.contains(name) else { throw TreeError.recursiveLoad }
        let made = try await loads.value(of: name) { number in
            ContextLoads.$running.withValue(ContextLoads.running.union([name])) {
                Task {
                    let outcome: ContextLoads.Outcome
                    do {
                        // Somebody may have loaded it between the look and the start.
                        if let found = try self.value(at: key, as: T.self) {
                            outcome = .success(found)
                        } else {
                            let made = try await loader()
                            self.keep(made, at: key, validFor, name, number, in: loads)
                            outcome = .success(made)
                        }
                    } catch {
                        self.eventSource.send(.loadFailed(key, "\(error)"))
                        outcome = .failure(error)
                    }
                    loads.finish(name, number, outcome)
                }
            }
        }
        return made as? T
    }

    /// The value under the key, else what `loader` makes, which is stored; on this thread.
    ///
    /// The loader runs outside every lock; a second thread that misses meanwhile waits for its result. nil if the loader
    /// makes none, throws, or asks for its own value (`events` tell).
    public func get<T: Sendable>(
        _ key: some Keyable, validFor: TimeInterval? = nil, loader: () throws -> T?
    ) -> T? {
        let key = key.asKey()
        guard let found: T = get(key) else { return loaded(key, validFor, loader) }
        return found
    }

    private func loaded<T: Sendable>(_ key: Key, _ validFor: TimeInterval?, _ loader: () throws -> T?) -> T? {
        do {
            try key.check()
            let owner = try owner(of: key)
            let loads = owner.context.loads
            let name = loads.name(owner.key, T.self)
            guard !ContextLoads.running.contains(name) else { throw TreeError.recursiveLoad }
            return try loads.blockingValue(of: name) { number in
                ContextLoads.$running.withValue(ContextLoads.running.union([name])) {
                    ContextLoads.Outcome {
                        if let found = try value(at: key, as: T.self) { return found }
                        let made = try loader()
                        keep(made, at: key, validFor, name, number, in: loads)
                        return made
                    }
                }
            } as? T
        } catch let error as TreeError {
            eventSource.send(.refused(error))
        } catch {
            eventSource.send(.loadFailed(key, "\(error)"))
        }
        return nil
    }

    private func keep<T: Sendable>(
        _ made: T?, at key: Key, _ validFor: TimeInterval?, _ name: ContextLoads.Name, _ number: Int,
        in loads: ContextLoads
    ) {
        guard let made else { return }
        loads.storeUnlessOvertaken(name, number) {
            plain { () throws(TreeError) -> Void? in
                try store(made, at: key, validFor: validFor, inherited: nil)
            }
        }
    }

    /// Calls back with the value under the key, else with what `loader` hands to its argument, which is stored.
    ///
    /// The callback comes exactly once and never before this returns. A second call of `done` is ignored; a loader that
    /// drops it has made nil.
    ///
    /// - Parameters:
    ///   - queue: where the callback runs; nil, the default, is a serial queue of the library, on Apple systems the main one.
    public func getAsync<T: Sendable>(
        key: some Keyable, validFor: TimeInterval? = nil, on queue: DispatchQueue? = nil,
        loader: (@Sendable (@escaping @Sendable (T?) -> Void) -> Void)? = nil,
        callback: @escaping @Sendable (T?) -> Void
    ) {
        let key = key.asKey()
        Task {
            let result: T?
            if let loader {
                result =
                    (try? await value(for: key, validFor: validFor) {
                        await withCheckedContinuation { continuation in
                            let completion = LoadCompletion(continuation)
                            loader { completion.finish($0) }
                        }
                    }) ?? nil
            } else {
                result = get(key)
            }
            (queue ?? callbackQueue).async { callback(result) }
        }
    }
}

#if canImport(Darwin)
    private let callbackQueue = DispatchQueue.main
#else
    private let callbackQueue = DispatchQueue(label: "io.haneke.hoard.callbacks")
#endif
