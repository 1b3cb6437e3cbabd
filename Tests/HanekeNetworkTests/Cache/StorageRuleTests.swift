import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Storage")
struct StorageRuleTests {
    @Test(
        "N-034: only a plain GET takes part",
        arguments: [
            ("GET", [:], true), ("HEAD", [:], false), ("POST", [:], false), ("get", [:], false),
            ("GET", ["Range": "bytes=0-1"], false), ("GET", ["If-None-Match": "x"], false),
            ("GET", ["if-modified-since": "x"], false), ("GET", ["Cache-Control": "no-store"], false),
            ("GET", ["Cache-Control": "no-cache"], true),
        ] as [(String, HTTPHeaders, Bool)])
    func requests(_ method: String, _ headers: HTTPHeaders, _ expected: Bool) {
        #expect(StorageRule.isCacheable(method: method, headers: headers) == expected)
    }

    @Test(
        "N-035, N-043: what an answer must say to be kept",
        arguments: [
            (200, [:], true), (200, ["Cache-Control": "no-store"], false), (200, ["Vary": "*"], false),
            (200, ["Vary": "Accept, *"], false), (206, ["Cache-Control": "max-age=1"], false),
            (304, ["Cache-Control": "max-age=1"], false), (199, ["Cache-Control": "max-age=1"], false),
            (302, [:], false), (302, ["Cache-Control": "max-age=1"], true), (302, ["Expires": "0"], true),
            (299, [:], false), (499, [:], false), (599, [:], false), (599, ["Cache-Control": "max-age=1"], true),
            (302, ["Cache-Control": "private"], true), (302, ["Cache-Control": "public"], true),
            (302, ["Cache-Control": "s-maxage=1"], false), (200, ["Cache-Control": "no-cache"], false),
            (200, ["Cache-Control": "no-cache, max-age=5"], false),
            (200, ["Cache-Control": "no-cache", "ETag": "x"], true),
            (200, ["Cache-Control": "no-store, must-understand"], true),
            (599, ["Cache-Control": "no-store, must-understand, max-age=1"], false),
        ] as [(Int, HTTPHeaders, Bool)])
    func answers(_ status: Int, _ headers: HTTPHeaders, _ expected: Bool) {
        #expect(StorageRule.mayStore(ResponseHead(status: status, headers: headers)) == expected)
    }

    @Test("N-036: the statuses that need no explicit lifetime")
    func heuristic() {
        let statuses = (200...599).filter(StorageRule.isHeuristicallyCacheable)
        #expect(statuses == [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
    }

    @Test("N-041: fields of the connection go, the others stay in order")
    func fields() {
        let headers: HTTPHeaders = [
            "A": "1", "Connection": "close, X-Hop", "Set-Cookie": "a", "x-hop": "2", "TE": "x", "Upgrade": "x",
            "Set-Cookie": "b", "Transfer-Encoding": "chunked", "Proxy-Authenticate": "x", "Keep-Alive": "x", "B": "3",
        ]
        let kept = StorageRule.storedHeaders(headers)
        #expect(kept.map(\.name) == ["A", "Set-Cookie", "Set-Cookie", "B"])
    }

    @Test("N-042: a body over 50 MiB or a tenth of the capacity is not kept")
    func sizes() {
        #expect(StorageRule.mayStore(bodyBytes: 50 << 20, capacityBytes: 1 << 40))
        #expect(!StorageRule.mayStore(bodyBytes: 50 << 20 + 1, capacityBytes: 1 << 40))
        #expect(StorageRule.mayStore(bodyBytes: 100, capacityBytes: 1000))
        #expect(!StorageRule.mayStore(bodyBytes: 101, capacityBytes: 1000))
    }

    @Test(
        "N-039: URLs that mean the same have one key",
        arguments: [
            ("HTTP://H:80", "http://h/"), ("https://h:443/a", "https://h/a"), ("http://h:81/", "http://h:81/"),
            ("http://h/%7ea/%2f%c3%a4", "http://h/~a/%2F%C3%A4"), ("http://h/a/./b/../c", "http://h/a/c"),
            ("http://h/../..", "http://h/"), ("http://h/a?", "http://h/a?"), ("http://h/a", "http://h/a"),
            ("http://h/a?%7e/../x", "http://h/a?%7e/../x"), ("http://h/a#f", "http://h/a"),
            ("http://h/a//b/", "http://h/a//b/"), ("http://h/a/..", "http://h/"),
        ])
    func keys(_ url: String, _ expected: String) throws {
        #expect(PrimaryKey.text(try WebURL(url)) == expected)
    }

    @Test(
        "N-040: what Vary names must match in the request",
        arguments: [
            ("Accept", ["accept": "a"], ["ACCEPT": "a"], true), ("Accept", ["Accept": "a"], ["Accept": "b"], false),
            ("accept", [:], [:], true), ("Accept", [:], ["Accept": ""], false), ("Accept", ["Accept": "a"], [:], false),
            ("Accept", ["Accept": "a,b"], ["Accept": " a , b "], true),
            ("Accept", ["Accept": "a", "Accept": "b"], ["Accept": "a, b"], true),
            ("Accept, Cookie", ["Accept": "a", "Cookie": "x"], ["Accept": "a", "Cookie": "y"], false),
            ("Accept", ["Accept": "a", "X": "1"], ["Accept": "a", "X": "2"], true),
        ] as [(String, HTTPHeaders, HTTPHeaders, Bool)])
    func vary(_ vary: String, _ first: HTTPHeaders, _ second: HTTPHeaders, _ expected: Bool) throws {
        var head = stored(["Vary": vary])
        head.selectors = VaryRule.selectors(try #require(VaryRule.names(head.headers)), in: first)
        #expect(VaryRule.matches(head, second) == expected)
    }
}
