import Foundation
import HanekeStorage
import Hoard

extension Command {
    static let tree = Command(
        name: "tree", operands: "ls|get|put|rm|children [KEY] [FILE]", operandCount: 1...3, options: [.output, .ttl],
        summary: "Work in the tree that Hoard's DiskContext keeps in a directory.",
        details: """
            KEY is segments between slashes: users/42/portrait. "ls" lists the keys at and under KEY, "children" the names
            directly below it, both of the whole tree without KEY. "get" writes a value's bytes, "put" stores those of FILE or
            of standard input as data, "rm" removes KEY and all below it. The exit status of get and rm is 1 if nothing was there.
            """
    ) { session in
        try TreeSession(session).run()
    }
}

private struct TreeReport: Report {
    var key: String?
    var keys: [String]?
    var found: Bool?
    var removed: Int?
    var valueBytes: Int?
    var value: DeliveredValue?

    var text: String { (keys ?? []).map { Printable.text($0) }.joined(separator: "\n") }
}

/// One run of `haneke tree`.
private struct TreeSession {
    let session: Session
    private let action: String
    private let key: Key?

    init(_ session: Session) throws {
        self.session = session
        let operands = session.invocation.operands
        action = operands[0]
        key = operands.count > 1 ? operands[1].asKey() : nil
        guard ["ls", "get", "put", "rm", "children"].contains(action) else {
            throw Failure.usage("\"\(action)\" is no action; there are ls, get, put, rm, children")
        }
        guard key != .invalid, key != nil || ["ls", "children"].contains(action) else {
            throw Failure.usage("tree \(action) wants a key with at least one segment: users/42")
        }
        guard operands.count < 3 || action == "put" else {
            throw Failure.usage("too many arguments for tree \(action)")
        }
    }

    func run() throws -> ExitStatus {
        if action == "put" { return try put() }
        // A question leaves no directory behind.
        guard try session.existingStore() != nil else { return try answer(nil) }
        return try answer(open())
    }

    private func open() throws -> DiskContext {
        try DiskContext(dirUrl: URL(fileURLWithPath: session.settings.storeDirectory))
    }

    private func answer(_ context: DiskContext?) throws -> ExitStatus {
        switch action {
        case "ls":
            var keys: [Key] = []
            while let page = try context?.leafKeys(under: key, limit: 1_000, after: keys.last), !page.isEmpty {
                keys += page
            }
            try session.console.finish(TreeReport(keys: keys.map(\.description)))
        case "children":
            try session.console.finish(TreeReport(keys: try context?.childNames(of: key) ?? []))
        case "rm":
            let removed = try key.map { try context?.removeValues(for: $0) ?? 0 } ?? 0
            try session.console.finish(TreeReport(key: key?.description, removed: removed))
            return removed > 0 ? .done : .miss
        default: return try get(context)
        }
        return .done
    }

    private func get(_ context: DiskContext?) throws -> ExitStatus {
        guard let key, let value = try context?.value(for: key, as: Data.self) else {
            try session.console.finish(TreeReport(key: key?.description, found: false))
            return .miss
        }
        let delivered = try value.withUnsafeBytes { try session.deliver($0) }
        try session.console.finish(
            TreeReport(key: key.description, found: true, valueBytes: value.count, value: delivered))
        return .done
    }

    private func put() throws -> ExitStatus {
        guard let key else { return .usage }
        let path = session.invocation.operands.dropFirst(2).first ?? "-"
        let lifetime = try session.invocation.lifetime().map { $0 / .seconds(1) }
        let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let value = try file?.readToEnd() ?? (file == nil ? nil : Data()) else {
            throw Failure.failed("\(path): cannot be read; name a file that can")
        }
        try open().setValue(value, for: key, validFor: lifetime ?? .infinity)
        try session.console.finish(TreeReport(key: key.description, valueBytes: value.count))
        return .done
    }
}
