public import HanekeStorage
import Foundation
import Synchronization

/// A private HTTP cache (RFC 9111) on a bucket of a store.
///
/// Several engines and processes may share one. Each call reads or writes the disk; none of them waits for the network.
/// A store that fails counts as empty: it never keeps the network from answering.
public final class HTTPCache: Sendable {
    /// One response as it lies in the store.
    struct Stored: Sendable {
        let key: String
        var head: StoredHead
    }

    /// A moment before a request is sent: an unsafe request after it makes the answer doubtful (N-055).
    struct Moment: Sendable { fileprivate let count: UInt64 }

    private struct Invalidations {
        var count: UInt64 = 0
        var last: [String: UInt64] = [:]
        /// What is older than this has been forgotten, and counts as invalidated.
        var floor: UInt64 = 0
    }

    /// Default 256 MiB.
    public static let defaultCapacityBytes: UInt64 = 256 * 1024 * 1024
    private static let invalidationsMax = 1024
    private static let headBytesMax = 65_536

    private let bucket: Bucket
    private let capacityBytes: UInt64
    private let secret: [UInt8]
    private let invalidations = Mutex(Invalidations())
    private let refreshing = Mutex(Set<String>())
    private let failures = Atomic<Int>(0)

    /// The cache in the bucket `name` of a store, which is made with the given capacity if it is missing.
    public convenience init(
        store: DiskStore, name: String = "http", capacityBytes: UInt64 = HTTPCache.defaultCapacityBytes
    ) throws(StoreError) {
        try self.init(bucket: store.bucket(named: name, options: .init(capacityBytes: capacityBytes)))
    }

    /// The cache in a bucket, whose other contents it must not have to share with anybody.
    public init(bucket: Bucket) throws(StoreError) {
        self.bucket = bucket
        capacityBytes = try bucket.settings().capacityBytes ?? .max
        secret = try Self.secret(in: bucket)
    }

    /// How often the store has failed since this was made.
    public var storageFailures: Int { failures.load(ordering: .relaxed) }

    /// Removes every response; nobody can read them when this returns.
    public func removeAll() throws(StoreError) {
        forgetMoments()
        try bucket.removeAll(withPrefix: "http")
        forgetMoments()
    }

    // MARK: Reading

    /// The variants of a URL for one partition.
    func variants(url: WebURL, partition: String) -> [Stored] {
        let prefix = Self.prefix(url, partition)
        return attempt([]) { () throws(StoreError) in
            var found: [Stored] = []
            for entry in try bucket.entries(prefix: prefix) {
                guard let lease = try bucket.lease(forKey: entry.key, options: .quiet),
                    let head = try? JSONDecoder().decode(StoredHead.self, from: Data(lease.metadata()))
                else { continue }
                found.append(Stored(key: entry.key, head: head))
            }
            return found
        }
    }

    /// The body, which counts as a use; nil if it has gone or is damaged.
    func body(of stored: Stored) -> Data? {
        attempt(nil) { () throws(StoreError) in try bucket.bytes(forKey: stored.key).map { Data($0) } }
    }

    // MARK: Writing

    func moment() -> Moment { Moment(count: invalidations.withLock { $0.count }) }

    /// Keeps a response, in place of the variant with the same selectors.
    func store(_ head: StoredHead, body: Data, url: WebURL, partition: String, since moment: Moment) {
        guard StorageRule.mayStore(bodyBytes: body.count, capacityBytes: capacityBytes) else { return }
        var head = head
        if wasInvalidated(url, since: moment) { head.needsValidation = true }
        let key = Self.prefix(url, partition) + Self.variantName(head.selectors)
        dropSurplus(url: url, partition: partition, keeping: key)
        write(head, body: body, key: key)
    }

    /// Writes another head to the same body, under the name that its selectors now have.
    func update(_ stored: Stored, head: StoredHead, body: Data) {
        let renamed =
            String(stored.key.prefix { $0 != Self.variantMark }) + "\(Self.variantMark)"
            + Self.variantName(head.selectors)
        write(head, body: body, key: renamed)
        if renamed != stored.key { attempt(()) { () throws(StoreError) in try bucket.remove(stored.key) } }
    }

    /// Marks a stored response as doubtful.
    func distrust(_ stored: Stored) {
        guard !stored.head.needsValidation, let body = body(of: stored) else { return }
        var head = stored.head
        head.needsValidation = true
        write(head, body: body, key: stored.key)
    }

    /// Removes all variants and partitions of a URL.
    func invalidate(_ url: WebURL) {
        let key = PrimaryKey.text(url)
        invalidations.withLock { state in
            state.count += 1
            state.last[key] = state.count
            if state.last.count > Self.invalidationsMax {
                state.last = [:]
                state.floor = state.count
            }
        }
        attempt(()) { () throws(StoreError) in try bucket.removeAll(withPrefix: key + "\(Self.partMark)") }
    }

    // MARK: Single flight of background refreshes

    /// True for the first that asks, until `endRefresh`.
    func beginRefresh(_ stored: Stored) -> Bool { refreshing.withLock { $0.insert(stored.key).inserted } }

    func endRefresh(_ stored: Stored) { refreshing.withLock { _ = $0.remove(stored.key) } }

    // MARK: Partitions

    /// Who asks, in a form that tells nobody how (N-038); requests without credentials are one partition.
    func partition(_ headers: HTTPHeaders) -> String {
        let credentials = headers.values(for: "Authorization")
        guard !credentials.isEmpty else { return "" }
        return SHA256Digest.hmac(credentials.joined(separator: "\n").utf8, key: secret).prefix(16).hexadecimal
    }

    // MARK: Parts

    private static let partMark: Character = "\u{1}"
    private static let variantMark: Character = "\u{2}"

    private static func prefix(_ url: WebURL, _ partition: String) -> String {
        "\(PrimaryKey.text(url))\(partMark)\(partition)\(variantMark)"
    }

    /// The selectors as a digest: requests may hold secrets, and keys are listed.
    private static func variantName(_ selectors: [StoredHead.Selector]) -> String {
        guard !selectors.isEmpty else { return "" }
        let text = selectors.map { "\($0.name)\u{1}\($0.value.map { "=" + $0 } ?? "")" }.joined(separator: "\u{2}")
        return SHA256Digest.hash(text.utf8).prefix(16).hexadecimal
    }

    private func write(_ head: StoredHead, body: Data, key: String) {
        guard let metadata = try? JSONEncoder().encode(head), metadata.count <= Self.headBytesMax else { return }
        attempt(()) { () throws(StoreError) in try bucket.set([UInt8](body), forKey: key, metadata: [UInt8](metadata)) }
    }

    /// At most 20 variants: the least recently used goes.
    private func dropSurplus(url: WebURL, partition: String, keeping key: String) {
        attempt(()) { () throws(StoreError) in
            let others = try bucket.entries(prefix: Self.prefix(url, partition)).filter { $0.key != key }
            let surplus = others.count - VaryRule.variantsMax + 1
            guard surplus > 0 else { return }
            for entry in others.sorted(by: { ($0.accessedAt ?? 0) < ($1.accessedAt ?? 0) }).prefix(surplus) {
                try bucket.remove(entry.key)
            }
        }
    }

    private func wasInvalidated(_ url: WebURL, since moment: Moment) -> Bool {
        invalidations.withLock { $0.floor > moment.count || ($0.last[PrimaryKey.text(url)] ?? 0) > moment.count }
    }

    private func forgetMoments() {
        invalidations.withLock { state in
            state.count += 1
            state.floor = state.count
            state.last = [:]
        }
    }

    @discardableResult
    private func attempt<Result>(_ fallback: Result, _ body: () throws(StoreError) -> Result) -> Result {
        do { return try body() } catch {
            failures.add(1, ordering: .relaxed)
            return fallback
        }
    }

    private static func secret(in bucket: Bucket) throws(StoreError) -> [UInt8] {
        let key = "secret"
        if let secret = try bucket.bytes(forKey: key), secret.count == 32 { return secret }
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        try bucket.set(secret, forKey: key)
        return secret
    }
}
