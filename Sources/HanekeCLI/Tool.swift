import Foundation
import HanekeStorage

/// The tool from its command line to its exit status.
enum Tool {
    /// Runs one command.
    static func run(_ arguments: [String], environment: [String: String]) async -> ExitStatus {
        let options = arguments.prefix { $0 != "--" }
        let console = Console(wantsJSON: options.contains("--json"))
        do {
            let invocation = try Invocation(arguments)
            if invocation.has(.version) {
                try console.finish(VersionReport(version: DiskStore.libraryVersion))
                return .done
            }
            guard let command = invocation.command, !invocation.has(.help) else {
                console.write(invocation.command.map(Help.command) ?? Help.tool)
                try console.flush()
                return .done
            }
            let settings = try Settings(invocation, environment: environment)
            return try await command.run(Session(invocation: invocation, settings: settings, console: console))
        } catch is Descriptor.ReaderGone {
            // Like `yes | head -1`: whoever read has enough.
            return .done
        } catch let failure as Failure {
            return report(failure, console)
        } catch {
            // The store's, the cache's and the network's describe themselves.
            return report(.failed(ToolWording.of("\(error)")), console)
        }
    }

    private static func report(_ failure: Failure, _ console: Console) -> ExitStatus {
        console.note(failure.message)
        // One document in any case; not a second one behind the answer.
        if console.wantsJSON, !console.hasWritten {
            try? console.finish(FailureReport(error: failure.message, exitStatus: failure.status.rawValue))
        }
        return failure.status
    }
}

private struct FailureReport: Report {
    let error: String
    let exitStatus: Int32
}

private struct VersionReport: Report {
    let version: String
    var text: String { "haneke \(version)" }
}
