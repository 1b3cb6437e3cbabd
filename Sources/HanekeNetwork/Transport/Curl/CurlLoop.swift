#if canImport(CCurl)
    internal import CCurl
    import Foundation
    import Synchronization

    /// The thread that owns the multi handle and all transfers.
    ///
    /// Others talk to it by commands.
    ///
    /// A mutex guards the line of commands and the handle that wakes the thread, nothing else: transfers are touched by
    /// the thread alone.
    final class CurlLoop: Sendable {
        enum Command: Sendable {
            case start(id: UInt64, TransportRequest, TransferMailbox)
            case lookedUp(id: UInt64, host: String, port: Int, Result<[String], any Error>)
            case resume(id: UInt64)
            case drop(id: UInt64)
        }

        // One field. libcurl-thread(3): curl_multi_wakeup may be called from any thread; others call nothing else.
        private struct MultiHandle: @unchecked Sendable {
            let raw: UnsafeMutableRawPointer
        }

        private struct State {
            var multi: MultiHandle?
            var commands: [Command] = []
            var isClosed = false
        }

        private static let idleConnectionsMax = 32
        /// How long the thread sleeps when nothing is to be done; a command or a socket wakes it at once.
        private static let sleepMax = Duration.seconds(60)
        /// curl_global_init, once for the process.
        private static let globalInit = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

        private let state = Mutex(State())
        private let resolver: HostResolver
        private let proxies: ProxySettings

        init(resolver: HostResolver, proxies: ProxySettings) {
            self.resolver = resolver
            self.proxies = proxies
        }

        /// Hands over a command; the first one starts the thread.
        ///
        /// Throws `.transportClosed` after `close`.
        func post(_ command: Command) throws(NetworkError) {
            if let problem = enqueue(command) { throw problem }
        }

        /// Ends the thread and every transfer in flight with `.transportClosed`.
        ///
        /// Returns at once.
        func close() {
            state.withLock { state in
                state.isClosed = true
                if let multi = state.multi { _ = curl_multi_wakeup(multi.raw) }
            }
        }

        private func enqueue(_ command: Command) -> NetworkError? {
            // Waking is one write to a pipe that never blocks; under the lock, so that the handle is still there.
            state.withLock { state in
                guard !state.isClosed else { return .closed }
                if let multi = state.multi {
                    state.commands.append(command)
                    let status = curl_multi_wakeup(multi.raw)
                    return status == CURLM_OK ? nil : .multi(status)
                }
                do throws(NetworkError) {
                    let multi = try Self.makeMulti()
                    state.multi = multi
                    state.commands.append(command)
                    let thread = Thread { [self] in run(multi) }
                    thread.name = "haneke.curl"
                    thread.start()
                    return nil
                } catch {
                    return error
                }
            }
        }

        private static func makeMulti() throws(NetworkError) -> MultiHandle {
            guard globalInit == CURLE_OK else {
                throw NetworkError(.transport, "libcurl does not start", underlying: CurlFailure(globalInit))
            }
            guard let raw = curl_multi_init() else { throw .multi(CURLM_OUT_OF_MEMORY) }
            let status = hnk_curl_multi_set_long(raw, CURLMOPT_MAXCONNECTS, idleConnectionsMax)
            guard status == CURLM_OK else {
                curl_multi_cleanup(raw)
                throw .multi(status)
            }
            return MultiHandle(raw: raw)
        }

        // MARK: The thread

        private func run(_ multi: MultiHandle) {
            var table = CurlTable(multi: multi.raw)
            while let commands = takeCommands() {
                for command in commands { obey(command, &table) }
                var running: Int32 = 0
                let status = curl_multi_perform(multi.raw, &running)
                guard status == CURLM_OK else {
                    table.failAll(.multi(status))
                    break
                }
                for host in table.settleFinished() { resolver.forget(host) }
                let deadline = table.expire(at: .now)
                let sleep = min(Self.sleepMax, deadline.map { $0 - .now } ?? Self.sleepMax)
                // Rounded up: waking a moment early would spin.
                let milliseconds = Int32(max(0, (sleep / .milliseconds(1)).rounded(.up)))
                let slept = curl_multi_poll(multi.raw, nil, 0, milliseconds, nil)
                guard slept == CURLM_OK else {
                    table.failAll(.multi(slept))
                    break
                }
            }
            let unheard = state.withLock { state in
                state.isClosed = true
                state.multi = nil
                defer { state.commands = [] }
                return state.commands
            }
            for case .start(_, _, let mailbox) in unheard { mailbox.finish(.failure(NetworkError.closed)) }
            table.failAll(.closed)
            curl_multi_cleanup(multi.raw)
        }

        /// Nil when the loop is to end.
        private func takeCommands() -> [Command]? {
            state.withLock { state in
                guard !state.isClosed else { return nil }
                defer { state.commands = [] }
                return state.commands
            }
        }

        private func obey(_ command: Command, _ table: inout CurlTable) {
            switch command {
            case .start(let id, let request, let mailbox):
                let proxy = proxies.proxy(for: request.target)
                guard let transfer = table.make(id: id, request, mailbox, proxy: proxy) else { return }
                guard let (host, port) = transfer.hostToLookUp else { return table.add(transfer) }
                resolver.addresses(of: host) { [self] result in
                    // Refused only when the loop is closed, which has settled the transfer.
                    try? post(.lookedUp(id: id, host: host, port: port, result))
                }
            case .lookedUp(let id, let host, let port, let result):
                table.lookedUp(id: id, host: host, port: port, result)
            case .resume(let id):
                table.resume(id: id)
            case .drop(let id):
                table.drop(id: id)
            }
        }
    }

    extension NetworkError {
        static var closed: NetworkError {
            NetworkError(.transportClosed, "the transport was shut down; make a new one")
        }

        static func multi(_ code: CURLMcode) -> NetworkError {
            NetworkError(.transport, "libcurl's multi handle failed: \(String(cString: curl_multi_strerror(code)))")
        }
    }
#endif
