// What lies over a context's entries: mounted contexts and the lives of branches, in a small tree of their own.

import Foundation
import Synchronization

final class Overlay: Sendable {
    private struct Node: Sendable {
        var mount: (any Context)?
        var validFor: TimeInterval?
        var children: [String: Node] = [:]

        var isEmpty: Bool { mount == nil && validFor == nil && children.isEmpty }

        /// Changes the node at a path, making it where it is missing and dropping it when it is empty.
        mutating func change(_ path: ArraySlice<String>, _ body: (inout Node) -> Void) {
            guard let name = path.first else { return body(&self) }
            var child = children.removeValue(forKey: name) ?? Node()
            child.change(path.dropFirst(), body)
            if !child.isEmpty { children[name] = child }
        }

        func node(at path: ArraySlice<String>) -> Node? {
            guard let name = path.first else { return self }
            return children[name]?.node(at: path.dropFirst())
        }

        /// All mounted contexts at and below, with the rest of their paths.
        func mounts(_ path: [String] = []) -> [(path: [String], context: any Context)] {
            var found = mount.map { [(path, $0)] } ?? []
            for (name, child) in children { found += child.mounts(path + [name]) }
            return found
        }
    }

    private struct State: Sendable {
        var root = Node()
        var parents: [Parent] = []
    }

    private struct Parent: Sendable {
        weak let context: (any Context)?
        let key: Key
    }

    private let state = Mutex(State())
    private let isUsed = Atomic(false)
    /// Held while a mount looks for cycles and is made, so that two can't make one together.
    private static let mounting = Mutex(())

    /// Where a key leads: here, or into a mounted context.
    struct Route {
        var mount: (context: any Context, rest: Key)?
        /// The nearest life set on the way.
        var validFor: TimeInterval?
    }

    /// Follows a key; a context mounted at the key itself counts if `throughEnd`.
    func route(_ key: Key, throughEnd: Bool = false) -> Route {
        guard isUsed.load(ordering: .acquiring) else { return Route() }
        return state.withLock { state in
            var node = state.root
            var route = Route(validFor: node.validFor)
            for (index, name) in key.stored.enumerated() {
                guard let next = node.children[name] else { return route }
                node = next
                let isEnd = index + 1 == key.stored.count
                if let mount = node.mount, throughEnd || !isEnd {
                    route.mount = (mount, key.dropFirst(index + 1))
                    return route
                }
                if !isEnd { route.validFor = node.validFor ?? route.validFor }
            }
            return route
        }
    }

    func mount(at key: Key) -> (any Context)? {
        guard isUsed.load(ordering: .acquiring) else { return nil }
        return state.withLock { $0.root.node(at: key.stored[...])?.mount }
    }

    func mounts(under key: Key) -> [(key: Key, context: any Context)] {
        guard isUsed.load(ordering: .acquiring) else { return [] }
        return state.withLock { $0.root.node(at: key.stored[...])?.mounts() ?? [] }
            .map { (key.appending(Key(stored: $0.path)), $0.context) }
    }

    /// Mounts a context, unless `parent` is it or is below it.
    func mount(_ context: any Context, at key: Key, in parent: any Context) throws(TreeError) {
        let identity = ObjectIdentifier(parent.loads)
        let isCycle = Self.mounting.withLock { _ in
            if reaches(context, identity) { return true }
            state.withLock { state in state.root.change(key.stored[...]) { $0.mount = context } }
            isUsed.store(true, ordering: .releasing)
            return false
        }
        if isCycle { throw .cycle }
    }

    /// Whether a context, or one below it, is the one with these loads; views of one context share them.
    private func reaches(_ context: any Context, _ identity: ObjectIdentifier) -> Bool {
        ObjectIdentifier(context.loads) == identity || context.mountedContexts.contains { reaches($0, identity) }
    }

    /// Forgets mounts and lives below `key`, and with `includingKey` at it; the result is what was mounted.
    func detach(_ key: Key, includingKey: Bool) -> [(key: Key, context: any Context)] {
        let gone = mounts(under: key).filter { includingKey || $0.key != key }
        guard isUsed.load(ordering: .acquiring) else { return [] }
        state.withLock { state in
            state.root.change(key.stored[...]) { node in
                let kept = includingKey ? Node() : Node(mount: node.mount, validFor: node.validFor)
                node = kept
            }
        }
        return gone
    }

    func setValidFor(_ life: TimeInterval?, at key: Key) {
        state.withLock { state in state.root.change(key.stored[...]) { $0.validFor = life } }
        isUsed.store(true, ordering: .releasing)
    }

    func ownValidFor(at key: Key) -> TimeInterval? {
        state.withLock { $0.root.node(at: key.stored[...])?.validFor }
    }

    func wasMounted(in parent: (any Context)?, at key: Key) {
        state.withLock { state in
            if let parent {
                state.parents.append(Parent(context: parent, key: key))
            } else {
                state.parents.removeAll { $0.key == key || $0.context == nil }
            }
        }
    }

    /// The life that holds around this context, where it is mounted.
    func inheritedValidFor() -> TimeInterval? {
        let parents = state.withLock { $0.parents }
        for parent in parents {
            if let life = parent.context?.nearestValidFor(around: parent.key) { return life }
        }
        return nil
    }
}
