/* rival_lmdb.c: bare LMDB, as fast as it goes: a read transaction per thread that is renewed for each get, no sync,
 * values as they are. With a capacity, the oldest written goes first, by a list in memory that would not survive a
 * restart: the least that a bounded store on LMDB can cost. */
#include "rival.h"

#include <lmdb.h>

#define KEY_MAX 511u
#define CHARGE_LEAST 256u /* bytes; more entries than capacity / this are not kept */

typedef struct written {
    uint16_t key_size;
    uint32_t charge;
    uint8_t key[KEY_MAX];
} written;

typedef struct lmdb {
    MDB_env *environment;
    MDB_dbi table;
    uint64_t capacity, charged;
    written *ring; /* with a capacity only */
    size_t ring_size, ring_first, ring_count;
} lmdb;

typedef struct session {
    lmdb *lmdb;
    MDB_txn *reader;
} session;

/* A key that is too long for LMDB is cut to its end, which is unique in our corpus: free of charge for this rival. */
static MDB_val key_val(bench_bytes key)
{
    size_t skip = key.size > KEY_MAX ? key.size - KEY_MAX : 0;
    return (MDB_val){ key.size - skip, (char *)(uintptr_t)key.data + skip };
}

static void close_store(void *store)
{
    lmdb *lmdb = store;
    mdb_env_close(lmdb->environment);
    free(lmdb->ring);
    free(lmdb);
}

static void *open_store(const char *directory, const bench_settings *settings)
{
    lmdb *lmdb = calloc(1, sizeof *lmdb);
    MDB_txn *txn = NULL;
    if (lmdb == NULL)
        return NULL;
    lmdb->capacity = settings->capacity_bytes;
    if (lmdb->capacity > 0) {
        lmdb->ring_size = (size_t)(lmdb->capacity / CHARGE_LEAST);
        lmdb->ring = calloc(lmdb->ring_size, sizeof *lmdb->ring);
        if (lmdb->ring == NULL) {
            free(lmdb);
            return NULL;
        }
    }
    if (mdb_env_create(&lmdb->environment) != 0) {
        free(lmdb->ring);
        free(lmdb);
        return NULL;
    }
    if (mdb_env_set_mapsize(lmdb->environment, (size_t)64 << 30) != 0 ||
        mdb_env_open(lmdb->environment, directory, MDB_NOSYNC | MDB_NOTLS, 0600) != 0 ||
        mdb_txn_begin(lmdb->environment, NULL, 0, &txn) != 0 || mdb_dbi_open(txn, NULL, 0, &lmdb->table) != 0 ||
        mdb_txn_commit(txn) != 0) {
        close_store(lmdb);
        return NULL;
    }
    return lmdb;
}

static void *session_begin(void *store)
{
    session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->lmdb = store;
    if (mdb_txn_begin(session->lmdb->environment, NULL, MDB_RDONLY, &session->reader) != 0) {
        free(session);
        return NULL;
    }
    mdb_txn_reset(session->reader);
    return session;
}

static void session_end(void *opaque)
{
    session *session = opaque;
    mdb_txn_abort(session->reader);
    free(session);
}

static bool get(void *opaque, bench_bytes key, bench_reading reading, bench_seen *out)
{
    session *session = opaque;
    MDB_val name = key_val(key), value;
    if (mdb_txn_renew(session->reader) != 0)
        return false;
    int code = mdb_get(session->reader, session->lmdb->table, &name, &value);
    if (code == 0)
        bench_consume(value.mv_data, value.mv_size, reading, out);
    mdb_txn_reset(session->reader);
    return code == 0 || code == MDB_NOTFOUND;
}

static bool drop_oldest(lmdb *lmdb, MDB_txn *txn)
{
    written *oldest = &lmdb->ring[lmdb->ring_first];
    MDB_val name = { oldest->key_size, oldest->key };
    int code = mdb_del(txn, lmdb->table, &name, NULL);
    lmdb->charged -= oldest->charge;
    lmdb->ring_first = (lmdb->ring_first + 1) % lmdb->ring_size;
    lmdb->ring_count--;
    return code == 0 || code == MDB_NOTFOUND; /* not found: replaced and dropped before */
}

static bool make_room(lmdb *lmdb, MDB_txn *txn, MDB_val name, size_t size)
{
    uint32_t charge = (uint32_t)(size > 1900 ? (size + 16 + 4095) / 4096 * 4096 + 200 : (size + name.mv_size) * 4 / 3);
    while (lmdb->ring_count > 0 &&
           (lmdb->charged + charge > lmdb->capacity || lmdb->ring_count == lmdb->ring_size))
        if (!drop_oldest(lmdb, txn))
            return false;
    written *newest = &lmdb->ring[(lmdb->ring_first + lmdb->ring_count++) % lmdb->ring_size];
    newest->key_size = (uint16_t)name.mv_size;
    newest->charge = charge;
    memcpy(newest->key, name.mv_data, name.mv_size);
    lmdb->charged += charge;
    return true;
}

static bool set_many(void *opaque, const bench_pair *pairs, size_t count)
{
    lmdb *lmdb = ((session *)opaque)->lmdb;
    MDB_txn *txn;
    if (mdb_txn_begin(lmdb->environment, NULL, 0, &txn) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        MDB_val name = key_val(pairs[i].key), value = { pairs[i].value.size, (void *)(uintptr_t)pairs[i].value.data };
        if ((lmdb->ring != NULL && !make_room(lmdb, txn, name, value.mv_size)) ||
            mdb_put(txn, lmdb->table, &name, &value, 0) != 0) {
            mdb_txn_abort(txn);
            return false;
        }
    }
    return mdb_txn_commit(txn) == 0;
}

static bool set(void *session, bench_bytes key, bench_bytes value)
{
    bench_pair pair = { key, value };
    return set_many(session, &pair, 1);
}

static uint64_t accounted(void *opaque)
{
    return ((session *)opaque)->lmdb->charged;
}

static const char *version(void)
{
    return mdb_version(NULL, NULL, NULL);
}

const bench_rival bench_lmdb = {
    "raw LMDB", version, open_store, close_store, session_begin, session_end,
    get, set, set_many, accounted, true,
};
