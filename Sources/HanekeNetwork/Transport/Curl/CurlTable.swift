#if canImport(CCurl)
    internal import CCurl

    /// The transfers of one loop.
    ///
    /// Lives on the loop's thread.
    struct CurlTable {
        private let multi: UnsafeMutableRawPointer
        private var transfers: [UInt64: CurlTransfer] = [:]
        private var idsByHandle: [UnsafeMutableRawPointer: UInt64] = [:]

        init(multi: UnsafeMutableRawPointer) { self.multi = multi }

        /// Makes a transfer that is not started yet.
        ///
        /// Nil if libcurl refused it; the mailbox then has the error.
        mutating func make(
            id: UInt64, _ request: TransportRequest, _ mailbox: TransferMailbox, proxy: String?
        ) -> CurlTransfer? {
            do throws(CurlFailure) {
                let transfer = try CurlTransfer(id: id, request: request, mailbox: mailbox, proxy: proxy)
                transfers[id] = transfer
                return transfer
            } catch {
                mailbox.finish(.failure(Self.refused(error, request)))
                return nil
            }
        }

        /// Starts a transfer whose address is known.
        mutating func add(_ transfer: CurlTransfer) {
            let status = curl_multi_add_handle(multi, transfer.easy)
            guard status == CURLM_OK else {
                transfers[transfer.id] = nil
                return transfer.mailbox.finish(.failure(NetworkError.multi(status)))
            }
            transfer.isAdded = true
            idsByHandle[transfer.easy] = transfer.id
        }

        mutating func lookedUp(id: UInt64, host: String, port: Int, _ result: Result<[String], any Error>) {
            // Gone if it was cancelled or timed out meanwhile.
            guard let transfer = transfers[id] else { return }
            switch result {
            case .success(let addresses):
                do throws(CurlFailure) {
                    try transfer.setAddresses(addresses, host: host, port: port)
                    add(transfer)
                } catch {
                    fail(transfer, Self.refused(error, transfer.request))
                }
            case .failure(let error):
                let reason = "the name \(host) can't be resolved (\(error)); check it and your name server"
                fail(transfer, NetworkError(.dns, reason, url: transfer.request.url, underlying: error))
            }
        }

        /// The reader asks for more.
        ///
        /// libcurl may bring bytes within this call.
        mutating func resume(id: UInt64) {
            guard let transfer = transfers[id], transfer.isAdded else { return }
            transfer.clock.resumed(at: .now)
            let status = curl_easy_pause(transfer.easy, CURLPAUSE_CONT)
            guard status != CURLE_OK else { return }
            // A failing write callback ends here too; the transfer's own finding goes first.
            remove(transfer)
            transfer.finish(status)
        }

        /// The reader has gone; its mailbox is settled already.
        mutating func drop(id: UInt64) {
            guard let transfer = transfers[id] else { return }
            remove(transfer)
        }

        /// Settles what libcurl has finished.
        ///
        /// Returns the hosts whose addresses did not work.
        mutating func settleFinished() -> [String] {
            var deadHosts: [String] = []
            var left: Int32 = 0
            while let message = curl_multi_info_read(multi, &left) {
                guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                    let id = idsByHandle[easy], let transfer = transfers[id]
                else { continue }
                let code = message.pointee.data.result
                if code == CURLE_COULDNT_CONNECT, let (host, _) = transfer.hostToLookUp { deadHosts.append(host) }
                transfer.finish(code)
                remove(transfer)
            }
            return deadHosts
        }

        /// Ends what is out of time.
        ///
        /// Returns when the next limit runs out. O(transfers).
        mutating func expire(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
            for transfer in transfers.values {
                guard let (phase, limit) = transfer.clock.expired(at: now) else { continue }
                fail(transfer, .timeout(phase, limit: limit, transfer.request.target))
            }
            return transfers.values.lazy.compactMap { $0.clock.next?.at }.min()
        }

        mutating func failAll(_ error: NetworkError) {
            for transfer in transfers.values { fail(transfer, error) }
        }

        private mutating func fail(_ transfer: CurlTransfer, _ error: NetworkError) {
            transfer.mailbox.finish(.failure(error))
            remove(transfer)
        }

        /// The connection of an unfinished transfer is closed by this.
        private mutating func remove(_ transfer: CurlTransfer) {
            if transfer.isAdded {
                let status = curl_multi_remove_handle(multi, transfer.easy)
                assert(status == CURLM_OK, "removing a handle that was added")
                transfer.isAdded = false
                idsByHandle[transfer.easy] = nil
            }
            transfers[transfer.id] = nil
        }

        private static func refused(_ failure: CurlFailure, _ request: TransportRequest) -> NetworkError {
            NetworkError(
                .transport, "libcurl refused an option (\(failure.message)); 7.85 or later is needed", url: request.url,
                underlying: failure)
        }
    }
#endif
