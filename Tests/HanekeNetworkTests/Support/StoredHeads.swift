import Foundation

@testable import HanekeNetwork

/// 2023-11-14 22:13:20 GMT, the moment at which test responses are received.
let receipt = Date(timeIntervalSince1970: 1_700_000_000)

func httpDate(_ offset: TimeInterval = 0) -> String { HTTPDate.format(receipt + offset) }

/// A stored response without fields of its own: not even a `Date`.
func stored(_ headers: HTTPHeaders, status: Int = 200, sent: TimeInterval = 0) -> StoredHead {
    StoredHead(
        url: "http://h/", status: status, version: "HTTP/1.1", headers: headers, requestTime: receipt + sent,
        responseTime: receipt)
}
