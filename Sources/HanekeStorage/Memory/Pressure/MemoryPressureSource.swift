internal import Synchronization

/// Something that gives memory back when asked, such as a ``MemoryCache``.
public protocol MemoryPressureResponder: AnyObject, Sendable {
    /// Gives memory back, as much as the level asks for; called on a thread of the source, without a lock held.
    func handlePressure(_ level: MemoryPressureLevel)
}

extension MemoryCache: MemoryPressureResponder {}

/// Tells caches when the system runs short of memory.
///
/// ```swift
/// MemoryPressureSource.shared.add(images)
/// ```
///
/// On Linux it waits for the pressure-stall information of the process's control group, or else of the machine, and for the
/// events of the control group (cgroup v2); on Apple's platforms for the system's notifications. Where there is neither it stays
/// inactive, which is no error: ``report(_:)`` and ``MemoryCache/handlePressure(_:)`` serve everywhere.
public final class MemoryPressureSource: Sendable {
    /// The system's own, shared by the process; it begins to listen when it is first used.
    public static let shared = MemoryPressureSource(signals: SystemPressureSignals())

    private struct Listener: Sendable {
        weak var responder: (any MemoryPressureResponder)?
    }

    /// Held by the signals too, so that a source that goes is not kept by them.
    private final class Listeners: Sendable {
        let list = Mutex<[Listener]>([])

        func report(_ level: MemoryPressureLevel) {
            let responders = list.withLock { list in
                list.removeAll { $0.responder == nil }
                return list.compactMap(\.responder)
            }
            for responder in responders { responder.handlePressure(level) }
        }
    }

    private let listeners = Listeners()

    /// Whether the system tells this source anything; if not, only ``report(_:)`` does.
    public let isActive: Bool

    package init(signals: some MemoryPressureSignals) {
        let listeners = listeners
        isActive = signals.start { [weak listeners] level in listeners?.report(level) }
    }

    /// Tells the responder of pressure from now on; it is held weakly, and one added already is not added again.
    ///
    /// O(responders).
    public func add(_ responder: some MemoryPressureResponder) {
        listeners.list.withLock { list in
            list.removeAll { $0.responder == nil }
            if !list.contains(where: { $0.responder === responder }) { list.append(Listener(responder: responder)) }
        }
    }

    /// No longer tells the responder of pressure.
    ///
    /// O(responders).
    public func remove(_ responder: some MemoryPressureResponder) {
        listeners.list.withLock { list in list.removeAll { $0.responder == nil || $0.responder === responder } }
    }

    /// Tells all responders of pressure that the program has learned of in its own way; they answer on the calling thread.
    public func report(_ level: MemoryPressureLevel) {
        listeners.report(level)
    }
}

/// Where levels of pressure come from.
package protocol MemoryPressureSignals: Sendable {
    /// Begins to report levels, on any thread; returns false if there is nothing to listen to.
    func start(_ report: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Bool
}
