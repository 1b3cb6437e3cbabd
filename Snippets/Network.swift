// Values from servers: with closures, with await, with your own type. Give a URL of JSON, or take GitHub's.

import Foundation
import Haneke

struct User: Codable, Sendable {
    let login: String
}

let text = CommandLine.arguments.dropFirst().first ?? "https://api.github.com/users/octocat"
guard let url = URL(string: text) else {
    print("not a URL: \(text)")
    exit(2)
}

// With closures, on a queue of the cache's own.
let cache = Cache<JSON>(name: "github")
let fetch = cache.fetch(URL: url)
    .onSuccess { json in print(json.dictionary?["bio"] as Any) }
    .onFailure { error in print(error) }

// With await. The same URL at the same time is one request.
do {
    let json = try await fetch.value
    print(json["login"]?.string ?? "no login")

    // With a type of your own, out of what the JSON cache has; or straight from the server.
    let users = Cache<CodableValue<User>>(name: "users")
    let user = try await users.fetch(URL: url).value
    print(user.login)
    await users.flush()
} catch let error as HanekeError where error.code == .invalidStatusCode {
    print("the server says", error.statusCode ?? 0)
} catch {
    print("no answer:", error)
}
await cache.flush()
