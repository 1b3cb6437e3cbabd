// What libcurl calls, on the loop's thread, with the transfer as context. None of these may free or remove a handle.
#if canImport(CCurl)
    internal import CCurl
    import Foundation

    private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// A connection, new or used again, is ready for the request.
    func curlConnected(
        context: UnsafeMutableRawPointer?, localAddress: UnsafeMutablePointer<CChar>?,
        remoteAddress: UnsafeMutablePointer<CChar>?, localPort: Int32, remotePort: Int32
    ) -> Int32 {
        transfer(context)?.clock.sent(at: .now)
        return CURL_PREREQFUNC_OK
    }

    func curlUploadBytes(
        buffer: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
    ) -> Int {
        guard let transfer = transfer(context), let buffer else { return Int(CURL_READFUNC_ABORT) }
        guard let body = transfer.request.body else { return 0 }
        do {
            let reader = try transfer.reader ?? body.reader()
            transfer.reader = reader
            let read = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            transfer.sentBytes += Int64(read)
            if let length = transfer.request.bodyLength,
                read == 0 ? transfer.sentBytes < length : transfer.sentBytes > length
            {
                throw NetworkError(.uploadSourceChanged, "the body has not the announced \(length) bytes")
            }
            transfer.clock.sent(at: .now)
            return read
        } catch {
            transfer.failure =
                error as? NetworkError
                ?? NetworkError(.uploadSource, "the body can't be read (\(error))", underlying: error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// libcurl starts a body again when a connection from its pool turned out to be closed.
    func curlUploadSeek(context: UnsafeMutableRawPointer?, offset: curl_off_t, origin: Int32) -> Int32 {
        guard let transfer = transfer(context), origin == SEEK_SET, offset == 0,
            transfer.sentBytes == 0 || transfer.request.body?.isReplayable ?? true
        else { return Int32(CURL_SEEKFUNC_FAIL) }
        transfer.sentBytes = 0
        transfer.reader = nil
        return CURL_SEEKFUNC_OK
    }

    func curlHeaderLine(
        buffer: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
    ) -> Int {
        guard let transfer = transfer(context) else { return 0 }
        let target = transfer.request.target
        transfer.clock.received(size * count, at: .now)
        do throws(HeadParser.Problem) {
            let isFinal = try transfer.head.take(UnsafeRawBufferPointer(start: buffer, count: size * count))
            if isFinal, let head = transfer.head.final {
                refuseReuseIfAmbiguous(head, transfer)
                transfer.mailbox.deliver(.init(interim: transfer.head.interim, final: head))
            }
            return size * count
        } catch {
            transfer.failure =
                switch error {
                case .tooLarge(let reason): .headersTooLarge(reason, target)
                case .malformed(let reason): .malformedResponse(reason, target)
                }
            return 0
        }
    }

    func curlBodyBytes(
        buffer: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
    ) -> Int {
        guard let transfer = transfer(context) else { return 0 }
        switch transfer.mailbox.deliver(UnsafeRawBufferPointer(start: buffer, count: size * count)) {
        case .taken:
            transfer.receivedBytes += Int64(size * count)
            transfer.clock.received(size * count, at: .now)
            return size * count
        case .full:
            transfer.clock.paused()
            return Int(CURL_WRITEFUNC_PAUSE)
        case .closed:
            return Int(CURL_WRITEFUNC_ERROR)
        }
    }

    /// Length and chunks together may mean that somebody on the way sees another end than we do (RFC 9112, 6.1).
    private func refuseReuseIfAmbiguous(_ head: ResponseHead, _ transfer: CurlTransfer) {
        guard head.headers.contains("Transfer-Encoding"), head.headers.contains("Content-Length") else { return }
        let status = hnk_curl_set_long(transfer.easy, CURLOPT_FORBID_REUSE, 1)
        if status != CURLE_OK {
            transfer.failure = .malformedResponse(
                "Content-Length and Transfer-Encoding together", transfer.request.target)
        }
    }
#endif
