internal import HanekeStorage
internal import Synchronization

/// The formats of a cache at work, by name.
///
/// A fetch on its way holds it, to find the parents of its format, also when the cache itself is gone.
final class FormatRegistry<Value: DataConvertible & DataRepresentable & Sendable>: Sendable {
    typealias Storage = FormatStorage<Value>

    private let cacheName: String
    private let storages = Mutex<[CacheKey: Storage]>([:])
    /// The memory tiers of the formats: all that a hit needs.
    private let tiers = Mutex<[CacheKey: MemoryTier]>([:])

    init(cacheName: String) { self.cacheName = cacheName }

    /// All formats at work.
    var all: [Storage] { storages.withLock { $0.values.map(\.self) } }

    /// The format of that name at work.
    ///
    /// - Throws: ``HanekeError/Code/formatNotFound``.
    func storage(_ name: String) throws(HanekeError) -> Storage {
        let found = storages.withLock { $0[CacheKey(name)] }
        guard let found else {
            throw HanekeError(.formatNotFound, "the cache \"\(cacheName)\" has no format \"\(name)\"; add it first")
        }
        return found
    }

    /// The parent of a format; nil if it has none.
    ///
    /// - Throws: ``HanekeError/Code/formatNotFound`` if the parent has not been added.
    func parent(of format: Format<Value>) throws(HanekeError) -> Storage? {
        guard let parent = format.parent else { return nil }
        do {
            return try storage(parent)
        } catch {
            throw HanekeError(
                .formatNotFound,
                "the format \"\(format.name)\" is made of \"\(parent)\", which \"\(cacheName)\" has not; add it first")
        }
    }

    /// The value in memory, used now; nil if there is none, or no such format.
    func valueInMemory(_ key: String, formatName: String) -> Value? {
        guard let tier = tiers.withLock({ $0[CacheKey(formatName)] }), let record = tier.use(CacheKey(key)) else {
            return nil
        }
        // Sound: a format's storage fills its tier with entries of the cache's type alone.
        return unsafeDowncast(record, to: MemoryEntry<Value>.self).value
    }

    /// Puts a format to work, or gives one of that name its new description if `replacing` says so.
    ///
    /// - Throws: ``HanekeError/Code/formatCycle``; then nothing has changed.
    func add(
        _ fresh: Storage, replacing: Bool
    ) throws(HanekeError) -> (storage: Storage, isNew: Bool) {
        let format = fresh.format
        let outcome = storages.withLock { storages -> Result<(Storage, Bool), HanekeError> in
            let present = storages[CacheKey(format.name)]
            if present != nil, !replacing { return .success((fresh, false)) }
            if let cycle = Self.cycle(through: format, storages) { return .failure(cycle) }
            if let present {
                present.describe(as: format)
                return .success((present, false))
            }
            storages[CacheKey(format.name)] = fresh
            tiers.withLock { $0[CacheKey(format.name)] = fresh.tier }
            return .success((fresh, true))
        }
        return try outcome.get()
    }

    /// Takes a format out of work.
    func remove(_ name: String) -> Storage? {
        storages.withLock { storages in
            tiers.withLock { $0[CacheKey(name)] = nil }
            return storages.removeValue(forKey: CacheKey(name))
        }
    }

    /// Why the format can't be added: its parents lead back to it.
    ///
    /// Those at work have no cycle, so that the walk has an end.
    private static func cycle(through format: Format<Value>, _ storages: [CacheKey: Storage]) -> HanekeError? {
        var path = [format.name]
        var next = format.parent
        while let name = next {
            path.append(name)
            if CacheKey(name) == CacheKey(format.name) {
                let names = path.map { "\"\($0)\"" }.joined(separator: " → ")
                return HanekeError(
                    .formatCycle, "the parents of the format \"\(format.name)\" lead back to it: \(names)")
            }
            next = storages[CacheKey(name)]?.format.parent
        }
        return nil
    }
}
