import Foundation

/// Texts of the libraries in the tool's own words: their remedies name options of an interface that a shell does not have.
enum ToolWording {
    /// What the libraries write, and what is said instead.
    static let table: [(library: String, tool: String)] = [
        // CSources/CHaneke/src/status.c
        ("open it with HNK_DAMAGE_SALVAGE or delete the directory", "any command but verify salvages what is whole"),
        ("set it anew, or read it with HNK_GET_EXPIRED", "put it anew"),
        ("set it anew", "put it anew"),
        ("see haneke.h", "see haneke --help"),
        ("release some or raise readers_max", "try again when other programs hold fewer"),
        ("close the store and open it again", "run the command again"),
        ("raise it or split the value", "raise it with --capacity"),
        (
            "free some or lower the capacity",
            "free some, or make a bucket smaller: haneke compact --capacity BYTES"
        ),
        ("change its permissions or choose another", "change its permissions or name another with --store"),
        ("update this program or choose another directory", "update haneke or name another directory with --store"),
        ("choose another directory", "name another with --store"),
        // Sources/HanekeNetwork
        ("raise `maxBodyBytes` if you expect that", "get it by other means, and keep it with haneke put"),
        ("try again or raise `timeouts.connect`", "try again"),
        ("try again or raise `timeouts.firstByte`", "try again"),
        ("try again or raise `timeouts.idle`", "try again"),
        ("try again or raise `timeouts.slow`", "try again"),
        ("try again or raise `timeouts.attempt`", "try again"),
        ("use https or set `allowsBasicOverHTTP`", "use https"),
        ("; see `underlying`", ""),
    ]

    /// A library's text, for the tool's user.
    static func of(_ text: String) -> String {
        table.reduce(text) { $0.replacingOccurrences(of: $1.library, with: $1.tool) }
    }
}
