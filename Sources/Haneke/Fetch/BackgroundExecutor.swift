internal import Dispatch

/// Runs the library's tasks on threads of its own: reading the disk blocks, and what a user's transform or expression
/// does is unknown.
///
/// Swift's own few threads are for code that never waits.
final class BackgroundExecutor: TaskExecutor {
    static let shared = BackgroundExecutor()

    private let queue = DispatchQueue(label: "io.haneke.work", attributes: .concurrent)

    private init() {}

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
