import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

@Suite("Encodings")
struct ParameterEncodingTests {
    @Test("N-014, N-015: order is kept, arrays repeat, nil is left out, everything but unreserved is escaped")
    func query() throws {
        var parameters: RequestParameters = [
            "b": "ä/~ +&", "a": [1, 2], "none": nil, "yes": true, "half": 0.5, "line": "x\ny\r\nz",
        ]
        let pairs = try parameters.flattened()
        let common = "a=1&a=2&yes=true&half=0.5"
        #expect(
            ParameterEncoding.pairs(pairs, isForm: false) == "b=%C3%A4%2F~%20%2B%26&\(common)&line=x%0Ay%0D%0Az")
        #expect(
            ParameterEncoding.pairs(pairs, isForm: true) == "b=%C3%A4%2F~+%2B%26&\(common)&line=x%0D%0Ay%0D%0Az")
        parameters.arrayStyle = .brackets
        #expect(ParameterEncoding.pairs(try parameters.flattened(), isForm: false).contains("a%5B%5D=1&a%5B%5D=2"))
    }

    @Test("N-016: JSON, property list and an encoding of one's own; a number that is not finite is refused")
    func bodies() async throws {
        let parameters: RequestParameters = ["n": 1, "t": "x", "list": [true, "y"]]
        let json = try JSONSerialization.jsonObject(with: ParameterEncoding.json.body(parameters)) as? [String: Any]
        #expect(json?["n"] as? Int == 1 && (json?["list"] as? [Any])?.count == 2)
        let plist = try PropertyListSerialization.propertyList(
            from: ParameterEncoding.plist.body(parameters), format: nil)
        #expect((plist as? [String: Any])?["t"] as? String == "x")
        let custom = ParameterEncoding.custom(contentType: "text/x") { Data("\($0.pairs.count)".utf8) }
        #expect(try custom.body(parameters) == Data("3".utf8) && custom.contentType == "text/x")
        for encoding in [ParameterEncoding.url, .json, .plist] {
            await expectFailure(.encoding) { try encoding.body(["x": .double(.nan)]) }
            await expectFailure(.encoding) { try encoding.body(["x": [.double(.infinity)]]) }
        }
    }

    @Test("N-018: fields come first, names are escaped, a path gives its last part, the length is exact")
    func multipart() throws {
        let directory = try TemporaryDirectory()
        try Data("file".utf8).write(to: URL(filePath: directory.path("a.png")))
        var form = MultipartForm()
        try form.addFile(directory.path("a.png"), forKey: "f\"\r\n")
        try form.addData(Data([1, 2]), forKey: "d", fileName: "C:\\x\\y.unknown")
        try form.addFields(["q": "ä"])
        let body = try RequestBody.multipart(form).reader().all()
        let b = form.boundary
        let expected = """
            --\(b)
            Content-Disposition: form-data; name="q"

            ä
            --\(b)
            Content-Disposition: form-data; name="f%22%0D%0A"; filename="a.png"
            Content-Type: image/png

            file
            --\(b)
            Content-Disposition: form-data; name="d"; filename="y.unknown"
            Content-Type: application/octet-stream

            \u{1}\u{2}
            --\(b)--

            """
        #expect(String(decoding: body, as: UTF8.self) == expected.replacingOccurrences(of: "\n", with: "\r\n"))
        #expect(try form.length() == Int64(body.count))
        #expect(b.hasPrefix("hnk-") && b.count == 36 && MultipartForm().boundary != b)
    }

    @Test("N-019: a form with a file of 256 MiB is read in pieces, and its length is right")
    func large() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("large")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: 256 << 20)
        var form = MultipartForm()
        try form.addFile(path, forKey: "f")
        let reader = try RequestBody.multipart(form).reader()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 8)
        defer { buffer.deallocate() }
        var total: Int64 = 0
        while case let count = try reader.read(into: buffer), count > 0 { total += Int64(count) }
        #expect(try total == form.length() && total > 256 << 20)
    }

    @Test("N-019: what is no readable regular file is refused before anything is sent")
    func badFiles() async throws {
        let directory = try TemporaryDirectory()
        let fifo = directory.path("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [directory.path("missing"), directory.path, fifo] {
            let error = await expectFailure(.uploadSource) { try RequestBody.file(path: path).length() }
            #expect(error?.underlying is POSIXError)
        }
    }

    @Test("N-019: a file that shrinks or grows while it is sent is noticed", arguments: [3, 200_000])
    func changing(_ size: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("f")
        try Data(count: 100_000).write(to: URL(filePath: path))
        let reader = try RequestBody.file(path: path).reader()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 8)
        defer { buffer.deallocate() }
        _ = try reader.read(into: buffer)
        try FileHandle(forWritingTo: URL(filePath: path)).truncate(atOffset: UInt64(size))
        await expectFailure(.uploadSourceChanged) { try reader.all() }
    }

    @Test("N-017, N-019: parts of files, forms and streams go up as they are, with a length or in chunks")
    func overTheWire() async throws {
        let directory = try TemporaryDirectory()
        try Data("0123456789".utf8).write(to: URL(filePath: directory.path("f")))
        let server = try LoopbackServer { request in .response(body: request.body) }
        let slice = try await get(server.urlString()) {
            $0.method = "PUT"
            $0.body = .file(path: directory.path("f"), offset: 2, length: 5)
        }
        #expect(slice.text == "23456")
        _ = try await get(server.urlString()) {
            $0.method = "POST"
            $0.body = .stream(length: 3) { DataReader(Data("abc".utf8)) }
        }
        #expect(server.requests.last?.body == Data("abc".utf8))
        await expectFailure(.uploadSourceChanged) {
            try await get(server.urlString()) {
                $0.method = "POST"
                $0.body = .stream(length: 3) { DataReader(Data("ab".utf8)) }
            }
        }
        _ = try? await get(server.urlString()) {
            $0.method = "POST"
            $0.body = .stream(length: nil) { DataReader(Data("ab".utf8)) }
        }
        #expect(server.requests.last?["Transfer-Encoding"] == "chunked")
    }
}

extension UploadReader {
    func all() throws -> Data {
        var result = Data()
        var piece = Data(count: 64 * 1024)
        while case let count = try piece.withUnsafeMutableBytes({ try read(into: $0) }), count > 0 {
            result.append(piece.prefix(count))
        }
        return result
    }
}
