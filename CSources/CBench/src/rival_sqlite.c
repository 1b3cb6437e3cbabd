/* rival_sqlite.c: one table with an index of access times that each get updates, as YYCache and diskcache do;
 * write-ahead log, no sync. With a capacity the oldest accessed go until the rest fits. */
#ifdef HANEKE_BENCH_PEERS
#include "rival.h"

#include <sqlite3.h>
#include <stdatomic.h>

enum { FIND, STAMP, OLD_SIZE, PUT, OLDEST, DROP, BEGIN, COMMIT, ROLLBACK, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [FIND] = "SELECT value FROM entries WHERE key = ?1",
    [STAMP] = "UPDATE entries SET accessed = ?2 WHERE key = ?1",
    [OLD_SIZE] = "SELECT size FROM entries WHERE key = ?1",
    [PUT] = ("INSERT INTO entries (key, accessed, size, value) VALUES (?1, ?2, ?3, ?4) "
             "ON CONFLICT (key) DO UPDATE SET accessed = ?2, size = ?3, value = ?4"),
    [OLDEST] = "SELECT rowid, size FROM entries ORDER BY accessed LIMIT 1",
    [DROP] = "DELETE FROM entries WHERE rowid = ?1",
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
};

typedef struct lite {
    char path[BENCH_PATH_MAX];
    uint64_t capacity;
    _Atomic uint64_t total;
    void *first; /* keeps the log between sessions */
} lite;

typedef struct session {
    lite *lite;
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
} session;

static void session_end(void *opaque)
{
    session *session = opaque;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(session->statements[i]);
    sqlite3_close(session->database);
    free(session);
}

static void *session_begin(void *store)
{
    session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->lite = store;
    int code = sqlite3_open(session->lite->path, &session->database);
    if (code == SQLITE_OK)
        code = sqlite3_exec(session->database,
                            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;"
                            "PRAGMA mmap_size = 1073741824; PRAGMA busy_timeout = 60000;"
                            "CREATE TABLE IF NOT EXISTS entries"
                            " (key BLOB UNIQUE, accessed INTEGER, size INTEGER, value BLOB);"
                            "CREATE INDEX IF NOT EXISTS by_access ON entries (accessed);",
                            NULL, NULL, NULL);
    for (int i = 0; i < STATEMENTS && code == SQLITE_OK; i++)
        code = sqlite3_prepare_v3(session->database, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &session->statements[i],
                                  NULL);
    if (code != SQLITE_OK) {
        fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(session->database));
        session_end(session);
        return NULL;
    }
    return session;
}

static void close_store(void *store)
{
    lite *lite = store;
    if (lite->first != NULL)
        session_end(lite->first);
    free(lite);
}

static void *open_store(const char *directory, const bench_settings *settings)
{
    lite *lite = calloc(1, sizeof *lite);
    if (lite == NULL)
        return NULL;
    lite->capacity = settings->capacity_bytes;
    snprintf(lite->path, sizeof lite->path, "%s/values.sqlite", directory);
    if ((lite->first = session_begin(lite)) == NULL) {
        free(lite);
        return NULL;
    }
    return lite;
}

/* Runs a statement that gives no row, and leaves it ready for the next time. */
static bool step(session *session, int which)
{
    int code = sqlite3_step(session->statements[which]);
    sqlite3_reset(session->statements[which]);
    return code == SQLITE_DONE;
}

static bool stamp(session *session, bench_bytes key)
{
    sqlite3_stmt *statement = session->statements[STAMP];
    sqlite3_bind_blob(statement, 1, key.data, (int)key.size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (int64_t)bench_now_ns());
    return step(session, STAMP);
}

static bool get(void *opaque, bench_bytes key, bench_reading reading, bench_seen *out)
{
    session *session = opaque;
    sqlite3_stmt *statement = session->statements[FIND];
    sqlite3_bind_blob(statement, 1, key.data, (int)key.size, SQLITE_STATIC);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        bench_consume(sqlite3_column_blob(statement, 0), (size_t)sqlite3_column_bytes(statement, 0), reading, out);
    sqlite3_reset(statement);
    return code == SQLITE_DONE || (code == SQLITE_ROW && stamp(session, key));
}

static bool put(session *session, bench_bytes key, bench_bytes value)
{
    uint64_t size = key.size + value.size;
    if (session->lite->capacity > 0) {
        sqlite3_stmt *old = session->statements[OLD_SIZE];
        sqlite3_bind_blob(old, 1, key.data, (int)key.size, SQLITE_STATIC);
        if (sqlite3_step(old) == SQLITE_ROW)
            session->lite->total -= (uint64_t)sqlite3_column_int64(old, 0);
        sqlite3_reset(old);
        session->lite->total += size;
    }
    sqlite3_stmt *statement = session->statements[PUT];
    sqlite3_bind_blob(statement, 1, key.data, (int)key.size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (int64_t)bench_now_ns());
    sqlite3_bind_int64(statement, 3, (int64_t)size);
    sqlite3_bind_blob64(statement, 4, value.data, value.size, SQLITE_STATIC);
    return step(session, PUT);
}

static bool evict(session *session)
{
    while (session->lite->capacity > 0 && session->lite->total > session->lite->capacity) {
        sqlite3_stmt *oldest = session->statements[OLDEST];
        int code = sqlite3_step(oldest);
        int64_t row = sqlite3_column_int64(oldest, 0), size = sqlite3_column_int64(oldest, 1);
        sqlite3_reset(oldest);
        sqlite3_bind_int64(session->statements[DROP], 1, row);
        if (code != SQLITE_ROW || !step(session, DROP))
            return false;
        session->lite->total -= (uint64_t)size;
    }
    return true;
}

static bool set_many(void *opaque, const bench_pair *pairs, size_t count)
{
    session *session = opaque;
    bool good = step(session, BEGIN);
    for (size_t i = 0; i < count && good; i++)
        good = put(session, pairs[i].key, pairs[i].value) && evict(session);
    if (good)
        return step(session, COMMIT);
    step(session, ROLLBACK);
    return false;
}

static bool set(void *session, bench_bytes key, bench_bytes value)
{
    bench_pair pair = { key, value };
    return set_many(session, &pair, 1);
}

static uint64_t accounted(void *opaque)
{
    return ((session *)opaque)->lite->total;
}

const bench_rival bench_sqlite = {
    "SQLite, LRU", sqlite3_libversion, open_store, close_store, session_begin, session_end,
    get, set, set_many, accounted, true,
};
#endif
