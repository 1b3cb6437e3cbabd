// What memory and disk contexts have in common: routing into mounted contexts, lives, mounting, events. Each adds where
// its own entries are.

import Foundation

/// A context that is a place in a space of entries, which views of it share.
protocol TreeSpace: Context {
    var overlay: Overlay { get }
    /// Where this context begins in the space: no segments for the whole of it.
    var base: Key { get }
    func view(at key: Key) -> any Context

    func storeEntry(_ value: any Sendable, at key: Key, validFor: TimeInterval) throws(TreeError)
    func entryValue<T>(at key: Key, as type: T.Type) throws(TreeError) -> T?
    func infoOfEntry(at key: Key) throws(TreeError) -> EntryInfo?
    func removeEntry(at key: Key) throws(TreeError) -> Bool
    /// Removes what is below a key and, with `includingKey`, its leaf.
    func removeEntries(under key: Key, includingKey: Bool) throws(TreeError) -> Int
    func removeExpiredEntries(under key: Key, deep: Bool) throws(TreeError) -> Int
    /// Names as they are stored.
    func entryNames(in key: Key) throws(TreeError) -> Set<String>
    func entryKeys(under key: Key, limit: Int, after: Key?) throws(TreeError) -> [Key]
    func hasBranch(at key: Key) throws(TreeError) -> Bool
}

extension TreeSpace {
    /// The life that was set here; nil inherits.
    public var ownValidFor: TimeInterval? { overlay.ownValidFor(at: base) }

    /// The life of entries that are put without one; see `Context.validFor`.
    public var validFor: TimeInterval {
        get { ownValidFor ?? nearestValidFor(around: .invalid) ?? Self.defaultValidFor }
        set { overlay.setValidFor(newValue, at: base) }
    }

    /// What is mounted below.
    public var mountedContexts: [any Context] { overlay.mounts(under: base).map(\.context) }

    /// The nearest life that was set around the key.
    public func nearestValidFor(around key: Key) -> TimeInterval? {
        overlay.route(base.appending(key)).validFor ?? overlay.inheritedValidFor()
    }

    /// Notes where the context is mounted, whose life it then inherits.
    public func wasMounted(in parent: (any Context)?, at key: Key) {
        if base.isRoot { overlay.wasMounted(in: parent, at: key) }
    }

    /// The context that keeps `key`, and the key's place in it.
    public func owner(of key: Key) throws(TreeError) -> (context: any Context, key: Key) {
        let full = base.appending(key)
        if let mount = overlay.route(full).mount { return try mount.context.owner(of: mount.rest) }
        // Not the view, so that the key is the same whichever way it was reached.
        return base.isRoot ? (self, key) : (view(at: .invalid), full)
    }

    /// See `Context`.
    public func store(
        _ value: any Sendable, at key: Key, validFor: TimeInterval?, inherited: TimeInterval?
    ) throws(TreeError) {
        let full = base.appending(key)
        try full.check()
        let route = overlay.route(full)
        let nearest = route.validFor ?? inherited
        if let mount = route.mount {
            return try mount.context.store(
                value, at: mount.rest, validFor: validFor, inherited: nearest ?? overlay.inheritedValidFor())
        }
        if let context = value as? any Context { return try mount(context, at: full) }
        let life = validFor ?? nearest ?? overlay.inheritedValidFor() ?? Self.defaultValidFor
        try loads.writing(full) { () throws(TreeError) in
            try storeEntry(value, at: full, validFor: life.isNaN ? 0 : life)
        }
        eventSource.send(.put(full))
    }

    private func mount(_ context: any Context, at full: Key) throws(TreeError) {
        try overlay.mount(context, at: full, in: self)
        for gone in overlay.detach(full, includingKey: false) { unmounted(gone.context, gone.key) }
        let removed = try loads.writing(under: full) { () throws(TreeError) in
            try removeEntries(under: full, includingKey: false)
        }
        if removed > 0 { eventSource.send(.removed(removed)) }
        context.wasMounted(in: self, at: full.dropFirst(base.stored.count))
        eventSource.send(.mounted(full))
    }

    private func unmounted(_ context: any Context, _ key: Key) {
        context.wasMounted(in: nil, at: key.dropFirst(base.stored.count))
        eventSource.send(.unmounted(key))
    }

    /// See `Context`.
    public func value<T>(at key: Key, as type: T.Type) throws(TreeError) -> T? {
        let full = base.appending(key)
        let wantsContext = type is any Context.Type || type == (any Context).self
        if let mount = overlay.route(full, throughEnd: wantsContext).mount {
            return mount.rest.isRoot ? mount.context as? T : try mount.context.value(at: mount.rest, as: type)
        }
        if wantsContext { return try hasBranch(at: full) ? view(at: full) as? T : nil }
        return try entryValue(at: full, as: type)
    }

    /// See `Context`.
    public func removeValues(at key: Key, descendants: Bool, clearingMounts: Bool) throws(TreeError) -> Int {
        let full = base.appending(key)
        if let mount = overlay.route(full).mount {
            return try mount.context.removeValues(
                at: mount.rest, descendants: descendants, clearingMounts: clearingMounts)
        }
        var removed = 0
        if descendants {
            for gone in overlay.detach(full, includingKey: true) {
                if clearingMounts { removed += try gone.context.removeAll() }
                unmounted(gone.context, gone.key)
            }
            removed += try loads.writing(under: full) { () throws(TreeError) in
                try removeEntries(under: full, includingKey: true)
            }
        } else {
            let wasThere = try loads.writing(full) { () throws(TreeError) in try removeEntry(at: full) }
            removed += wasThere ? 1 : 0
        }
        if removed > 0 { eventSource.send(.removed(removed)) }
        return removed
    }

    /// See `Context`.
    public func removeAll() throws(TreeError) -> Int {
        for gone in overlay.detach(base, includingKey: false) { unmounted(gone.context, gone.key) }
        let removed = try loads.writing(under: base) { () throws(TreeError) in
            try removeEntries(under: base, includingKey: base.isRoot)
        }
        if removed > 0 { eventSource.send(.removed(removed)) }
        return removed
    }

    /// See `Context`.
    public func removeExpired(deep: Bool) throws(TreeError) -> Int {
        var removed = try removeExpiredEntries(under: base, deep: deep)
        if removed > 0 { eventSource.send(.expired(removed)) }
        for context in mountedContexts { removed += try context.removeExpired(deep: deep) }
        return removed
    }

    /// See `Context`.
    public func childNames(of key: Key?) throws(TreeError) -> [String] {
        let full = base.appending(key ?? .invalid)
        if let mount = overlay.route(full, throughEnd: true).mount {
            return try mount.context.childNames(of: mount.rest.isRoot ? nil : mount.rest)
        }
        var names = try entryNames(in: full)
        for mount in overlay.mounts(under: full) { names.insert(mount.key.stored[full.stored.count]) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map(KeyEncoding.unmarked)
    }

    /// See `Context`.
    public func leafKeys(under key: Key?, limit: Int, after: Key?) throws(TreeError) -> [Key] {
        let start = key ?? .invalid
        let full = base.appending(start)
        if let mount = overlay.route(full).mount {
            let depth = full.stored.count - mount.rest.stored.count
            let point = Key(stored: Array(full.stored.prefix(depth))).dropFirst(base.stored.count)
            let last = after.flatMap { point.isPrefix(of: $0) ? $0.dropFirst(point.stored.count) : nil }
            return try mount.context.leafKeys(under: mount.rest, limit: limit, after: last)
                .map { point.appending($0) }
        }
        let last = after.map { base.appending($0) }
        var keys = try entryKeys(under: full, limit: limit, after: last).map { $0.dropFirst(base.stored.count) }
        for mount in overlay.mounts(under: full) {
            let point = mount.key.dropFirst(base.stored.count)
            var rest: Key?
            if let after {
                if point.isPrefix(of: after) {
                    rest = after == point ? nil : after.dropFirst(point.stored.count)
                } else if point.encoded.utf8.lexicographicallyPrecedes(after.encoded.utf8) {
                    continue
                }
            }
            keys += try mount.context.leafKeys(under: nil, limit: limit, after: rest).map { point.appending($0) }
        }
        guard !overlay.mounts(under: full).isEmpty else { return keys }
        keys.sort { $0.encoded.utf8.lexicographicallyPrecedes($1.encoded.utf8) }
        return Array(keys.prefix(limit))
    }

    /// See `Context`.
    public func entryInfo(at key: Key) throws(TreeError) -> EntryInfo? {
        let full = base.appending(key)
        if let mount = overlay.route(full).mount { return try mount.context.entryInfo(at: mount.rest) }
        return try infoOfEntry(at: full)
    }
}
