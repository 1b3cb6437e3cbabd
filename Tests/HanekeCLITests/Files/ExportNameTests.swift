import Haneke
import Testing

@testable import HanekeCLI

@Suite("Export names")
struct ExportNameTests {
    @Test(
        "H-177: a path below the directory stands for the key, with % : NUL and stray slashes escaped",
        arguments: [
            ("a", "a"), ("a/b.txt", "a/b.txt"), ("/etc/passwd", "%2Fetc/passwd"), ("../../x", "%2E%2E/%2E%2E/x"),
            ("a/", "a%2F"), ("/", "%2F"), ("a//b", "a%2F%2Fb"), (".", "%2E"), ("a/./b", "a/%2E/b"),
            ("100%", "100%25"), ("%2E%2E/x", "%252E%252E/x"), ("nul\0", "nul%00"), ("...", "..."),
            ("a b\\ü🐎", "a b\\ü🐎"),
            ("http://h/p?q", "http%3A%2F%2Fh/p?q"),
        ])
    func paths(key: String, path: String) {
        #expect(ExportName(key).path == path)
    }

    @Test("no name leads out: a slash with a combining mark behind it is a slash all the same")
    func combiningMarks() {
        for key in ["../\u{301}../x", "/\u{301}etc", "..\u{301}/\u{301}../\u{300}x"] {
            let name = ExportName(key)
            for component in name.directories + [name.file] {
                #expect(!component.utf8.contains(UInt8(ascii: "/")))
                #expect(component != ".." && component != "." && !component.isEmpty)
            }
        }
        #expect(ExportName("../\u{301}x").directories == ["%2E%2E"])
    }

    @Test("H-178: a name over 255 bytes becomes the MD5 digest and the extension without a URL's query")
    func longNames() {
        let stem = String(repeating: "n", count: 300)
        #expect(ExportName(stem).path == MD5.hexadecimalDigest(of: Array(stem.utf8)))
        let url = "http://h/\(stem).png?size=3.5"
        #expect(ExportName(url).path == MD5.hexadecimalDigest(of: Array(url.utf8)) + ".png")
        let longExtension = "a." + String(repeating: "e", count: 260)
        #expect(ExportName(longExtension).path == MD5.hexadecimalDigest(of: Array(longExtension.utf8)))
        // 128 characters, 256 bytes.
        let bytes = String(repeating: "é", count: 128)
        #expect(ExportName(bytes).file.count == 32)
        #expect(ExportName(String(repeating: "é", count: 127)).file.count == 127)
    }

    @Test("a path over 1,024 bytes becomes a digest, too")
    func longPaths() {
        let deep = Array(repeating: "d", count: 600).joined(separator: "/")
        #expect(ExportName(deep).directories.isEmpty)
        let shallow = Array(repeating: "d", count: 512).joined(separator: "/")
        #expect(ExportName(shallow).directories.count == 511)
    }

    @Test("flat names have no directory, and differ from every other key's")
    func flat() {
        #expect(ExportName(flat: "a/b").path == "a%2Fb")
        #expect(ExportName("a%2Fb").path == "a%252Fb")
    }

    @Test(
        "RFC 1321, A.5: the test suite of MD5",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
        ])
    func digest(message: String, digest: String) {
        #expect(MD5.hexadecimalDigest(of: Array(message.utf8)) == digest)
    }
}
