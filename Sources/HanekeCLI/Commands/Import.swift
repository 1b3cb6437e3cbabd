import Foundation
import HanekeStorage

extension Command {
    static let importing = Command(
        name: "import", operands: "DIR", operandCount: 1...1, options: [.ttl, .capacity, .eviction],
        summary: "Store each regular file below DIR under its relative path.",
        details: """
            Links are not followed; the store itself is left out if it lies in DIR. A file that can't be read or exceeds the
            capacity is named on standard error, the others are stored, and the exit status is 3. An error of the store, as a
            full disk, ends the import: what was stored stays, and the counts say how many files that is and how many are not
            in. Where the capacity or the disk has no room for all, the least recently stored are evicted, and counted.
            """
    ) { session in
        let lifetime = try session.invocation.lifetime()
        let bucket = try session.bucketForWriting()
        var load = try ImportLoad(into: bucket, lifetime: lifetime, session)
        var storeIdentity = stat()
        let walk = DirectoryWalk(
            root: session.invocation.operands[0],
            excluding: stat(bucket.store.directory, &storeIdentity) == 0 ? storeIdentity : nil)
        try walk.forEach { step in
            switch step {
            case .file(let path): load.add(path, from: "\(walk.root)/\(path)")
            case .obstacle(let problem): load.refuse(problem)
            }
        }
        return try load.finish()
    }
}

/// Files on their way into the bucket: small ones share commits, in order, large ones go alone.
private struct ImportLoad {
    private let bucket: Bucket
    private let lifetime: Duration?
    private let session: Session
    private var batch: [(key: String, value: [UInt8])] = []
    private var batchBytes = 0
    private var report = ImportReport()
    private var progress = Progress()
    /// Why nothing more is stored: what is left is only counted.
    private var end: (any Error)?
    private let evictionsBefore: Int

    /// Enough to make the commit's own cost small.
    private static let batchBytesMax = 4 << 20
    private static let batchEntriesMax = 256
    /// A larger value goes alone; a batch would copy it.
    private static let smallBytesMax = 256 << 10

    init(into bucket: Bucket, lifetime: Duration?, _ session: Session) throws {
        self.bucket = bucket
        self.lifetime = lifetime
        self.session = session
        evictionsBefore = try bucket.statistics().evictions
    }

    mutating func add(_ key: String, from path: String) {
        guard end == nil else { return report.failed += 1 }
        do {
            let value = try IncomingValue(path)
            guard value.isWhole, value.start.count <= Self.smallBytesMax else {
                commit()
                guard end == nil else { return report.failed += 1 }
                return count(try value.store(in: bucket, forKey: key, lifetime: lifetime))
            }
            batch.append((key, value.start))
            batchBytes += value.start.count
        } catch let failure as Failure {
            return refuse(failure.message)
        } catch let refusal as IncomingValue.TooLarge {
            return refuse(session.tooLarge(refusal.size, key, in: bucket).message)
        } catch {
            return stop(error, without: 1)
        }
        if batch.count >= Self.batchEntriesMax || batchBytes >= Self.batchBytesMax { commit() }
    }

    /// Notes what could not be stored.
    mutating func refuse(_ problem: String) {
        progress.clear()
        session.console.note(problem)
        report.failed += 1
    }

    /// Stores what is left and answers.
    mutating func finish() throws -> ExitStatus {
        commit()
        progress.clear()
        report.evicted = max(0, ((try? bucket.statistics().evictions) ?? 0) - evictionsBefore)
        try session.console.finish(report)
        if let end {
            throw Failure.failed(
                "\(ToolWording.of("\(end)")); the import ended there: \(report.imported) files went in, \(report.failed) did not"
            )
        }
        return report.failed == 0 ? .done : .failure
    }

    /// Stores the small ones that were collected; all of them, but for those refused by themselves, or none.
    private mutating func commit() {
        let files = batch
        batch.removeAll()
        batchBytes = 0
        do {
            let outcomes = try bucket.store.apply(
                files.map { StoreOperation(.set(key: $0.key, value: $0.value, lifetime: lifetime), in: bucket) })
            for (file, problem) in zip(files, outcomes) {
                if let problem { refuse(message(problem, file.key, file.value.count)) } else { count(file.value.count) }
            }
        } catch {
            stop(error, without: files.count)
        }
    }

    private mutating func stop(_ error: any Error, without count: Int) {
        end = error
        report.failed += count
    }

    private mutating func count(_ valueBytes: Int) {
        report.imported += 1
        report.valueBytes += valueBytes
        progress.show("imported \(report.imported) files, \(ByteCount.text(report.valueBytes))")
    }

    private func message(_ error: StoreError, _ key: String, _ valueBytes: Int) -> String {
        error.code == .valueTooLarge
            ? session.tooLarge(ByteCount.text(valueBytes), key, in: bucket).message : ToolWording.of(error.description)
    }
}

private struct ImportReport: Report {
    var imported = 0
    var failed = 0
    var evicted = 0
    var valueBytes = 0

    var text: String {
        "imported \(imported) \(imported == 1 ? "file" : "files"), \(ByteCount.text(valueBytes))"
            + (failed == 0 ? "" : "; \(failed) could not be stored")
            + (evicted == 0 ? "" : "; \(evicted) \(evicted == 1 ? "entry" : "entries") evicted to make room")
    }
}
