/// One option of the command line: how it is written and what the help says of it.
struct Option: Hashable, Sendable {
    /// Without its dashes.
    let name: String
    let short: Character?
    /// What stands for the value in the help; nil for an option that takes none.
    let value: String?
    let help: String

    /// How a user would write it: `--ttl SECONDS`.
    var spelling: String { value.map { "--\(name) \($0)" } ?? "--\(name)" }
}

extension Option {
    static let store = Option(
        name: "store", short: nil, value: "DIR",
        help: "the store's directory; else $HANEKE_STORE, else io.haneke/cli in the user's cache directory")
    static let bucket = Option(
        name: "bucket", short: nil, value: "NAME", help: "the bucket to work in; \"default\" if not given")
    static let capacity = Option(
        name: "capacity", short: nil, value: "BYTES",
        help:
            "what the bucket's entries may take on the disk from now on: 500K, 64M, 2G, unlimited; less evicts at once")
    static let eviction = Option(
        name: "eviction", short: nil, value: "POLICY",
        help: "what the bucket gives up first from now on: lru, the least recently used, or sieve")
    static let json = Option(
        name: "json", short: nil, value: nil, help: "answer with one JSON document on standard output")
    static let help = Option(name: "help", short: "h", value: nil, help: "show help, for the tool or one command")
    static let version = Option(name: "version", short: nil, value: nil, help: "show the version")

    static let output = Option(
        name: "output", short: "o", value: "FILE", help: "write the value to FILE instead of standard output")
    static let ttl = Option(
        name: "ttl", short: nil, value: "SECONDS", help: "how long the entry lives; 0 is expired from the start")
    static let prefix = Option(name: "prefix", short: nil, value: "P", help: "only keys that start with P")
    static let lru = Option(
        name: "lru", short: nil, value: nil,
        help: "least recently used first: the order of eviction, unless that is sieve")
    static let long = Option(
        name: "long", short: nil, value: nil, help: "with size, share of the disk, last use and expiry")

    /// Those that every command takes, and that may stand before it.
    static let global: [Option] = [store, bucket, json, help, version]
}
