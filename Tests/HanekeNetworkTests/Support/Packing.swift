import CZlib
import Foundation

enum Packing: Int32 {
    case gzip = 31
    case zlib = 15
    case rawDeflate = -15
}

extension Data {
    /// The bytes packed by zlib in one go.
    func packed(_ format: Packing) throws -> Data {
        struct Failure: Error { let status: Int32 }
        var stream = z_stream()
        var status = hnk_zlib_deflate_init(&stream, 9, format.rawValue)
        guard status == Z_OK else { throw Failure(status: status) }
        defer { deflateEnd(&stream) }
        var output = Data(count: Int(deflateBound(&stream, UInt(count))))
        var input = self
        let capacity = output.count
        input.withUnsafeMutableBytes { source in
            output.withUnsafeMutableBytes { target in
                stream.next_in = source.bindMemory(to: Bytef.self).baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.bindMemory(to: Bytef.self).baseAddress
                stream.avail_out = UInt32(capacity)
                status = deflate(&stream, Z_FINISH)
            }
        }
        guard status == Z_STREAM_END else { throw Failure(status: status) }
        return output.prefix(capacity - Int(stream.avail_out))
    }
}
