import HanekeStorage

extension Command {
    static let put = Command(
        name: "put", operands: "KEY [FILE]", operandCount: 1...2, options: [.ttl],
        summary: "Store a value under KEY: the bytes of FILE, or of standard input.",
        details: """
            What was under KEY is replaced. Least recently used entries go until the bucket is within its capacity; a value
            that alone exceeds it is refused. FILE "-" is standard input.
            """
    ) { session in
        let key = try session.invocation.key()
        let lifetime = try session.invocation.lifetime()
        let value = try FileContents.read(session.invocation.operands.dropFirst().first ?? "-")
        let bucket = try session.bucketForWriting()
        do throws(StoreError) {
            try bucket.set(value, forKey: key, lifetime: lifetime)
        } catch {
            guard error.code == .valueTooLarge else { throw error }
            throw session.tooLarge(value.count, "key \"\(Printable.excerpt(key))\"", in: bucket)
        }
        try session.console.finish(PutReport(bucket: bucket.name, key: key, valueBytes: value.count))
        return .done
    }
}

private struct PutReport: Report {
    let bucket: String
    let key: String
    let valueBytes: Int
}

extension Session {
    /// What to say of a value that was refused.
    func tooLarge(_ valueBytes: Int, _ subject: String, in bucket: Bucket) -> Failure {
        let capacity = (try? bucket.statistics().capacityBytes).map { " (\(ByteCount.text($0)))" } ?? ""
        return .failed(
            "\(subject): a value of \(ByteCount.text(valueBytes)) needs more on the disk than the capacity of bucket "
                + "\"\(bucket.name)\"\(capacity); raise it with --capacity")
    }
}
