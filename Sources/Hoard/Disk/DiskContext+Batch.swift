public import Foundation

extension DiskContext {
    /// Puts that are written together at the end of `DiskContext.batch(_:)`.
    public struct Batch {
        fileprivate let context: DiskContext
        fileprivate var writes: [DiskShelf.Write] = []
        fileprivate var keys: [Key] = []

        /// Adds a value; see `Context.setValue(_:for:validFor:)`.
        ///
        /// Under a mounted context it is put at once.
        ///
        /// - Throws: `invalidKey`, `keyTooLong`, `notPersistable`, `tooLarge`; the batch is then as it was.
        public mutating func put(
            _ key: some Keyable, _ value: some Sendable, validFor: TimeInterval? = nil
        ) throws(TreeError) {
            let key = key.asKey()
            let full = context.base.appending(key)
            try key.check()
            try full.check()
            if value is any Context || context.overlay.route(full).mount != nil {
                return try context.setValue(value, for: key, validFor: validFor)
            }
            let life = validFor ?? context.nearestValidFor(around: key) ?? DiskContext.defaultValidFor
            writes.append(try context.write(value, at: full, validFor: life.isNaN ? 0 : life))
            keys.append(full)
        }
    }

    /// Writes what `body` puts into the batch, a thousand to a commit: several times as fast as one by one.
    ///
    /// - Throws: what `body` throws, and nothing is written; `TreeError.storage`.
    public func batch(_ body: (inout Batch) throws -> Void) throws {
        var batch = Batch(context: self)
        try body(&batch)
        try loads.writing(Set(batch.keys)) { () throws(TreeError) in try store(batch.writes) }
        for key in batch.keys { eventSource.send(.put(key)) }
    }
}
