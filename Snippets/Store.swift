// The store alone, without Foundation: bytes in, bytes out, a limit that holds. Give a directory.

import HanekeStorage

let store = try DiskStore(directory: CommandLine.arguments.dropFirst().first ?? "/tmp/haneke-store")
let pages = try store.bucket(named: "pages", options: .init(capacityBytes: 512 << 20, lifetime: .seconds(3600)))
try pages.set(Array("hello".utf8), forKey: "greeting")
if let lease = try pages.lease(forKey: "greeting") {
    lease.withBytes { print($0.byteCount, "bytes, read in place") }
}
