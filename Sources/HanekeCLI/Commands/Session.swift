import HanekeStorage

/// What a command works with: what it was asked, and where it answers.
struct Session {
    let invocation: Invocation
    let settings: Settings
    let console: Console

    /// The store, made where it is missing.
    func storeForWriting() throws -> DiskStore {
        try DiskStore(directory: settings.storeDirectory)
    }

    /// The bucket, made where it is missing, with `--capacity` and `--eviction` applied.
    func bucketForWriting() throws -> Bucket {
        try bucket(in: storeForWriting(), mustExist: false)
    }

    /// The store; nil if there is none, since a question should leave nothing behind.
    func existingStore(_ damagePolicy: DiskStore.Options.DamagePolicy = .salvage) throws -> DiskStore? {
        var options = DiskStore.Options()
        options.mustExist = true
        options.damagePolicy = damagePolicy
        return try unlessMissing { () throws(StoreError) in
            try DiskStore(directory: settings.storeDirectory, options: options)
        }
    }

    /// The bucket; nil if it or the store is missing.
    func existingBucket() throws -> Bucket? {
        guard let store = try existingStore() else { return nil }
        return try unlessMissing { () throws(StoreError) in try bucket(in: store, mustExist: true) }
    }

    /// The store; its absence is an error.
    func requiredStore(_ damagePolicy: DiskStore.Options.DamagePolicy = .salvage) throws -> DiskStore {
        guard let store = try existingStore(damagePolicy) else {
            throw Failure.failed(
                "\(settings.storeDirectory): there is no store; \"haneke put\" makes one, --store names another")
        }
        return store
    }

    /// The bucket; its absence is an error.
    func requiredBucket() throws -> Bucket {
        let store = try requiredStore()
        if let bucket = try unlessMissing({ () throws(StoreError) in try bucket(in: store, mustExist: true) }) {
            return bucket
        }
        let names = try store.bucketNames().map { "\"\(Printable.excerpt($0))\"" }.joined(separator: ", ")
        throw Failure.failed(
            "\(settings.storeDirectory): there is no bucket \"\(settings.bucketName)\"; "
                + (names.isEmpty ? "the store is empty" : "--bucket names another: \(names)"))
    }

    /// Opens the bucket, with `--capacity` and `--eviction` applied, which only commands that write take.
    func bucket(in store: DiskStore, mustExist: Bool) throws(StoreError) -> Bucket {
        try store.bucket(
            named: settings.bucketName,
            options: Bucket.Options(
                capacityBytes: settings.capacity, eviction: settings.eviction, mustExist: mustExist))
    }
}

/// What `body` gives; nil if what it opens is not there.
private func unlessMissing<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result? {
    do {
        return try body()
    } catch {
        guard error.code == .notFound else { throw error }
        return nil
    }
}
