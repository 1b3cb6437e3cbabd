// JSON and bytes through the shared caches, each URL twice, and which tier answered. scripts/demo runs it.

import Foundation
import Haneke

do {
    for text in CommandLine.arguments.dropFirst() {
        guard let url = URL(string: text) else { continue }
        for _ in 1...2 {
            if url.pathExtension == "json" {
                let fetch = Shared.JSONCache.fetch(URL: url)
                let json = try await fetch.value
                print(fetch.source.map { "\($0)" } ?? "-", "JSON, name:", json["name"]?.string ?? "-")
            } else {
                let fetch = Shared.dataCache.fetch(URL: url)
                let data = try await fetch.value
                print(fetch.source.map { "\($0)" } ?? "-", "data,", data.count, "bytes")
            }
        }
    }
    await Shared.JSONCache.flush()
    await Shared.dataCache.flush()
} catch {
    print("failed:", error)
    exit(1)
}
