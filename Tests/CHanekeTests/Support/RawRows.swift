import CHaneke
import CLMDB
import TestSupport
import Testing

/// The rows of a store through LMDB alone, without the store's code and without LMDB's lock: to look, and to damage.
///
/// Looking is fine while the store is open and idle; changing only while it is closed.
struct RawRows {
    typealias Row = (name: [UInt8], row: [UInt8])

    private let transaction: OpaquePointer
    private let database: MDB_dbi

    /// All rows, in order.
    static func all(_ directory: String) throws -> [Row] {
        try open(directory, UInt32(MDB_NOLOCK | MDB_RDONLY)) { $0.all() }
    }

    /// Carries out `body` in one transaction and commits it.
    static func edit(_ directory: String, _ body: (RawRows) throws -> Void) throws {
        try open(directory, UInt32(MDB_NOLOCK), body)
    }

    /// Changes the one row of `table` that `isWanted` picks.
    static func change(
        _ directory: String, table: UInt8, where isWanted: (Row) -> Bool = { _ in true },
        _ body: (_ name: [UInt8], _ row: inout [UInt8]) -> Void
    ) throws {
        try edit(directory) { rows in
            let found = rows.all(table: table).first(where: isWanted)
            var (name, row) = try #require(found)
            body(name, &row)
            rows.put(name, row)
        }
    }

    private static func open<Result>(
        _ directory: String, _ flags: UInt32, _ body: (RawRows) throws -> Result
    ) throws -> Result {
        var environment: OpaquePointer?
        try #require(mdb_env_create(&environment) == 0)
        defer { mdb_env_close(environment) }
        try #require(mdb_env_set_mapsize(environment, 1 << 30) == 0)
        try #require(mdb_env_open(environment, directory, flags, 0o600) == 0)
        let readsOnly = flags & UInt32(MDB_RDONLY)
        var transaction: OpaquePointer?
        var database: MDB_dbi = 0
        try #require(mdb_txn_begin(environment, nil, readsOnly, &transaction) == 0)
        let begun = try #require(transaction)
        do {
            try #require(mdb_dbi_open(begun, nil, 0, &database) == 0)
            let result = try body(RawRows(transaction: begun, database: database))
            if readsOnly != 0 {
                mdb_txn_abort(begun)
            } else {
                try #require(mdb_txn_commit(begun) == 0)
            }
            return result
        } catch {
            if readsOnly != 0 { mdb_txn_abort(begun) }
            throw error
        }
    }

    /// The rows of a table, or of all.
    func all(table: UInt8? = nil) -> [Row] {
        var cursor: OpaquePointer?
        guard mdb_cursor_open(transaction, database, &cursor) == 0 else { return [] }
        defer { mdb_cursor_close(cursor) }
        var found: [Row] = []
        var name = MDB_val()
        var row = MDB_val()
        while mdb_cursor_get(cursor, &name, &row, MDB_NEXT) == 0 {
            let bytes = Self.array(name)
            if table == nil || bytes.first == table { found.append((bytes, Self.array(row))) }
        }
        return found
    }

    func put(_ name: [UInt8], _ row: [UInt8]) {
        var name = name
        var row = row
        let code = name.withUnsafeMutableBytes { name in
            row.withUnsafeMutableBytes { row in
                var key = MDB_val(mv_size: name.count, mv_data: name.baseAddress)
                var value = MDB_val(mv_size: row.count, mv_data: row.baseAddress)
                return mdb_put(transaction, database, &key, &value, 0)
            }
        }
        #expect(code == 0)
    }

    func delete(_ name: [UInt8]) {
        var name = name
        let code = name.withUnsafeMutableBytes { name in
            var key = MDB_val(mv_size: name.count, mv_data: name.baseAddress)
            return mdb_del(transaction, database, &key, nil)
        }
        #expect(code == 0)
    }

    private static func array(_ value: MDB_val) -> [UInt8] {
        [UInt8](UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }
}

extension [RawRows.Row] {
    /// Those of a table.
    func of(table: UInt8) -> [RawRows.Row] { filter { $0.name.first == table } }
}

extension Fixture {
    /// What LMDB holds now.
    func rows() throws -> [RawRows.Row] { try RawRows.all(directory.path) }

    /// A store that `fill` wrote into and that was closed cleanly.
    static func closed(
        _ change: @escaping (inout hnk_store_options) -> Void = { _ in }, _ fill: (Bucket) throws -> Void
    ) throws -> TemporaryDirectory {
        let fixture = try Fixture(change)
        try fill(fixture.bucket)
        return fixture.directory
    }
}
