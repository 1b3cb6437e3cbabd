import HanekeStorage

extension Command {
    static let get = Command(
        name: "get", operands: "KEY", operandCount: 1...1, options: [.output],
        summary: "Write the value under KEY to standard output, or to a file.",
        details: """
            A miss writes nothing and leaves FILE alone; the exit status is 1. With --json and without -o the value is in the
            document: as text where it is UTF-8 ("encoding": "utf-8"), else in base 64 ("encoding": "base64").
            """
    ) { session in
        let key = try session.invocation.key()
        guard let lease = try session.existingBucket()?.lease(forKey: key) else {
            try session.console.finish(GetReport(key: key, found: false))
            return .miss
        }
        let entry = lease.entry()
        var report = GetReport(key: key, found: true, valueBytes: lease.count, expiresAtMs: entry.expiresAt)
        report.value = try session.deliver(lease)
        try session.console.finish(report)
        return .done
    }
}

private struct GetReport: Report {
    let key: String
    let found: Bool
    var valueBytes: Int?
    var expiresAtMs: Int64?
    var value: DeliveredValue?

    init(key: String, found: Bool, valueBytes: Int? = nil, expiresAtMs: Int64? = nil) {
        self.key = key
        self.found = found
        self.valueBytes = valueBytes
        self.expiresAtMs = expiresAtMs
    }

    enum CodingKeys: CodingKey { case key, found, valueBytes, expiresAtMs }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key, forKey: .key)
        try container.encode(found, forKey: .found)
        try container.encodeIfPresent(valueBytes, forKey: .valueBytes)
        try container.encodeIfPresent(expiresAtMs, forKey: .expiresAtMs)
        try value?.encode(to: encoder)
    }
}
