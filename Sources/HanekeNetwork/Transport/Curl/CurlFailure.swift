#if canImport(CCurl)
    internal import CCurl

    /// What libcurl said: the cause inside a `NetworkError`.
    struct CurlFailure: Error, CustomStringConvertible {
        let code: CURLcode
        /// libcurl's own words about this transfer, or its general text for the code.
        let message: String

        init(_ code: CURLcode, message: String = "") {
            self.code = code
            self.message = message.isEmpty ? String(cString: curl_easy_strerror(code)) : message
        }

        var description: String { "libcurl \(code.rawValue): \(message)" }

        /// The result of an option call.
        static func check(_ code: CURLcode) throws(CurlFailure) {
            guard code == CURLE_OK else { throw CurlFailure(code) }
        }
    }

    extension CurlFailure {
        /// How far the transfer had come, which decides what the same code means.
        struct Progress {
            let target: WebURL
            let hasHead: Bool
            let receivedBytes: Int64
            let expectedBytes: Int64?
        }

        func networkError(_ progress: Progress) -> NetworkError {
            func error(_ code: NetworkError.Code, _ reason: String) -> NetworkError {
                NetworkError(code, reason, url: progress.target.string, underlying: self)
            }
            func endedEarly() -> NetworkError {
                guard progress.hasHead else {
                    return error(.connectionLost, "the connection ended before a response; try again")
                }
                var error = NetworkError.truncatedBody(
                    received: progress.receivedBytes, expected: progress.expectedBytes, progress.target)
                error.underlying = self
                return error
            }

            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
                return error(.dns, "the name can't be resolved; check it and your name server")
            case CURLE_COULDNT_CONNECT:
                return error(.connect, "no connection (\(message)); check that the server runs")
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_ENGINE_NOTFOUND:
                return error(.tls, "no trusted encrypted connection (\(message)); check certificate and host name")
            case CURLE_RECV_ERROR where message.hasSuffix("in chunked-encoding"):
                // libcurl has no code of its own for a broken chunk; without this text it is a truncated body.
                return error(.malformedResponse, "the chunks of the body are broken (\(message))")
            case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
                CURLE_HTTP2_STREAM, CURLE_HTTP3:
                return endedEarly()
            case CURLE_OUT_OF_MEMORY where !progress.hasHead:
                // libcurl's own bound on a header line, above ours, ends like this.
                return error(.headersTooLarge, "a line has more than 64 KiB")
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_FILESIZE_EXCEEDED,
                CURLE_BAD_CONTENT_ENCODING:
                return error(.malformedResponse, "the server does not answer in HTTP (\(message))")
            case CURLE_URL_MALFORMAT:
                return error(.badURL, "libcurl can't read it")
            default:
                return error(.transport, "\(message); see `underlying`")
            }
        }
    }
#endif
