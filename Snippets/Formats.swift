// A format keeps what a transform makes of the original, with limits of its own.

import Foundation
import Haneke

/// Stands for whatever makes pictures small.
@Sendable func transformed(_ data: Data) -> Data { data.prefix(16) }

let cache = Cache<Data>(name: "pictures")
let icons = Format<Data>(name: "icons", diskCapacity: 10 * 1024 * 1024) { transformed($0) }
cache.addFormat(icons)

let picture = Data(repeating: 7, count: 1_000)
let icon = try await cache.fetch(key: "tree", value: picture, formatName: "icons").value
print(icon.count, "bytes of", picture.count)

// The original and its icon are two values: each is set, fetched and removed for itself.
cache.set(value: picture, key: "tree")
cache.remove(key: "tree", formatName: "icons")
cache.remove(key: "tree", fromAllFormats: true)
await cache.flush()
