internal import HanekeStorage
internal import Synchronization

/// The bucket of a format, opened when it is first needed, so that no lock has to be held over the opening.
final class FormatBucket: Sendable {
    let name: String
    let store: DiskStore
    private struct State {
        /// nil: a bucket that others made, with a capacity that is theirs.
        var capacityBytes: UInt64?
        var opened: Bucket?
    }

    private let state: Mutex<State>

    init(name: String, store: DiskStore, capacityBytes: UInt64) {
        self.name = name
        self.store = store
        state = Mutex(State(capacityBytes: capacityBytes))
    }

    /// A bucket that is there already, and stays as it is set to.
    init(name: String, existingIn store: DiskStore) {
        self.name = name
        self.store = store
        state = Mutex(State(capacityBytes: nil))
    }

    /// Whether values of the format reach the disk at all.
    var isWritable: Bool { state.withLock { $0.capacityBytes != 0 } }

    /// The bucket; made and set to its capacity on first use.
    ///
    /// Two threads may both open it: it is the same bucket.
    func open() throws(StoreError) -> Bucket {
        let (opened, capacity) = state.withLock { ($0.opened, $0.capacityBytes) }
        if let opened { return opened }
        let bucket = try store.bucket(
            named: name, options: Bucket.Options(capacityBytes: capacity, mustExist: capacity == nil))
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

    /// Changes the capacity; a lower one evicts before this returns.
    func setCapacity(_ bytes: UInt64) throws(StoreError) {
        state.withLock { $0.capacityBytes = bytes }
        try open().configure(Bucket.Options(capacityBytes: bytes))
    }
}
