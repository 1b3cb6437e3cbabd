import CBench

/// One way to keep values on the disk.
struct Rival {
    let table: UnsafePointer<bench_rival>

    /// All that this build knows; Haneke first.
    static var all: [Rival] {
        var rivals: [Rival] = []
        var next = bench_rivals()
        while let table = next?.pointee {
            rivals.append(Rival(table: table))
            next = next?.successor()
        }
        return rivals
    }

    static func named(_ name: String) -> Rival? {
        all.first { $0.name == name }
    }

    var name: String { String(cString: table.pointee.name) }
    var version: String { table.pointee.version().map { String(cString: $0) } ?? "" }
    var isBounded: Bool { table.pointee.bounded }
    /// Whose files it reads: "haneke, copying" is another way into haneke's.
    var storeName: String { name.split(separator: ",").first == "haneke" ? "haneke" : name }
}

/// A rival's store, open, with a session for each thread.
///
/// `deinit` closes it.
final class OpenStore {
    let rival: Rival
    let sessions: UnsafeMutableBufferPointer<UnsafeMutableRawPointer?>
    private let handle: UnsafeMutableRawPointer

    init(_ rival: Rival, directory: String, settings: bench_settings, sessions count: Int = 1) throws {
        var settings = settings
        guard let handle = rival.table.pointee.open(directory, &settings) else {
            throw BenchError("\(rival.name) can't open a store in \(directory)")
        }
        self.rival = rival
        self.handle = handle
        sessions = .allocate(capacity: count)
        sessions.initialize(repeating: nil)
        for index in sessions.indices {
            sessions[index] = rival.table.pointee.session_begin(handle)
            guard sessions[index] != nil else { throw BenchError("\(rival.name) can't begin a session") }
        }
    }

    deinit {
        for case let session? in sessions { rival.table.pointee.session_end(session) }
        sessions.deallocate()
        rival.table.pointee.close(handle)
    }

    /// Sets every key of `corpus`, many at a time.
    func fill(_ corpus: Corpus) throws {
        let requests = (0..<UInt32(corpus.count)).map { $0 | BENCH_SET_BIT }
        let slice = run(corpus, requests) { $0.group = 1024 }
        guard slice.failures == 0 else { throw BenchError("\(rival.name) can't store its values") }
    }

    /// Reads every key of `corpus` once, so that all is in memory and proven.
    func warmUp(_ corpus: Corpus) throws {
        let slice = run(corpus, Array(0..<UInt32(corpus.count)))
        guard slice.failures == 0, slice.misses == 0 else {
            throw BenchError("\(rival.name) lost \(slice.misses) values and failed \(slice.failures) times")
        }
    }

    /// Runs each request once on one thread, or as `change` says.
    func run(_ corpus: Corpus, _ requests: [UInt32], _ change: (inout bench_slice) -> Void = { _ in }) -> bench_slice {
        var raw = corpus.raw
        return requests.withUnsafeBufferPointer { requests in
            withUnsafePointer(to: &raw) { raw in
                var slice = bench_slice()
                slice.rival = rival.table
                slice.sessions = UnsafePointer(sessions.baseAddress)
                slice.threads = 1
                slice.corpus = raw
                slice.requests = requests.baseAddress
                slice.requests_count = requests.count
                slice.most = requests.count
                slice.group = 1
                slice.sample_every = 1
                change(&slice)
                bench_run(&slice)
                return slice
            }
        }
    }
}
