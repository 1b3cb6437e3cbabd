// The caches in memory that are compared. Values are numbers, which cost nothing to copy: the caches are measured.
import Foundation
import HanekeStorage
import Synchronization

/// A cache in memory, limited to a number of entries.
protocol MemoryRival: Sendable {
    func get(_ key: Int) -> Int?
    func set(_ key: Int, _ value: Int)
}

extension MemoryCache: MemoryRival where Key == Int, Value == Int {
    func get(_ key: Int) -> Int? { value(forKey: key) }
    func set(_ key: Int, _ value: Int) { setValue(value, forKey: key) }
}

/// Foundation's cache.
///
/// Its keys and values are objects: those are made beforehand, so that no request pays for it.
final class FoundationRival: MemoryRival {
    private final class Box: NSObject, Sendable {
        let number: Int

        init(_ number: Int) { self.number = number }

        override var hash: Int { number }
        override func isEqual(_ other: Any?) -> Bool { (other as? Box)?.number == number }
    }

    /// NSCache is documented to be safe for all threads, but on some platforms not declared so.
    private nonisolated(unsafe) let cache = NSCache<Box, Box>()
    private let boxes: [Box]

    init(countLimit: Int, keys: Int) {
        boxes = (0..<keys).map { Box($0) }
        cache.countLimit = countLimit
    }

    func get(_ key: Int) -> Int? { cache.object(forKey: boxes[key])?.number }
    func set(_ key: Int, _ value: Int) { cache.setObject(boxes[value], forKey: boxes[key]) }
}

/// What one writes by oneself in an afternoon: a dictionary and a list, least recently used first, behind one lock.
final class DictionaryRival: MemoryRival {
    private struct Node {
        var key: Int
        var value: Int
        var colder: Int
        var hotter: Int
    }

    /// Node 0 is both ends of the list, which is a ring.
    private struct Entries {
        var places: [Int: Int] = [:]
        var nodes = [Node(key: 0, value: 0, colder: 0, hotter: 0)]

        mutating func touch(_ place: Int) {
            let node = nodes[place]
            nodes[node.colder].hotter = node.hotter
            nodes[node.hotter].colder = node.colder
            link(place)
        }

        mutating func link(_ place: Int) {
            let hottest = nodes[0].colder
            nodes[place].colder = hottest
            nodes[place].hotter = 0
            nodes[hottest].hotter = place
            nodes[0].colder = place
        }
    }

    private let entries = Mutex(Entries())
    private let countLimit: Int

    init(countLimit: Int) { self.countLimit = countLimit }

    func get(_ key: Int) -> Int? {
        entries.withLock { entries in
            guard let place = entries.places[key] else { return nil }
            entries.touch(place)
            return entries.nodes[place].value
        }
    }

    func set(_ key: Int, _ value: Int) {
        entries.withLock { entries in
            if let place = entries.places[key] {
                entries.nodes[place].value = value
                entries.touch(place)
            } else if entries.places.count < countLimit {
                entries.nodes.append(Node(key: key, value: value, colder: 0, hotter: 0))
                entries.places[key] = entries.nodes.count - 1
                entries.link(entries.nodes.count - 1)
            } else {
                let coldest = entries.nodes[0].hotter
                entries.places[entries.nodes[coldest].key] = nil
                entries.nodes[coldest].key = key
                entries.nodes[coldest].value = value
                entries.places[key] = coldest
                entries.touch(coldest)
            }
        }
    }
}
