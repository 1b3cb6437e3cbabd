import Dispatch
import Foundation

/// What every scenario needs: the options and a place for its stores.
struct Bench {
    let arguments: Arguments
    let directory: WorkDirectory

    var quick: Bool { arguments.quick }

    /// Tells on standard error what is going on.
    func say(_ text: String) {
        FileHandle.standardError.write(Data("haneke-bench: \(text)\n".utf8))
    }

    /// The round in which `contenders` take turns: each begins once, so that none always follows the same one.
    func order(_ count: Int, round: Int) -> [Int] {
        (0..<count).map { ($0 + round) % count }
    }
}

/// A directory of our own that is removed at the end.
struct WorkDirectory {
    let path: String

    init(in parent: String) throws {
        path = "\(parent)/haneke-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// A new, empty directory in it.
    func make(_ name: String) throws -> String {
        let made = "\(path)/\(UUID().uuidString)-\(name.filter { $0.isLetter || $0.isNumber })"
        try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: false)
        return made
    }

    func remove(_ directory: String) {
        try? FileManager.default.removeItem(atPath: directory)
    }

    func remove() {
        remove(path)
    }

    /// Cleans up and ends the process on an interrupt, as long as the answer is kept and not cancelled.
    func removeWhenInterrupted() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                // Out of the way first: the scenario that goes on meanwhile makes nothing new in it.
                let gone = path + "-gone"
                rename(path, gone)
                remove(gone)
                exit(128 + number)
            }
            source.activate()
            return source
        }
    }
}
