import HanekeStorage

extension Command {
    static let exporting = Command(
        name: "export", operands: "DIR", operandCount: 1...1, options: [.prefix],
        summary: "Write each live entry as a file below DIR.",
        details: """
            A "/" between two names of a key separates directories, so an imported tree comes out as a tree. What no file name
            can hold, or would lead out of DIR, is escaped: "%" as %25, NUL as %00, ":" as %3A, any other "/" as %2F, the names
            "." and ".." as %2E and %2E%2E. Where one key is another's directory (a, a/b), the longer is written flat: a%2Fb. A
            key with a name over 255 bytes, or over 1,024 in all, becomes its MD5 digest and extension. Links in DIR are
            never followed; a file of the same name is replaced. Exporting is not using.
            """
    ) { session in
        let bucket = try session.requiredBucket()
        let tree = try ExportTree(session.invocation.operands[0])
        var report = ExportReport(directory: session.invocation.operands[0])
        var progress = Progress()
        var problem: (any Error)?
        try bucket.forEachEntry(prefix: session.invocation[.prefix] ?? "") { entry in
            do {
                try session.export(entry, of: bucket, to: tree, &report)
                progress.show("exported \(report.exported) entries, \(ByteCount.text(report.valueBytes))")
            } catch {
                problem = error
            }
            return problem == nil
        }
        progress.clear()
        if let problem { throw problem }
        try session.console.finish(report)
        return report.failed == 0 ? .done : .failure
    }
}

extension Session {
    fileprivate func export(
        _ entry: Entry, of bucket: Bucket, to tree: ExportTree, _ report: inout ExportReport
    ) throws {
        guard let key = String(validating: entry.keyBytes, as: UTF8.self) else {
            console.note("key \"\(Printable.excerpt(entry.key))\" is not UTF-8; read it through the C interface")
            report.failed += 1
            return
        }
        guard let lease = try bucket.lease(forKey: key, options: .quiet) else {
            // Gone meanwhile or expired is as it should be; there and not readable is damage.
            if try bucket.peek(key)?.isExpired == false {
                console.note("key \"\(Printable.excerpt(key))\" is damaged and was left out; put it anew")
                report.failed += 1
            }
            return
        }
        try tree.write(lease, key: key)
        report.exported += 1
        report.valueBytes += lease.count
    }
}

private struct ExportReport: Report {
    let directory: String
    var exported = 0
    var failed = 0
    var valueBytes = 0

    var text: String {
        "exported \(exported) \(exported == 1 ? "entry" : "entries"), \(ByteCount.text(valueBytes))"
            + (failed == 0 ? "" : "; \(failed) could not be exported")
    }
}
