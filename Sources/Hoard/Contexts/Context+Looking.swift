// Looking around in a tree without using what is there.

extension Context {
    /// The names directly below the key (nil: the root) that lead to a live leaf or a mounted context, in byte order.
    public func children(of key: (any Keyable)? = nil) -> [String] {
        plain { () throws(TreeError) -> [String]? in try childNames(of: try checked(key)) } ?? []
    }

    /// The leaves directly below the root that are of a type, with their names, in byte order.
    public func children<T>(ofType type: T.Type) -> [(name: String, value: T)] {
        children().compactMap { name in
            guard let value: T = get(Key.from(name)) else { return nil }
            return (name, value)
        }
    }

    /// The keys of live leaves at and under the key (nil: all), in key order.
    ///
    /// - Parameters:
    ///   - limit: how many at most; default 1,000.
    ///   - after: the last key of an earlier page.
    public func keys(under key: (any Keyable)? = nil, limit: Int = 1_000, after: Key? = nil) -> [Key] {
        plain { () throws(TreeError) -> [Key]? in
            try leafKeys(under: try checked(key), limit: max(0, limit), after: after)
        } ?? []
    }

    /// Whether a live leaf is under the key.
    ///
    /// Not a use of it.
    public func contains(_ key: some Keyable) -> Bool { info(key) != nil }

    /// What is known of the live leaf under the key.
    ///
    /// Not a use of it.
    public func info(_ key: some Keyable) -> EntryInfo? {
        plain { () throws(TreeError) -> EntryInfo? in
            let key = key.asKey()
            try key.check()
            return try entryInfo(at: key)
        }
    }

    private func checked(_ key: (any Keyable)?) throws(TreeError) -> Key? {
        guard let key = key?.asKey() else { return nil }
        try key.check()
        return key
    }
}
