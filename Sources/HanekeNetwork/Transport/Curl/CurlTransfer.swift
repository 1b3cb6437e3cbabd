#if canImport(CCurl)
    internal import CCurl
    import Foundation

    /// One easy handle with everything that libcurl borrows from us while it runs.
    ///
    /// Used on the loop's thread only.
    final class CurlTransfer {
        let id: UInt64
        let request: TransportRequest
        let mailbox: TransferMailbox
        let easy: UnsafeMutableRawPointer
        /// The proxy's URL, or nil for a direct connection.
        let proxy: String?
        var clock: TransferClock
        /// True once the handle has been given to the multi handle.
        var isAdded = false

        /// What a callback found wrong; it goes before libcurl's own code, which then only says "callback failed".
        var failure: NetworkError?
        var head = HeadParser()
        var receivedBytes: Int64 = 0
        var sentBytes: Int64 = 0
        /// Where the body is read from; nil before the first byte and after a rewind.
        var reader: (any UploadReader)?

        private let started = ContinuousClock.now
        private var lookupTime = Duration.zero
        private var headerList: UnsafeMutablePointer<curl_slist>?
        private var addressList: UnsafeMutablePointer<curl_slist>?
        private let message: UnsafeMutablePointer<CChar>

        init(id: UInt64, request: TransportRequest, mailbox: TransferMailbox, proxy: String?) throws(CurlFailure) {
            guard let easy = curl_easy_init() else { throw CurlFailure(CURLE_OUT_OF_MEMORY) }
            self.id = id
            self.request = request
            self.mailbox = mailbox
            self.easy = easy
            self.proxy = proxy
            clock = TransferClock(request.timeouts, now: started)
            message = .allocate(capacity: Int(CURL_ERROR_SIZE))
            message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
            try setOptions()
            try setMethod()
            try setHeaders()
            try setCallbacks()
        }

        deinit {
            curl_easy_cleanup(easy)
            curl_slist_free_all(headerList)
            curl_slist_free_all(addressList)
            message.deallocate()
        }

        /// The host whose address libcurl will need: nil if it is a literal, or a name that means this machine.
        var hostToLookUp: (host: String, port: Int)? {
            if let proxy { return ProxySettings.hostToLookUp(of: proxy) }
            return request.target.needsLookup ? (request.target.host, request.target.port) : nil
        }

        /// Hands the addresses to libcurl.
        ///
        /// "+" lets its own cache forget them again.
        func setAddresses(_ addresses: [String], host: String, port: Int) throws(CurlFailure) {
            lookupTime = ContinuousClock.now - started
            // libcurl asks for a name with or without its final dot, depending on the version.
            let names = host.hasSuffix(".") ? [host, String(host.dropLast())] : [host]
            for name in names {
                try append("+\(name):\(port):\(addresses.joined(separator: ","))", to: &addressList)
            }
            try CurlFailure.check(hnk_curl_set_list(easy, CURLOPT_RESOLVE, addressList))
        }

        /// Settles the mailbox by libcurl's verdict.
        func finish(_ code: CURLcode) {
            if let failure { return mailbox.finish(.failure(failure)) }
            guard code == CURLE_OK else {
                let progress = CurlFailure.Progress(
                    target: request.target, hasHead: head.final != nil, receivedBytes: receivedBytes,
                    expectedBytes: head.final?.contentLength)
                let text = String(cString: message)
                return mailbox.finish(.failure(CurlFailure(code, message: text).networkError(progress)))
            }
            mailbox.finish(.success(.init(trailers: head.trailers, metrics: metrics())))
        }

        // MARK: Options

        private func setOptions() throws(CurlFailure) {
            let target = request.target
            try set(CURLOPT_URL, target.string)
            try set(CURLOPT_PROTOCOLS_STR, "http,https")
            // Signals would reach threads of the host program.
            try set(CURLOPT_NOSIGNAL, 1)
            // Redirects, decoding, cookies and credentials are decided above the transport.
            try set(CURLOPT_FOLLOWLOCATION, 0)
            try set(CURLOPT_HTTP_CONTENT_DECODING, 0)
            try set(CURLOPT_PATH_AS_IS, 1)
            try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
            try set(CURLOPT_MAXAGE_CONN, 90)
            // An empty text also keeps libcurl from reading the environment.
            try set(CURLOPT_PROXY, proxy ?? "")
            try CurlFailure.check(hnk_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, message))
        }

        private func setMethod() throws(CurlFailure) {
            switch request.method {
            case "GET": try set(CURLOPT_HTTPGET, 1)
            case "HEAD": try set(CURLOPT_NOBODY, 1)
            default:
                if request.body != nil || ["POST", "PUT", "PATCH"].contains(request.method) {
                    try set(CURLOPT_POST, 1)
                    try CurlFailure.check(
                        hnk_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.bodyLength ?? -1)))
                }
                try set(CURLOPT_CUSTOMREQUEST, request.method)
            }
        }

        private func setHeaders() throws(CurlFailure) {
            // libcurl adds these by itself; a name with nothing behind the colon takes them out.
            // It asks before it sends more than 1 MiB over HTTP/1.1, and waits for a second (N-020).
            let asksFirst = (request.bodyLength ?? .max) > 1024 * 1024
            let ownFields = ["Accept", "Content-Type"] + (asksFirst ? [] : ["Expect"])
            for name in ownFields where !request.headers.contains(name) {
                try append("\(name):", to: &headerList)
            }
            for field in request.headers where !field.name.isSameToken(as: "Content-Length") {
                // The semicolon is libcurl's notation for a field with an empty value.
                try append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)", to: &headerList)
            }
            try CurlFailure.check(hnk_curl_set_list(easy, CURLOPT_HTTPHEADER, headerList))
        }

        private func setCallbacks() throws(CurlFailure) {
            // Unretained: the loop holds this object until the handle is out of the multi handle.
            let context = Unmanaged.passUnretained(self).toOpaque()
            for option in [
                CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_PREREQDATA,
            ] {
                try CurlFailure.check(hnk_curl_set_pointer(easy, option, context))
            }
            try CurlFailure.check(hnk_curl_set_data_function(easy, CURLOPT_HEADERFUNCTION, curlHeaderLine))
            try CurlFailure.check(hnk_curl_set_data_function(easy, CURLOPT_WRITEFUNCTION, curlBodyBytes))
            try CurlFailure.check(hnk_curl_set_data_function(easy, CURLOPT_READFUNCTION, curlUploadBytes))
            try CurlFailure.check(hnk_curl_set_seek_function(easy, curlUploadSeek))
            try CurlFailure.check(hnk_curl_set_prereq_function(easy, curlConnected))
        }

        private func set(_ option: CURLoption, _ value: Int) throws(CurlFailure) {
            try CurlFailure.check(hnk_curl_set_long(easy, option, value))
        }

        private func set(_ option: CURLoption, _ value: String) throws(CurlFailure) {
            try CurlFailure.check(hnk_curl_set_text(easy, option, value))
        }

        private func append(
            _ text: String, to list: inout UnsafeMutablePointer<curl_slist>?
        ) throws(CurlFailure) {
            guard let longer = curl_slist_append(list, text) else { throw CurlFailure(CURLE_OUT_OF_MEMORY) }
            list = longer
        }

        // MARK: Metrics

        private func metrics() -> TransferMetrics {
            var metrics = TransferMetrics()
            metrics.nameLookup = lookupTime
            metrics.connect = time(CURLINFO_CONNECT_TIME_T)
            metrics.tls = time(CURLINFO_APPCONNECT_TIME_T)
            metrics.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
            metrics.total = ContinuousClock.now - started
            metrics.sentBytes = sentBytes
            metrics.receivedBytes = receivedBytes
            var connections = 0
            metrics.reusedConnection =
                hnk_curl_get_long(easy, CURLINFO_NUM_CONNECTS, &connections) == CURLE_OK && connections == 0
            return metrics
        }

        /// libcurl counts from the moment at which it got the handle: after our lookup.
        private func time(_ info: CURLINFO) -> Duration {
            var microseconds: curl_off_t = 0
            guard hnk_curl_get_offset(easy, info, &microseconds) == CURLE_OK, microseconds > 0 else { return .zero }
            return lookupTime + .microseconds(microseconds)
        }
    }
#endif
