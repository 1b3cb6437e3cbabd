public import Foundation

/// Where caches keep their files.
public enum CacheDirectory {
    /// The platform's directory for caches, and in it `io.haneke`.
    ///
    /// On Linux the platform's directory is `$XDG_CACHE_HOME`, if that is an absolute path, else `~/.cache`.
    public static var base: URL {
        platformDirectory(environment: ProcessInfo.processInfo.environment)
            .appendingPathComponent(HanekeGlobals.Domain, isDirectory: true)
    }

    static func platformDirectory(environment: [String: String]) -> URL {
        #if canImport(Darwin)
            return URL.cachesDirectory
        #else
            // The base directory specification: a relative path is to be ignored.
            if let path = environment["XDG_CACHE_HOME"], path.hasPrefix("/") {
                return URL(fileURLWithPath: path, isDirectory: true)
            }
            let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
            return URL(fileURLWithPath: home, isDirectory: true).appendingPathComponent(".cache", isDirectory: true)
        #endif
    }

    /// The name of a cache as one component of a path: what would mean another place is escaped with `%`.
    static func component(for name: String) -> String {
        if name.isEmpty { return "%" }
        var component = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "%": component += "%25"
            case "/": component += "%2F"
            case "\0": component += "%00"
            default: component.unicodeScalars.append(scalar)
            }
        }
        return component == "." || component == ".." ? component.replacingOccurrences(of: ".", with: "%2E") : component
    }
}
