// The first five lines: what is missing is made once, and kept in memory and on disk.

import Haneke

let cache = Cache<String>(name: "greetings")
let first = try await cache.fetch(key: "hello", value: "Hello, world!").value  // made, unless an earlier run did
let second = cache.fetch(key: "hello").onSuccess { print($0) }  // from memory
await cache.flush()  // on disk before the program ends
