import Testing

@testable import HanekeCLI

@Suite("Invocation")
struct InvocationTests {
    @Test("global options stand anywhere, the command's own after or before its operands")
    func order() throws {
        for line in [
            ["--store", "s", "put", "k", "f", "--ttl", "5"], ["put", "--ttl=5", "k", "--store=s", "f"],
            ["--ttl", "5", "put", "k", "f", "--store", "other", "--store", "s"],
        ] {
            let invocation = try Invocation(line)
            #expect(invocation.command?.name == "put")
            #expect(invocation.operands == ["k", "f"])
            #expect(invocation[.store] == "s")
            #expect(try invocation.lifetime() == .seconds(5))
        }
    }

    @Test("-- ends the options; - alone is an operand; short options take their value attached or not")
    func dashes() throws {
        #expect(try Invocation(["get", "--", "--json"]).operands == ["--json"])
        #expect(try Invocation(["put", "k", "-"]).operands == ["k", "-"])
        #expect(try Invocation(["get", "-oout", "k"])[.output] == "out")
        #expect(try Invocation(["get", "k", "-o", "out"])[.output] == "out")
    }

    @Test(
        "a line that makes no sense is refused with a remedy",
        arguments: [
            ([], "no command"), (["frob"], "is no command"), (["get"], "too few arguments"),
            (["get", "a", "b"], "too many arguments"), (["get", "--frob", "k"], "is no option"),
            (["get", "-x", "k"], "is no option"), (["get", "k", "-o"], "wants a value"),
            (["ls", "--ttl", "5"], "does not go with ls, but with put, fetch, import"),
            (["ls", "--json=yes"], "takes no value"),
        ] as [([String], String)])
    func refused(line: [String], reason: String) throws {
        let failure = try #require(throws: Failure.self) { _ = try Invocation(line) }
        #expect(failure.status == .usage)
        #expect(failure.message.contains(reason))
    }

    @Test("a command that reads takes no capacity, and says which ones do", arguments: Command.all.map(\.name))
    func capacity(name: String) throws {
        let writers = ["put", "compact", "fetch", "import"]
        let operands = ["put", "get", "has", "rm", "fetch", "import", "export"].contains(name) ? ["operand"] : []
        let line = [name] + operands + ["--capacity", "1M"]
        if writers.contains(name) {
            #expect(try Invocation(line)[.capacity] == "1M")
        } else {
            let failure = try #require(throws: Failure.self) { _ = try Invocation(line) }
            #expect(failure.status == .usage)
            #expect(failure.message.contains("does not go with \(name), but with put, compact, fetch, import"))
        }
    }

    @Test("help and version are given even where arguments are missing")
    func help() throws {
        #expect(try Invocation(["get", "--help"]).command?.name == "get")
        #expect(try Invocation(["--version"]).command == nil)
    }

    @Test("the help has every command, and that of a command every option")
    func helpIsComplete() {
        for command in Command.all {
            #expect(Help.tool.contains("  \(command.name)"))
            for option in command.options + Option.global {
                #expect(Help.command(command).contains(option.spelling))
            }
        }
    }

    @Test("sizes are read with K, M, G, T, and nothing else")
    func sizes() {
        #expect(ByteCount.parse("0") == 0)
        #expect(ByteCount.parse("500k") == 512_000)
        #expect(ByteCount.parse("64M") == 67_108_864)
        #expect(ByteCount.parse("2G") == 2_147_483_648)
        #expect(ByteCount.parse("1T") == 1_099_511_627_776)
        #expect(ByteCount.parse("unlimited") == .max)
        #expect(ByteCount.parse("18446744073709551615") == .max)
        for bad in ["", "M", "-1", "1.5M", "1 M", "1MM", "18446744073709551616", "16777216T", "٣"] {
            #expect(ByteCount.parse(bad) == nil, "\(bad)")
        }
    }

    @Test("sizes are written with one decimal and a unit that keeps them under 1,024")
    func writtenSizes() {
        let texts: [(UInt64, String)] = [
            (0, "0 bytes"), (1, "1 byte"), (1_023, "1023 bytes"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"),
            (1_048_575, "1.0 MiB"), (10 << 20, "10.0 MiB"), (.max, "unlimited"),
        ]
        for (bytes, text) in texts { #expect(ByteCount.text(bytes) == text) }
    }

    @Test("the store is --store, else $HANEKE_STORE, else below $XDG_CACHE_HOME or ~/.cache")
    func defaultStore() throws {
        func store(_ line: [String], _ environment: [String: String]) throws -> String {
            try Settings(Invocation(["ls"] + line), environment: environment).storeDirectory
        }
        let all = ["HANEKE_STORE": "/e", "XDG_CACHE_HOME": "/x", "HOME": "/h"]
        #expect(try store(["--store", "/s"], all) == "/s")
        #expect(try store([], all) == "/e")
        #if !canImport(Darwin)
            #expect(try store([], ["HANEKE_STORE": "", "XDG_CACHE_HOME": "/x", "HOME": "/h"]) == "/x/io.haneke/cli")
            #expect(try store([], ["XDG_CACHE_HOME": "relative", "HOME": "/h"]) == "/h/.cache/io.haneke/cli")
            #expect(throws: Failure.self) { try store([], [:]) }
        #endif
        #expect(throws: Failure.self) { try store(["--store", ""], all) }
        #expect(throws: Failure.self) { try Settings(Invocation(["compact", "--capacity", "much"]), environment: all) }
        #expect(throws: Failure.self) { try store(["--bucket", String(repeating: "b", count: 256)], all) }
    }
}
