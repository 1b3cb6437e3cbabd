import Testing

@testable import Haneke

@Suite("Exported file names")
struct ExportedFileNameTests {
    @Test(
        "H-177: %, NUL, : and / are escaped, nothing else",
        arguments: [
            ("plain", "plain"), ("http://a.b/c?d=1", "http%3A%2F%2Fa.b%2Fc?d=1"), ("50%", "50%25"), ("a\0b", "a%00b"),
            ("é 🎬\\*\"<>|", "é 🎬\\*\"<>|"), ("%2F", "%252F"),
        ])
    func escaping(key: String, name: String) {
        #expect(Array(ExportedFileName.name(forKey: key).utf8) == Array(name.utf8))
    }

    @Test("H-178: the limit of 255 is in bytes of UTF-8, after escaping")
    func limit() {
        let fits = String(repeating: "é", count: 127) + "x"
        #expect(ExportedFileName.name(forKey: fits) == fits)
        #expect(ExportedFileName.name(forKey: fits + "x").count == 32)
        #expect(ExportedFileName.name(forKey: String(repeating: "/", count: 85)).utf8.count == 255)
        #expect(ExportedFileName.name(forKey: String(repeating: "/", count: 86)).utf8.count == 32)
    }

    @Test("H-178: a longer name is the digest and the path's extension without a query, dropped if it is too long")
    func longNames() {
        let long = "http://example.com/" + String(repeating: "a", count: 300)
        func suffix(_ key: String) -> String { String(ExportedFileName.name(forKey: key).dropFirst(32)) }
        #expect(suffix(long) == "")
        #expect(suffix(long + ".png") == ".png")
        #expect(suffix(long + ".png?size=1.5") == ".png")
        #expect(suffix(long + ".tar.gz#top") == ".gz")
        #expect(suffix(long + "." + String(repeating: "e", count: 222)).utf8.count == 223)
        #expect(suffix(long + "." + String(repeating: "e", count: 223)) == "")
        #expect(ExportedFileName.name(forKey: long).prefix(32) == MD5.hexadecimalDigest(of: Array(long.utf8)))
        #expect(ExportedFileName.name(forKey: long) != ExportedFileName.name(forKey: long + "a"))
    }

    @Test(
        "H-178: the digest is MD5 (RFC 1321, A.5)",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
        ])
    func digest(text: String, digest: String) {
        #expect(MD5.hexadecimalDigest(of: Array(text.utf8)) == digest)
    }
}
