#if canImport(CZlib)
    internal import CZlib
    import Foundation

    /// Unpacks one gzip or deflate stream piece by piece.
    ///
    /// Not shared between tasks.
    final class Inflater {
        enum Format { case gzip, deflate }

        enum Problem: Error, Equatable {
            /// Broken data or a wrong checksum, in zlib's words.
            case broken(String)
        }

        private enum Stage {
            /// Fewer than two bytes seen: too few to know what follows.
            case undecided(start: Data, isFirst: Bool)
            case inside
            /// What follows the end is ignored.
            case ended
        }

        private static let outputBytes = 64 * 1024

        private let format: Format
        // On the heap: zlib keeps the address of its stream and refuses a moved one.
        private let stream: UnsafeMutablePointer<z_stream>
        private var isInitialized = false
        private var stage = Stage.undecided(start: Data(), isFirst: true)

        init(_ format: Format) {
            self.format = format
            stream = .allocate(capacity: 1)
            stream.initialize(to: z_stream())
        }

        deinit {
            if isInitialized { inflateEnd(stream) }
            stream.deallocate()
        }

        /// True if the stream is complete; also before the first byte, since an empty body packs nothing.
        var isComplete: Bool {
            switch stage {
            case .undecided(let start, let isFirst): !isFirst || start.isEmpty
            case .inside: false
            case .ended: true
            }
        }

        /// Hands what `input` unpacks to, at most 64 KiB at a time, to `output`.
        ///
        /// Throws `Problem`, or what `output` throws.
        func inflate(_ input: Data, _ output: (Data) throws -> Void) throws {
            var rest = input
            while !rest.isEmpty {
                switch stage {
                case .ended:
                    return
                case .undecided(var start, let isFirst):
                    start.append(rest.removeFirst())
                    stage = .undecided(start: start, isFirst: isFirst)
                    guard start.count == 2 else { continue }
                    try begin(start, isFirst: isFirst)
                    if case .inside = stage { rest = start + rest }
                case .inside:
                    rest = try run(rest, output)
                }
            }
        }

        /// Decides by two bytes what kind of stream begins.
        private func begin(_ start: Data, isFirst: Bool) throws {
            let (first, second) = (start[start.startIndex], start[start.startIndex + 1])
            if !isFirst {
                // gzip may go on with another member (RFC 1952, 2.2); anything else is no part of the body.
                guard format == .gzip, first == 0x1F, second == 0x8B else {
                    stage = .ended
                    return
                }
                try check(inflateReset(stream))
            } else {
                // "deflate" should be zlib (RFC 1950), but some servers send it raw.
                let isZlib = first & 0x0F == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
                let windowBits: Int32 = format == .gzip ? 31 : (isZlib ? 15 : -15)
                try check(hnk_zlib_inflate_init(stream, windowBits))
                isInitialized = true
            }
            stage = .inside
        }

        /// Unpacks until the input or the stream ends; returns what lies behind the end.
        private func run(_ input: Data, _ output: (Data) throws -> Void) throws -> Data {
            var consumed = 0
            while consumed < input.count {
                var buffer = Data(count: Self.outputBytes)
                var written = 0
                let status = input.withUnsafeBytes { source -> Int32 in
                    buffer.withUnsafeMutableBytes { target -> Int32 in
                        let left = source.count - consumed
                        // zlib's header takes the input as mutable but only reads it.
                        stream.pointee.next_in = UnsafeMutablePointer(
                            mutating: source.bindMemory(to: Bytef.self).baseAddress?.advanced(by: consumed))
                        stream.pointee.avail_in = UInt32(left)
                        stream.pointee.next_out = target.bindMemory(to: Bytef.self).baseAddress
                        stream.pointee.avail_out = UInt32(target.count)
                        let status = CZlib.inflate(stream, Z_NO_FLUSH)
                        consumed += left - Int(stream.pointee.avail_in)
                        written = target.count - Int(stream.pointee.avail_out)
                        return status
                    }
                }
                if written > 0 { try output(buffer.prefix(written)) }
                if status == Z_STREAM_END {
                    stage = .undecided(start: Data(), isFirst: false)
                    break
                }
                // Z_BUF_ERROR: nothing more can be done with this input; more will come.
                if status == Z_BUF_ERROR { break }
                try check(status)
            }
            return input.dropFirst(consumed)
        }

        private func check(_ status: Int32) throws {
            guard status != Z_OK else { return }
            let words = stream.pointee.msg.map { String(cString: $0) } ?? "zlib status \(status)"
            throw Problem.broken(words)
        }
    }
#endif
