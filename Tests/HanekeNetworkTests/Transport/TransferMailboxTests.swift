import Foundation
import Testing

@testable import HanekeNetwork

@Suite("Mailbox of a transfer")
struct TransferMailboxTests {
    private func deliver(_ count: Int, to mailbox: TransferMailbox) -> TransferMailbox.Acceptance {
        [UInt8](repeating: 1, count: count).withUnsafeBytes { mailbox.deliver($0) }
    }

    private let success = Result<TransferMailbox.End, any Error>.success(
        .init(trailers: [:], metrics: TransferMetrics()))

    @Test("N-100: the writer is told to pause at the bound, and the reader to let it go on")
    func pausing() async throws {
        let mailbox = TransferMailbox()
        #expect(deliver(TransferMailbox.bufferBytesMax, to: mailbox) == .taken)
        #expect(deliver(1, to: mailbox) == .full)
        let (part, wasPaused) = try await mailbox.next()
        #expect(part.bytes?.count == TransferMailbox.bufferBytesMax)
        #expect(wasPaused)
        #expect(deliver(1, to: mailbox) == .taken)
        #expect(try await mailbox.next().wasPaused == false)
    }

    @Test("N-096: bytes that came before an error are read before it")
    func order() async throws {
        let mailbox = TransferMailbox()
        #expect(deliver(3, to: mailbox) == .taken)
        mailbox.finish(.failure(NetworkError(.truncatedBody, "")))
        #expect(try await mailbox.next().part.bytes?.count == 3)
        await expectFailure(.truncatedBody) { try await mailbox.next() }
        await expectFailure(.truncatedBody) { try await mailbox.next() }
    }

    @Test("N-091: a cancel drops what is buffered; the first end counts")
    func cancel() async throws {
        let mailbox = TransferMailbox()
        #expect(deliver(3, to: mailbox) == .taken)
        #expect(mailbox.cancel())
        mailbox.finish(success)
        #expect(!mailbox.cancel())
        #expect(deliver(1, to: mailbox) == .closed)
        await #expect(throws: CancellationError.self) { _ = try await mailbox.next() }
        await #expect(throws: CancellationError.self) { _ = try await mailbox.heads() }
    }

    @Test("N-096: an end without a head is malformed")
    func missingHead() async throws {
        let mailbox = TransferMailbox()
        mailbox.finish(success)
        await expectFailure(.malformedResponse) { try await mailbox.heads() }
    }
}
