// Memory pressure on Linux: triggers of pressure-stall information, and the events of the control group.

#if os(Linux)
    internal import Dispatch

    #if canImport(Glibc)
        internal import Glibc
    #elseif canImport(Musl)
        internal import Musl
    #endif

    /// The variadic `open`, under a name that the methods below do not hide.
    private func openFile(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }

    /// Files of the kernel to wait for, from one thread, for as long as the process runs.
    package struct SystemPressureSignals: MemoryPressureSignals {
        private let pressurePaths: [String]
        private let eventsPath: String

        /// What is waited for.
        private enum Watch {
            case pressure(MemoryPressureLevel)
            case events
        }

        /// - Parameters:
        ///   - pressurePaths: Pressure-stall files, of which the first that takes triggers is used. Default: that of the
        ///     process's control group, then the machine's.
        ///   - eventsPath: The `memory.events` of the control group.
        package init(pressurePaths: [String]? = nil, eventsPath: String? = nil) {
            let group = Self.groupDirectory
            self.pressurePaths = pressurePaths ?? [group + "/memory.pressure", "/proc/pressure/memory"]
            self.eventsPath = eventsPath ?? group + "/memory.events"
        }

        package func start(_ report: @escaping @Sendable (MemoryPressureLevel) -> Void) -> Bool {
            var watches: [(descriptor: Int32, watch: Watch)] = []
            for path in pressurePaths where watches.isEmpty {
                for trigger in PressureTrigger.all {
                    guard let descriptor = trigger.arm({ Self.open(path, trigger: $0) }) else { continue }
                    watches.append((descriptor, .pressure(trigger.level)))
                }
            }
            let events = openFile(eventsPath, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            if events >= 0 { watches.append((events, .events)) }
            guard !watches.isEmpty else { return false }
            let watched = watches
            // A queue of its own: the wait never ends, and must not take a thread from others.
            DispatchQueue(label: "haneke.memory-pressure").async { Self.wait(for: watched, report) }
            return true
        }

        private static func wait(
            for watches: [(descriptor: Int32, watch: Watch)], _ report: (MemoryPressureLevel) -> Void
        ) {
            var polled = watches.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
            var known = ControlGroupEvents(watches.last.map { text(of: $0.descriptor) } ?? "")
            while polled.contains(where: { $0.fd >= 0 }) {
                guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else { break }
                var level = MemoryPressureLevel.normal
                for (index, watch) in watches.map(\.watch).enumerated() where polled[index].revents != 0 {
                    switch watch {
                    case .pressure(let told):
                        if polled[index].revents & Int16(POLLERR | POLLNVAL) != 0 {
                            // The group is gone: poll() passes over negative descriptors.
                            close(polled[index].fd)
                            polled[index].fd = -1
                        } else {
                            level = max(level, told)
                        }
                    case .events:
                        // A change of this file is told with POLLERR as well as POLLPRI; nothing to read means it is gone.
                        let latest = text(of: polled[index].fd)
                        if latest.isEmpty {
                            close(polled[index].fd)
                            polled[index].fd = -1
                        } else {
                            let read = ControlGroupEvents(latest)
                            level = max(level, read.level(since: known))
                            known = read
                        }
                    }
                }
                if level != .normal { report(level) }
            }
            for entry in polled where entry.fd >= 0 { close(entry.fd) }
        }

        /// Opens a pressure-stall file and sets the trigger; nil if the kernel refuses.
        private static func open(_ path: String, trigger: String) -> Int32? {
            let descriptor = openFile(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            // With its terminating zero, which the kernel overwrites.
            let written = trigger.withCString { write(descriptor, $0, trigger.utf8.count + 1) }
            if written > 0 { return descriptor }
            close(descriptor)
            return nil
        }

        /// The first 4 KiB of a small file; empty if it can't be read.
        private static func text(of descriptor: Int32) -> String {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = pread(descriptor, &bytes, bytes.count, 0)
            return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : ""
        }

        /// The directory of the process's control group (cgroup v2).
        private static var groupDirectory: String {
            let descriptor = openFile("/proc/self/cgroup", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return "/sys/fs/cgroup" }
            defer { close(descriptor) }
            let own = text(of: descriptor).split(separator: "\n").first { $0.hasPrefix("0::") }?.dropFirst(3) ?? "/"
            return "/sys/fs/cgroup" + (own == "/" ? "" : String(own))
        }
    }
#endif
