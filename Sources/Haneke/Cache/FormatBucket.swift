internal import HanekeStorage
internal import Synchronization

/// The bucket of a format, opened when it is first needed, so that no lock has to be held over the opening.
final class FormatBucket: Sendable {
    let name: String
    let store: DiskStore
    private struct State {
        /// nil: a bucket that others made, with limits that are theirs.
        var options: Bucket.Options?
        var opened: Bucket?
    }

    private let state: Mutex<State>

    init(name: String, store: DiskStore, options: Bucket.Options) {
        self.name = name
        self.store = store
        state = Mutex(State(options: options))
    }

    /// A bucket that is there already, and stays as it is set to.
    init(name: String, existingIn store: DiskStore) {
        self.name = name
        self.store = store
        state = Mutex(State(options: nil))
    }

    /// Whether values of the format reach the disk at all.
    var isWritable: Bool { state.withLock { $0.options?.capacityBytes != 0 } }

    /// The bucket; made and set to its limits on first use.
    ///
    /// Two threads may both open it: it is the same bucket.
    func open() throws(StoreError) -> Bucket {
        let (opened, options) = state.withLock { ($0.opened, $0.options) }
        if let opened { return opened }
        let bucket = try store.bucket(named: name, options: options ?? Bucket.Options(mustExist: true))
        return state.withLock { state in
            if let opened = state.opened { return opened }
            state.opened = bucket
            return bucket
        }
    }

    /// Opens the bucket anew at the next use: it was dropped from outside.
    func forget() {
        state.withLock { $0.opened = nil }
    }

    /// Changes capacity and order of eviction; a lower capacity evicts before this returns.
    func configure(_ options: Bucket.Options) throws(StoreError) {
        state.withLock { $0.options = options }
        try open().configure(options)
    }
}
