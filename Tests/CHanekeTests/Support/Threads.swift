import Foundation
import Synchronization

/// Runs `body` on a thread made for it.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

/// Runs each body on a thread of its own, all at once, and waits for all.
func onThreads(_ bodies: [@Sendable () -> Void]) async {
    await withTaskGroup(of: Void.self) { group in
        for body in bodies { group.addTask { await onThread(body) } }
    }
}

/// Where threads wait for each other, spinning, so that they go on as nearly at once as can be.
final class Barrier: Sendable {
    private let missing: Atomic<Int>

    init(_ threads: Int) { missing = Atomic(threads) }

    func wait() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        while missing.load(ordering: .acquiring) > 0 {}
    }
}
