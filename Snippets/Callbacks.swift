// The older style, with closures as parameters; and a fetcher of your own.

import Dispatch
import Haneke

/// Looks names up in a table.
///
/// A real one would ask a database.
final class NameFetcher: Fetcher<String>, @unchecked Sendable {
    // Sendable: no state of its own.
    struct NotListed: Error {}

    override func fetch(
        failure fail: @escaping @Sendable (any Error) -> Void, success succeed: @escaping @Sendable (String) -> Void
    ) {
        if let name = ["ada": "Ada Lovelace"][key] { succeed(name) } else { fail(NotListed()) }
    }
}

let names = Cache<String>(name: "names")
let done = DispatchGroup()
for key in ["ada", "nobody"] {
    done.enter()
    names.fetch(
        fetcher: NameFetcher(key: key),
        failure: { error in
            print(key, "failed:", error)
            done.leave()
        },
        success: { name in
            print(key, "is", name)
            done.leave()
        })
}
done.wait()

names.set(value: "Grace Hopper", key: "grace")
names.fetch(key: "grace").onSuccess { print($0) }.onFailure { print($0) }
names.removeAll()
