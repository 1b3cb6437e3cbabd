#if canImport(CCurl)
    import Foundation
    import Synchronization

    /// The transport of Linux: libcurl's multi interface on one thread.
    ///
    /// HTTP/1.1, and HTTP/2 over TLS.
    ///
    /// Connections are kept and used again, at most 32 idle ones and none idle for more than 90 s. Names are looked up
    /// on other threads, so a silent name server holds up nobody else. Proxies are those of the environment
    /// (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`), read once when the transport is made.
    ///
    /// Over TLS, libcurl 7.88 does not tell a connection that was cut from one that was closed: a body with neither
    /// length nor chunks then ends where the bytes end, as over plain TCP. Other bodies are always checked.
    ///
    /// Making one costs nothing; the first request starts the thread. It ends with `shutdown()` or the last reference,
    /// and a body that is still read counts as a reference.
    public final class CurlTransport: Transport {
        /// The transport that clients share unless they are given another.
        public static let shared = CurlTransport()

        private let loop: CurlLoop
        private let ids = Atomic<UInt64>(0)

        /// A transport with connections of its own.
        public convenience init() {
            self.init(resolver: HostResolver(), environment: ProcessInfo.processInfo.environment)
        }

        init(resolver: HostResolver, environment: [String: String] = [:]) {
            loop = CurlLoop(resolver: resolver, proxies: ProxySettings(environment: environment))
        }

        deinit { loop.close() }

        /// Ends the thread and all exchanges in flight, which throw `.transportClosed`; so do later calls.
        ///
        /// Returns at once.
        public func shutdown() { loop.close() }

        /// Sends the request and returns with the final head.
        ///
        /// Throws `NetworkError` or `CancellationError`.
        public func execute(_ request: TransportRequest) async throws -> TransportExchange {
            try Task.checkCancellation()
            let id = ids.add(1, ordering: .relaxed).newValue
            let body = CurlBody(transport: self, id: id)
            try loop.post(.start(id: id, request, body.mailbox))
            let heads = try await body.heads()
            return TransportExchange(interimHeads: heads.interim, head: heads.final, body: body)
        }

        func resume(_ id: UInt64) { tell(.resume(id: id)) }

        func drop(_ id: UInt64) { tell(.drop(id: id)) }

        private func tell(_ command: CurlLoop.Command) {
            // Refused only when the loop is closed: then there is nothing left to resume or drop.
            try? loop.post(command)
        }
    }

    /// The reader's end of one transfer.
    ///
    /// Released before the end, it cancels.
    final class CurlBody: TransportBody {
        let mailbox = TransferMailbox()
        private let transport: CurlTransport
        private let id: UInt64

        init(transport: CurlTransport, id: UInt64) {
            self.transport = transport
            self.id = id
        }

        deinit { cancel() }

        func heads() async throws -> TransferMailbox.Heads {
            try await withTaskCancellationHandler {
                try await mailbox.heads()
            } onCancel: {
                cancel()
            }
        }

        func next() async throws -> TransportBodyPart {
            let (part, wasPaused) = try await withTaskCancellationHandler {
                try await mailbox.next()
            } onCancel: {
                cancel()
            }
            if wasPaused { transport.resume(id) }
            return part
        }

        func cancel() {
            if mailbox.cancel() { transport.drop(id) }
        }
    }
#endif
