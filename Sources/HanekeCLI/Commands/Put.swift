import HanekeStorage

extension Command {
    static let put = Command(
        name: "put", operands: "KEY [FILE]", operandCount: 1...2, options: [.ttl, .capacity, .eviction],
        summary: "Store a value under KEY: the bytes of FILE, or of standard input.",
        details: """
            What was under KEY is replaced. Entries go until the bucket is within its capacity, the least recently used first
            unless --eviction says sieve; a value that alone exceeds it is refused, and an older value of KEY, stale by then,
            is removed. FILE "-" is standard input. A value of any length needs little memory.
            """
    ) { session in
        let key = try session.invocation.key()
        let lifetime = try session.invocation.lifetime()
        // Before the store is opened, so that a file that can't be read leaves none behind.
        let value = try IncomingValue(session.invocation.operands.dropFirst().first ?? "-")
        let bucket = try session.bucketForWriting()
        do {
            let count = try value.store(in: bucket, forKey: key, lifetime: lifetime)
            try session.console.finish(PutReport(bucket: bucket.name, key: key, valueBytes: count))
        } catch let refusal as IncomingValue.TooLarge {
            throw session.tooLarge(refusal.size, "key \"\(Printable.excerpt(key))\"", in: bucket)
        }
        return .done
    }
}

private struct PutReport: Report {
    let bucket: String
    let key: String
    let valueBytes: Int
}

extension Session {
    /// What to say of a value of a size, in words, that was refused.
    func tooLarge(_ size: String, _ subject: String, in bucket: Bucket) -> Failure {
        let capacity = (try? bucket.statistics().capacityBytes).map { " (\(ByteCount.text($0)))" } ?? ""
        return .failed(
            "\(subject): a value of \(size) needs more on the disk than the capacity of bucket "
                + "\"\(bucket.name)\"\(capacity); raise it with --capacity; an older value of the key is gone, for it was stale"
        )
    }
}
