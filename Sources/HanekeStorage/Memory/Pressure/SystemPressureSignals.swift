// Apple's notifications of memory pressure; Linux's are in SystemPressureSignals+Linux.swift.

#if canImport(Darwin)
    internal import Dispatch
    internal import Synchronization

    /// The system's notifications, for as long as the process runs.
    package struct SystemPressureSignals: MemoryPressureSignals {
        private static let sources = Mutex<[any DispatchSourceMemoryPressure]>([])

        package init() {}

        package func start(_ report: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Bool {
            let source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: .global())
            source.setEventHandler { [weak source] in
                guard let source else { return }
                report(source.data.contains(.critical) ? .critical : .warning)
            }
            source.activate()
            Self.sources.withLock { $0.append(source) }
            return true
        }
    }
#elseif !os(Linux)
    /// Systems that tell nothing.
    package struct SystemPressureSignals: MemoryPressureSignals {
        package init() {}
        package func start(_ report: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Bool { false }
    }
#endif
