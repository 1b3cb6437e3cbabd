import CHaneke
import Testing

/// One step of `hnk_store_apply`, owning its bytes.
struct Step {
    var bucket: Bucket
    var kind: hnk_operation_kind
    var key: [UInt8] = []
    var value: [UInt8] = []
    var metadata: [UInt8] = []
    var lifetime: Int64 = 0
    var flags: UInt32 = 0
    var userFlags: UInt32 = 0

    static func set(_ key: String, _ value: String, in bucket: Bucket) -> Step {
        Step(bucket: bucket, kind: .set, key: Array(key.utf8), value: Array(value.utf8))
    }

    static func remove(_ key: String, in bucket: Bucket) -> Step {
        Step(bucket: bucket, kind: .remove, key: Array(key.utf8))
    }

    static func removeAll(in bucket: Bucket) -> Step { Step(bucket: bucket, kind: .removeAll) }
}

extension Store {
    /// Carries out the steps; the status of the whole and that of each.
    func apply(_ steps: [Step]) -> (status: hnk_status, each: [hnk_status]) {
        // One block for all bytes, so that every pointer lives as long as the call.
        var block: [UInt8] = []
        func add(_ bytes: [UInt8]) -> Range<Int> {
            let start = block.count
            block += bytes
            return start..<block.count
        }
        let ranges = steps.map { (add($0.key), add($0.value), add($0.metadata)) }
        var each = [hnk_status](repeating: .internal, count: steps.count)
        let status = block.withUnsafeBytes { block in
            func lent(_ range: Range<Int>) -> hnk_bytes {
                range.isEmpty
                    ? hnk_bytes()
                    : hnk_bytes(data: block.baseAddress?.advanced(by: range.lowerBound), size: range.count)
            }
            let operations = zip(steps, ranges).map { step, range in
                hnk_operation(
                    bucket: step.bucket.raw, kind: step.kind.rawValue, flags: step.flags, key: lent(range.0),
                    value: lent(range.1), metadata: lent(range.2), lifetime_ms: step.lifetime,
                    user_flags: step.userFlags, reserved: 0)
            }
            return hnk_store_apply(raw, operations, operations.count, &each, nil)
        }
        return (status, each)
    }

    /// Sets all entries in one transaction.
    func setAll(_ entries: [(key: [UInt8], value: [UInt8])], in bucket: Bucket) throws {
        let (status, each) = apply(entries.map { Step(bucket: bucket, kind: .set, key: $0.key, value: $0.value) })
        try #require(status == .ok && each.allSatisfy { $0 == .ok })
    }
}
