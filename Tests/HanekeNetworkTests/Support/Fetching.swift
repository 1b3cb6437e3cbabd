// What most tests here need: a transport of their own, and an error by its code.
import Foundation
import TestSupport
import Testing

@testable import HanekeNetwork

/// A transport with its own thread and connections, deaf to the machine's proxies.
func makeTransport(lookup: @escaping HostResolver.Lookup = HostResolver.systemLookup) -> CurlTransport {
    CurlTransport(resolver: HostResolver(lookup: lookup))
}

func get(
    _ url: String, from transport: CurlTransport = makeTransport(), change: (inout NetworkRequest) -> Void = { _ in }
) async throws -> HTTPResponse {
    var request = try NetworkRequest(url)
    change(&request)
    return try await NetworkClient(transport: transport).send(request)
}

/// The error of `body`, which must be a `NetworkError` with this code.
@discardableResult
func expectFailure(
    _ code: NetworkError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async -> NetworkError? {
    let error = await #expect(throws: NetworkError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, "\(error.map(String.init(describing:)) ?? "no error")", sourceLocation: sourceLocation)
    return error
}

extension TransportBodyPart {
    var bytes: Data? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }
}

extension TransportBody {
    /// Reads to the end.
    func all() async throws -> Data {
        var data = Data()
        while case .bytes(let bytes) = try await next() { data.append(bytes) }
        return data
    }
}
