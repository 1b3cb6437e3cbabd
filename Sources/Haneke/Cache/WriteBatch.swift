internal import Foundation
internal import HanekeStorage

/// Carries out the steps of a batch, as many writes in one commit as their order allows.
struct WriteBatch {
    /// Larger values are written one by one, in place, instead of being copied into a common commit.
    ///
    /// In bytes.
    private static let commonBytesMax = 64 << 10

    let store: DiskStore
    let writes: WriteQueue
    /// The tick of the last write in the batch: a later one has not been carried out yet.
    let lastTick: UInt64

    /// Writes waiting for the common commit, and who is to hear of the outcome.
    private var operations: [StoreOperation] = []
    private var origins: [Origin] = []
    private var failures: [String] = []

    private struct Origin {
        let bucket: FormatBucket
        let key: CacheKey?
        /// The value and the number of its bytes; nil for a removal.
        let value: (any PendingValue, Int)?
    }

    init(store: DiskStore, writes: WriteQueue, lastTick: UInt64) {
        self.store = store
        self.writes = writes
        self.lastTick = lastTick
    }

    func carryOut(_ steps: [WriteQueue.Step]) {
        var batch = self
        for step in steps {
            do {
                try batch.carryOut(step)
            } catch {
                batch.note(error, step)
            }
        }
        batch.commit()
        guard let first = batch.failures.first else { return }
        let more = batch.failures.count > 1 ? " (and \(batch.failures.count - 1) more)" : ""
        Diagnostics.report("could not write to \(store.directory): \(first)\(more)")
    }

    private mutating func carryOut(_ step: WriteQueue.Step) throws {
        switch step.kind {
        case .write(let key, .set(let value)): try set(value, key: key, in: step.bucket)
        case .write(let key, .remove):
            add(.remove(key: key.text), Origin(bucket: step.bucket, key: key, value: nil), try step.bucket.open())
        case .removeAll:
            add(.removeAll, Origin(bucket: step.bucket, key: nil, value: nil), try step.bucket.open())
        case .touch(let use): try touch(use, in: step.bucket)
        }
    }

    private mutating func set(_ value: any PendingValue, key: CacheKey, in format: FormatBucket) throws {
        let bucket = try format.open()
        let data: Data?
        do {
            data = try value.encoded()
        } catch {
            failures.append("key \"\(key.text.prefix(64))\" cannot be encoded: \(error)")
            data = nil
        }
        guard let data else {
            // What is on disk is older than the value that could not follow it.
            value.didFail()
            return add(.remove(key: key.text), Origin(bucket: format, key: key, value: nil), bucket)
        }
        let origin = Origin(bucket: format, key: key, value: (value, data.count))
        guard data.count <= Self.commonBytesMax else {
            commit()
            return settle(origin, Result { try set(data, key, value.lifetime, bucket) })
        }
        let lifetime = value.lifetime
        add(
            .set(key: key.text, value: Array(data), lifetime: lifetime.duration, sliding: lifetime.slides), origin,
            bucket)
    }

    private mutating func touch(_ use: any NotedUse, in format: FormatBucket) throws {
        commit()
        if let pending = writes.tickOfPending(use.key, inBucketNamed: format.name), pending > lastTick {
            return use.postpone()
        }
        guard try !format.open().touch(use.key.text), let value = use.valueToWriteAgain() else { return }
        try set(value, key: use.key, in: format)
    }

    private mutating func add(_ kind: StoreOperation.Kind, _ origin: Origin, _ bucket: Bucket) {
        operations.append(StoreOperation(kind, in: bucket))
        origins.append(origin)
    }

    /// Commits the writes collected so far.
    ///
    /// What fails together is tried one by one, so that only the guilty fail.
    private mutating func commit() {
        guard !operations.isEmpty else { return }
        let (operations, origins) = (operations, origins)
        self.operations = []
        self.origins = []
        do {
            for (origin, error) in zip(origins, try store.apply(operations)) { settle(origin, error) }
        } catch {
            for (origin, operation) in zip(origins, operations) {
                do {
                    settle(origin, try store.apply([operation]).first ?? nil)
                } catch {
                    settle(origin, error)
                }
            }
        }
    }

    private func set(_ data: Data, _ key: CacheKey, _ lifetime: Lifetime, _ bucket: Bucket) throws {
        try data.withUnsafeBytes {
            try bucket.set($0, forKey: key.text, lifetime: lifetime.duration, sliding: lifetime.slides)
        }
    }

    private mutating func settle(_ origin: Origin, _ result: Result<Void, any Error>) {
        switch result {
        case .success: settle(origin, nil as (any Error)?)
        case .failure(let error): settle(origin, error)
        }
    }

    private mutating func settle(_ origin: Origin, _ error: (any Error)?) {
        guard let error else {
            if let (value, bytes) = origin.value { value.didReachDisk(bytes: bytes) }
            return
        }
        // Dropped from outside: made anew at the next write.
        if (error as? StoreError)?.code == .notFound { origin.bucket.forget() }
        failures.append(Self.description(of: error, origin.key))
        guard let (value, _) = origin.value else { return }
        value.didFail()
        // The old record, if it is still there, is older than the value that could not follow it.
        if let key = origin.key { _ = try? origin.bucket.open().remove(key.text) }
    }

    /// A refusal in the words of the cache, anything else in those of the store.
    private static func description(of error: any Error, _ key: CacheKey?) -> String {
        guard let refusal = error as? StoreError, refusal.code == .valueTooLarge, let key else { return "\(error)" }
        return HanekeError(
            .valueTooLarge, "the value of \"\(key.text.prefix(64))\" is kept in memory alone: \(refusal)",
            underlyingError: refusal
        ).description
    }

    private mutating func note(_ error: any Error, _ step: WriteQueue.Step) {
        failures.append("\(error)")
        if case .write(_, .set(let value)) = step.kind { value.didFail() }
    }
}
