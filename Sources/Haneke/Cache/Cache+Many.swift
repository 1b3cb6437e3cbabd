public import Foundation

extension Cache {
    /// Stores many values, on disk in one commit as far as they are at most 64 KiB each.
    ///
    /// Each is stored as ``set(value:key:formatName:lifetime:sliding:callbackQueue:)`` would; one that can't be
    /// does not keep the others from it. Transforms run at the same time. Waits while the queue of writes is full.
    ///
    /// - Returns: For each key the value as it was stored, or why it was not.
    @discardableResult
    public func setAll(
        _ values: [String: T], formatName: String = HanekeGlobals.Cache.OriginalFormatName, lifetime: Duration? = nil,
        sliding: Bool? = nil
    ) async -> [String: Result<T, any Error>] {
        var results: [String: Result<T, any Error>] = [:]
        do throws(HanekeError) {
            let storage = try storage(formatName)
            var checked: [(key: CacheKey, value: T)] = []
            for (key, value) in values {
                do throws(HanekeError) {
                    checked.append((try CacheKey(checking: key), value))
                } catch {
                    results[key] = .failure(error)
                }
            }
            let stored = await storage.setAll(
                checked, lifetime: storage.format.lifetime(lifetime, sliding: sliding))
            for ((key, _), result) in zip(checked, stored) { results[key.text] = result }
        } catch {
            for key in values.keys { results[key] = .failure(error) }
        }
        return results
    }

    /// Fetches the values of many keys at the same time; a key that is named twice is fetched once.
    ///
    /// - Returns: For each key the value, or why there is none; see ``fetch(key:formatName:policy:callbackQueue:)``.
    public func fetchAll(
        keys: some Sequence<String>, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst
    ) async -> [String: Result<T, any Error>] {
        await Self.results(of: Set(keys)) { self.fetch(key: $0, formatName: formatName, policy: policy) }
    }

    /// Fetches the values at many URLs at the same time; a URL that is named twice is fetched once.
    ///
    /// - Returns: For each URL the value, or why there is none; see ``fetch(URL:key:formatName:policy:callbackQueue:)``.
    public func fetchAll(
        URLs: some Sequence<Foundation.URL>, formatName: String = HanekeGlobals.Cache.OriginalFormatName,
        policy: FetchPolicy = .cacheFirst
    ) async -> [Foundation.URL: Result<T, any Error>] {
        await Self.results(of: Set(URLs)) { self.fetch(URL: $0, formatName: formatName, policy: policy) }
    }

    /// Brings the values at many URLs to disk, to be fetched from there later; memory stays as it is.
    ///
    /// At low priority, ``HanekeGlobals/Cache/PrefetchWidth`` at a time. What is there already is not fetched. A fetch of the
    /// same key joins in, and has the value in memory, too. Without a disk nothing is kept.
    ///
    /// - Returns: The URLs whose values could not be fetched, and why.
    @discardableResult
    public func prefetch(
        _ URLs: some Sequence<Foundation.URL>, formatName: String = HanekeGlobals.Cache.OriginalFormatName
    ) async -> [Foundation.URL: any Error] {
        var waiting = Set(URLs)
        return await withTaskGroup(of: (Foundation.URL, (any Error)?).self) { group in
            var failures: [Foundation.URL: any Error] = [:]
            func startNext() {
                guard let url = waiting.popFirst() else { return }
                group.addTask(priority: .background) { (url, await self.prefetch(url, formatName: formatName)) }
            }
            for _ in 0..<HanekeGlobals.Cache.PrefetchWidth { startNext() }
            while let (url, failure) = await group.next() {
                failures[url] = failure
                startNext()
            }
            return failures
        }
    }

    private func prefetch(_ url: URL, formatName: String) async -> (any Error)? {
        let fetcher = NetworkFetcher<T>(URL: url, client: client)
        guard contains(key: fetcher.key, formatName: formatName) == .none else { return nil }
        do {
            let fetch = try storage(formatName).fetch(
                try CacheKey(checking: fetcher.key),
                FlightRequest(
                    loader: Loader(fetcher), policy: .cacheFirst, registry: registry, wantsMemory: false),
                callbackQueue: callbackQueue)
            _ = try await Fetch(fetch).value
            return nil
        } catch {
            return error
        }
    }

    /// Starts all fetches, then waits for one after the other.
    private static func results<Name: Hashable & Sendable>(
        of names: Set<Name>, _ start: (Name) -> Fetch<T>
    ) async -> [Name: Result<T, any Error>] {
        let fetches = names.map { ($0, start($0)) }
        var results: [Name: Result<T, any Error>] = [:]
        for (name, fetch) in fetches {
            do {
                results[name] = .success(try await fetch.value)
            } catch {
                results[name] = .failure(error)
            }
        }
        return results
    }
}
