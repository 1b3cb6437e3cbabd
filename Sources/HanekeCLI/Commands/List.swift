import Foundation
import HanekeStorage

extension Command {
    static let list = Command(
        name: "ls", operands: "", operandCount: 0...0, options: [.prefix, .lru, .long],
        summary: "List the keys, one a line, in the order of their bytes.",
        details: """
            Looking is not using. On a terminal control characters in keys are escaped; elsewhere keys are written as they are,
            so use --json where they may hold line breaks. Expired entries are listed until they are removed. With --long:
            the value's bytes, what it counts against the capacity, last use, expiry, key.
            """
    ) { session in
        let bucket = try session.requiredBucket()
        var listing = Listing(session)
        try listing.begin(bucket.name)
        // The walk's closure can't throw: what goes wrong in it is kept and ends the walk.
        var problem: (any Error)?
        try bucket.forEachEntry(
            prefix: session.invocation[.prefix] ?? "", order: session.invocation.has(.lru) ? .access : .key
        ) { entry in
            do { try listing.add(entry) } catch { problem = error }
            return problem == nil
        }
        if let problem { throw problem }
        try listing.end()
        return .done
    }
}

/// Writes entries while they come, so that a long list needs no memory.
private struct Listing {
    private let console: Console
    private let isLong: Bool
    private let isTerminal = Descriptor.standardOutput.isTerminal
    private var isFirst = true

    init(_ session: Session) {
        console = session.console
        isLong = session.invocation.has(.long)
    }

    func begin(_ bucket: String) throws {
        if console.wantsJSON {
            console.write("{\"bucket\":")
            try console.write(json: bucket)
            console.write(",\"entries\":[")
        } else if isLong {
            console.write(Self.row("BYTES", "ON DISK", "LAST USED", "EXPIRES") + "KEY\n")
        }
    }

    mutating func add(_ entry: Entry) throws {
        if console.wantsJSON {
            if !isFirst { console.write(",") }
            try console.write(json: EntryReport(entry))
        } else {
            if isLong {
                console.write(
                    Self.row(
                        String(entry.valueBytes), String(entry.chargedBytes),
                        Moment.text(entry.accessedAt, none: "unknown"),
                        entry.isExpired ? "expired" : Moment.text(entry.expiresAt, none: "never")))
            }
            if isTerminal {
                console.write(Printable.text(entry.key))
            } else {
                console.write(bytes: entry.keyBytes)
            }
            console.write("\n")
        }
        isFirst = false
        try console.flushIfLarge()
    }

    func end() throws {
        if console.wantsJSON { console.write("]}\n") }
        try console.flush()
    }

    private static func row(_ bytes: String, _ charge: String, _ used: String, _ expiry: String) -> String {
        func right(_ text: String) -> String { String(repeating: " ", count: max(0, 10 - text.count)) + text }
        func left(_ text: String) -> String { text + String(repeating: " ", count: max(0, 20 - text.count)) }
        return "\(right(bytes)) \(right(charge))  \(left(used))  \(left(expiry))  "
    }
}
