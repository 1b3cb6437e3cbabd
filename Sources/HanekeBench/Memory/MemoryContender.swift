import CBench
import Dispatch
import Foundation
import Synchronization

/// A cache at work on so many threads.
struct MemoryContender {
    /// What the threads of a slice did together.
    struct Slice {
        var done = 0
        var reads = 0
        var misses = 0
        /// Reads that gave another key's value.
        var failures: UInt64 = 0
        var elapsed: UInt64 = 0
        var processorTime: UInt64 = 0

        mutating func add(_ other: Slice) {
            done += other.done
            reads += other.reads
            misses += other.misses
            failures += other.failures
        }
    }

    let label: String
    let threads: Int
    /// Serves requests from the one of that number on, for so many nanoseconds.
    let run: ([UInt32], Int, UInt64) -> Slice

    /// The contender's loop is compiled for the type of its cache: no side pays for a witness table.
    init<Rival: MemoryRival>(_ label: String, threads: Int, _ rival: Rival) {
        self.label = threads == 1 ? label : "\(label), \(threads) thr."
        self.threads = threads
        run = { requests, start, nanoseconds in
            let total = Mutex(Slice())
            let cpuBefore = Self.processorTime()
            let begin = bench_now_ns()
            DispatchQueue.concurrentPerform(iterations: threads) { thread in
                let first = (start + thread * requests.count / threads) % requests.count
                let slice = Self.serve(rival, requests, from: first, until: begin + nanoseconds)
                total.withLock { $0.add(slice) }
            }
            var slice = total.withLock { $0 }
            slice.elapsed = bench_now_ns() - begin
            slice.processorTime = Self.processorTime() - cpuBefore
            return slice
        }
    }

    /// Gets, and sets what is missing; a request with the bit sets at once.
    @inline(__always)
    private static func serve<Rival: MemoryRival>(
        _ rival: Rival, _ requests: [UInt32], from first: Int, until end: UInt64
    ) -> Slice {
        var slice = Slice()
        var index = first
        while bench_now_ns() < end {
            for _ in 0..<512 {
                let request = requests[index]
                let key = Int(request & ~BENCH_SET_BIT)
                index = index + 1 == requests.count ? 0 : index + 1
                if request & BENCH_SET_BIT != 0 {
                    rival.set(key, key)
                } else {
                    slice.reads += 1
                    if let value = rival.get(key) {
                        if value != key { slice.failures += 1 }
                    } else {
                        slice.misses += 1
                        rival.set(key, key)
                    }
                }
            }
            slice.done += 512
        }
        return slice
    }

    /// What the threads of this process have used of the processors, in nanoseconds.
    private static func processorTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
