import Foundation
import Testing

@testable import Hoard

@Suite("Keys")
struct KeyTests {
    @Test("T-005: segments are literal, and two spellings of one text are one key")
    func literal() throws {
        #expect(Key.from("a/b") != Key.from("a", "b"))
        #expect(Key.from("caf\u{E9}") == Key.from("cafe\u{301}"))
        #expect(Key.from("caf\u{E9}").hashValue == Key.from("cafe\u{301}").hashValue)
        let key = Key.from("a/b", "%", "\u{1}q:x", "\u{0}")
        #expect(try JSONDecoder().decode(Key.self, from: JSONEncoder().encode(key)) == key)
    }

    @Test("T-006: the invalid key throws in the throwing form and does nothing in the plain one")
    func invalid() {
        #expect(Key.from() == Key.invalid)
        #expect(Key.from(segments: []) == Key.invalid)
        let context = MemoryContext()
        context.put("a", 1)
        #expect(throws: TreeError.invalidKey) { try context.setValue(1, for: Key.invalid) }
        #expect(throws: TreeError.invalidKey) { try context.removeValues(for: "//") }
        context.put("", 2)
        #expect(context.remove("///") == 0)
        let missing: Int? = context.get("")
        #expect(missing == nil)
        #expect(context.keys() == ["a".asKey()])
    }

    @Test("T-007: text is split on slashes, empty pieces dropped, nothing else is special")
    func text() {
        #expect("root/branch/leaf".asKey() == Key.from("root", "branch", "leaf"))
        #expect("/a//b/".asKey() == Key.from("a", "b"))
        #expect("".asKey() == .invalid)
        #expect("///".asKey() == .invalid)
        #expect("%41/../A".asKey().segments == ["%41", "..", "A"])
    }

    @Test("T-008: limits are checked when the key is used; NUL is data")
    func limits() throws {
        let context = MemoryContext()
        try context.setValue(1, for: Key.from(segments: Array(repeating: "s", count: 64)))
        try context.setValue(1, for: Key.from(String(repeating: "x", count: 1_024)))
        try context.setValue(1, for: Key.from("a\u{0}b"))
        let long = [
            Key.from(segments: Array(repeating: "s", count: 65)), Key.from(String(repeating: "x", count: 1_025)),
            Key.from(segments: Array(repeating: String(repeating: "x", count: 1_000), count: 9)),
        ]
        for key in long { #expect(throws: TreeError.keyTooLong) { try context.setValue(1, for: key) } }
    }

    @Test("T-009: the description is injective and has an inverse")
    func description() {
        #expect(Key.from("a/b", "50%").description == "a%2Fb/50%25")
        let odd = ["", "a", "/", "%", "%2F", "%25", "\u{1}", "\u{1}q:", "e\u{301}"]
        for first in odd {
            for second in odd {
                let key = Key.from(first, second)
                #expect(Key(description: key.description) == key)
            }
        }
        #expect(Key(description: "a//b") == nil)
        #expect(Key(description: "50%2") == nil)
    }

    @Test("T-010: first, last, parent, appending, isPrefix go by segments")
    func parts() {
        let key = Key.from("a", "b", "c")
        #expect(key.first == "a" && key.last == "c" && key.parent == Key.from("a", "b"))
        #expect(Key.from("a").parent == nil)
        #expect(Key.from("a").appending("b") == Key.from("a", "b"))
        #expect(Key.from("a", "b").isPrefix(of: key))
        #expect(!Key.from("a", "b").isPrefix(of: Key.from("a", "bc")))
        #expect(key.asKey() == key)
    }

    @Test("T-015: a segment that begins with U+0001 reads back, and is no URL's")
    func marks() throws {
        #expect(Key.from("\u{1}q:x").segments == ["\u{1}q:x"])
        let url = try #require(URL(string: "http://h?x")).asKey()
        #expect(Key.from(segments: url.segments) != url)
    }

    @Test("T-041: the bytes of a key are the first bytes of those below it only, in key order")
    func encoding() {
        let segments = ["", "a", "a\u{0}", "a\u{1}", "a\u{2}", "ab", "\u{1}", "b", "\u{10FFFF}"]
        var keys = segments.map { Key.from($0) }
        for first in segments { keys += segments.map { Key.from(first, $0) } }
        for left in keys {
            #expect(KeyEncoding.decode(left.encoded.utf8) == left.stored)
            for right in keys {
                let isBelow = right.stored.starts(with: left.stored)
                #expect(right.encoded.utf8.starts(with: left.encoded.utf8) == isBelow)
                let isBefore = left.stored.lexicographicallyPrecedes(right.stored) {
                    $0.utf8.lexicographicallyPrecedes($1.utf8)
                }
                #expect(left.encoded.utf8.lexicographicallyPrecedes(right.encoded.utf8) == isBefore)
            }
        }
    }
}

@Suite("URLs as keys")
struct URLKeyTests {
    private func key(_ text: String) throws -> Key { try #require(URL(string: text)).asKey() }

    @Test("T-011: the canonical case is the host and the pieces of the path")
    func canonical() throws {
        #expect(
            try key("http://cdn.google.com/some/asset.png") == Key.from("cdn.google.com", "some", "asset.png"))
        for text in ["http://www.google.com", "http://www.google.com/", "http://www.google.com:80/#part"] {
            #expect(try key(text) == Key.from("www.google.com"))
        }
    }

    @Test("T-012: the host is folded, pieces are decoded once")
    func decoding() throws {
        #expect(try key("http://WWW.Google.COM./a") == Key.from("www.google.com", "a"))
        #expect(try key("http://[::1]/a") == Key.from("[::1]", "a"))
        #expect(try key("http://h/a%2Fb/c%20d") == Key.from("h", "a/b", "c d"))
        #expect(try key("http://h/%FF").segments == ["h", "\u{1}x:%FF"])
        #expect(try key("http://h/%FF") != key("http://h/%25FF"))
    }

    @Test("T-013: scheme, port, user, query and slashes keep URLs apart; password and fragment don't count")
    func qualifiers() throws {
        let texts = [
            "http://h/a", "https://h/a", "http://h:8080/a", "http://u@h/a", "http://h/a?", "http://h/a?q",
            "http://h/a/", "http://h//a", "https://h:8443/a", "ftp://h/a",
        ]
        #expect(Set(try texts.map { try key($0) }).count == texts.count)
        #expect(try key("https://h/a?q").segments == ["h", "\u{1}o:https:443", "a", "\u{1}q:q"])
        #expect(try key("http://u:secret@h/a") == key("http://u@h/a"))
        #expect(!(try key("http://u:secret@h/a").description.contains("secret")))
    }

    @Test("T-014: removing a host removes all of its URLs; descendants: false removes one leaf")
    func pruning() throws {
        let context = MemoryContext()
        for text in ["https://h/dir/a", "https://h/dir/a?q", "http://h/dir", "http://other/dir"] {
            context.put(try key(text), 1)
        }
        #expect(context.remove(try key("https://h/dir/a"), descendants: false) == 1)
        #expect(context.remove(try key("https://h/dir")) == 1)
        #expect(context.remove("h") == 1)
        #expect(context.keys().count == 1)
    }

    @Test("T-016: URLs without a host begin with their scheme")
    func hostless() throws {
        #expect(try key("file:///tmp/a").segments == ["\u{1}o:file", "tmp", "a"])
        #expect(try key("mailto:x@y").segments == ["\u{1}o:mailto", "x@y"])
    }
}
