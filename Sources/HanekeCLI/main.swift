// haneke: a cache directory for shells and operators. The work is in Tool.swift.

import Foundation

// A closed pipe is an error of write(2), so that the store is closed in order; see Tool.run.
signal(SIGPIPE, SIG_IGN)

/// The arguments as text; nil if one is not UTF-8, which Swift's own array would silently repair into another key.
let arguments: [String]? = {
    var arguments: [String] = []
    for index in 1..<max(1, Int(CommandLine.argc)) {
        guard let argument = CommandLine.unsafeArgv[index], let text = String(validatingCString: argument) else {
            return nil
        }
        arguments.append(text)
    }
    return arguments
}()

if let arguments {
    exit(await Tool.run(arguments, environment: ProcessInfo.processInfo.environment).rawValue)
} else {
    Console.note("an argument is not UTF-8; use the C interface for such keys")
    exit(ExitStatus.usage.rawValue)
}
