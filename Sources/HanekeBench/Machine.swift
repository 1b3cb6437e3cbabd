import Foundation

/// What the figures were taken on.
struct Machine: Encodable {
    let processor: String
    let cores: Int
    let memoryGiB: Double
    let system: String
    let fileSystem: String
    let load: String

    init(directory: String) {
        let process = ProcessInfo.processInfo
        cores = process.activeProcessorCount
        memoryGiB = (Double(process.physicalMemory) / 0x1p30 * 10).rounded() / 10
        let kernel = Self.firstLine("/proc/sys/kernel/osrelease")
        system = kernel.isEmpty ? process.operatingSystemVersionString : "Linux \(kernel)"
        let models = Self.lines("/proc/cpuinfo").filter { $0.hasPrefix("model name") }
        processor = models.first?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces) ?? "unknown"
        load = Self.firstLine("/proc/loadavg").split(separator: " ").prefix(3).joined(separator: " ")
        let mounts = Self.lines("/proc/mounts").map { $0.split(separator: " ").map(String.init) }
            .filter { $0.count > 2 && (directory + "/").hasPrefix($0[1] == "/" ? "/" : $0[1] + "/") }
        fileSystem = mounts.max { $0[1].count < $1[1].count }?[2] ?? "unknown"
    }

    var text: String {
        "\(processor), \(cores) cores, \(memoryGiB) GiB, \(fileSystem), \(system), load before \(load)"
    }

    private static func lines(_ path: String) -> [String] {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
    }

    private static func firstLine(_ path: String) -> String {
        lines(path).first ?? ""
    }
}
