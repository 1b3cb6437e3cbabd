/* txn.c: every LMDB call. Transactions, rows, cursors, the pool of readers, and LMDB's codes as hnk_status. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct hnk__txn {
    _Alignas(64) _Atomic bool taken;
    unsigned index;  /* in the pool; HNK_POOL_READERS: made for once */
    MDB_txn *raw;    /* of the pool: reset, to be renewed; NULL until its first use */
    hnk__environment *environment;
};

struct hnk__environment {
    MDB_env *raw;
    MDB_dbi rows;
    size_t page_bytes;
    bool map_found;         /* else mdb_get() does the reading */
    hnk__map map;
    uint64_t unasked_bytes; /* data.mdb may grow so far; guarded by the writer's turn, as what follows */
    hnk__txn writer;
    hnk__txn pool[HNK_POOL_READERS];
};

static hnk_status from_lmdb(int code)
{
    switch (code) {
    case MDB_SUCCESS: return HNK_OK;
    case MDB_NOTFOUND: return HNK_NOT_FOUND;
    case MDB_MAP_FULL: return HNK_ERROR_DISK_FULL;
    case MDB_READERS_FULL: return HNK_ERROR_READERS_FULL;
    case MDB_TXN_FULL: return HNK_ERROR_MEMORY; /* more dirty pages than LMDB can count in one transaction */
    case MDB_VERSION_MISMATCH: case MDB_INVALID: return HNK_ERROR_NOT_A_STORE;
    case MDB_CORRUPTED: case MDB_PAGE_NOTFOUND: case MDB_PANIC: return HNK_ERROR_DAMAGED_STORE;
    case MDB_MAP_RESIZED: return HNK_ERROR_ARGUMENT; /* another process opened it with larger map_bytes and used them */
    default: return code > 0 ? hnk__from_errno(code) : HNK_ERROR_INTERNAL;
    }
}

const char *hnk__lmdb_version(void)
{
    static char text[16];
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

/* Environment ------------------------------------------------------------------------------------------------------ */

/* Gives a new lock file its blocks before LMDB maps it: on a full disk a hole there is a SIGBUS at the first reader.
 * Nobody of this process has it open, so closing it drops no lock. */
static int reserve_lock_file(const char *directory, unsigned readers_max)
{
    enum { READER_BYTES = 64, HEAD_READERS = 8 }; /* as much as LMDB will make it: a little more does no harm */
    char path[4096 + 32];
    struct stat stat;
    int code = 0;

    snprintf(path, sizeof path, "%s/lock.mdb", directory);
    /* LMDB would follow a link, and write over somebody's file. */
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0)
        return errno;
    uint64_t bytes = ((uint64_t)readers_max + HEAD_READERS) * READER_BYTES;
    if (fstat(file, &stat) != 0)
        code = errno;
    else if (stat.st_size == 0 && !hnk__reserve_past_end(file, bytes))
        code = errno;
    close(file);
    return code;
}

hnk_status hnk__environment_open(
    const char *directory, uint64_t map_bytes, unsigned readers_max, hnk__environment **out, hnk_error *error)
{
    int code;
    MDB_stat stat;
    MDB_txn *txn = NULL;
    hnk__environment *environment = NULL;

    if (posix_memalign((void **)&environment, _Alignof(hnk__txn), sizeof *environment) != 0)
        return hnk__fail(error, HNK_ERROR_MEMORY, 0, "%s", directory);
    memset(environment, 0, sizeof *environment);
    for (unsigned i = 0; i < HNK_POOL_READERS; i++) {
        environment->pool[i].index = i;
        environment->pool[i].environment = environment;
    }

    /* NOTLS: a task may end a read on another thread than it began it on. NOSYNC: see hnk_sync_mode. Never WRITEMAP:
     * with it a full disk is a SIGBUS. The map is made large once: growing it under a live reader moves his pages
     * away. */
    if ((code = mdb_env_create(&environment->raw)) != 0 ||
        (code = mdb_env_set_mapsize(environment->raw, (size_t)map_bytes)) != 0 ||
        (code = mdb_env_set_maxreaders(environment->raw, readers_max)) != 0 ||
        (code = reserve_lock_file(directory, readers_max)) != 0 ||
        (code = mdb_env_open(environment->raw, directory, MDB_NOTLS | MDB_NOSYNC, 0600)) != 0)
        goto done;
    int dead;
    if ((code = mdb_reader_check(environment->raw, &dead)) != 0 ||
        (code = mdb_txn_begin(environment->raw, NULL, MDB_RDONLY, &txn)) != 0 ||
        (code = mdb_dbi_open(txn, NULL, 0, &environment->rows)) != 0 ||
        (code = mdb_stat(txn, environment->rows, &stat)) != 0)
        goto done;
    environment->page_bytes = stat.ms_psize;
    *out = environment;
done:
    if (txn != NULL)
        mdb_txn_abort(txn);
    if (code == 0)
        return HNK_OK;
    if (environment->raw != NULL)
        mdb_env_close(environment->raw);
    free(environment);
    return hnk__fail(error, from_lmdb(code), code > 0 ? code : 0, "opening %s/data.mdb", directory);
}

void hnk__environment_close(hnk__environment *environment)
{
    if (environment == NULL)
        return;
    for (unsigned i = 0; i < HNK_POOL_READERS; i++) {
        assert(!environment->pool[i].taken);
        if (environment->pool[i].raw != NULL)
            mdb_txn_abort(environment->pool[i].raw);
    }
    mdb_env_close(environment->raw);
    free(environment);
}

hnk_status hnk__environment_sync(hnk__environment *environment)
{
    return from_lmdb(mdb_env_sync(environment->raw, 1));
}

hnk_status hnk__environment_info_get(hnk__environment *environment, hnk__environment_info *out)
{
    MDB_envinfo info;
    MDB_stat stat;
    int code;
    if ((code = mdb_env_info(environment->raw, &info)) != 0 || (code = mdb_env_stat(environment->raw, &stat)) != 0)
        return from_lmdb(code);
    out->last_txn = info.me_last_txnid;
    out->last_page = info.me_last_pgno;
    out->map_bytes = info.me_mapsize;
    out->tree_pages = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    out->page_bytes = stat.ms_psize;
    return HNK_OK;
}

uint64_t hnk__environment_last_txn(const hnk__environment *environment)
{
    MDB_envinfo info;
    return mdb_env_info(environment->raw, &info) == 0 ? info.me_last_txnid : 0;
}

size_t hnk__environment_page_bytes(const hnk__environment *environment)
{
    return environment->page_bytes;
}

int hnk__environment_file(const hnk__environment *environment)
{
    mdb_filehandle_t file = -1;
    mdb_env_get_fd(environment->raw, &file);
    return file;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

/* Where a thread looks for a free reader first: its own last one, so that its cache line stays with it. */
static unsigned *pool_hint(void)
{
    static _Atomic unsigned threads;
    static _Thread_local unsigned hint = UINT32_MAX;
    if (hint == UINT32_MAX)
        hint = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % HNK_POOL_READERS;
    return &hint;
}

static bool take(hnk__txn *txn)
{
    return !atomic_load_explicit(&txn->taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(&txn->taken, true, memory_order_acquire);
}

/* An idle reader; where `seated`, one that has its place in LMDB's table already. NULL if there is none. */
static hnk__txn *take_any(hnk__environment *environment, unsigned from, bool seated)
{
    for (unsigned i = 0; i < HNK_POOL_READERS; i++) {
        hnk__txn *txn = &environment->pool[(from + i) % HNK_POOL_READERS];
        if (!take(txn))
            continue;
        if (!seated || txn->raw != NULL)
            return txn;
        atomic_store_explicit(&txn->taken, false, memory_order_release);
    }
    return NULL;
}

static hnk__txn *pool_take(hnk__environment *environment)
{
    unsigned *hint = pool_hint();
    hnk__txn *txn = &environment->pool[*hint];
    if (take(txn)) {
        if (txn->raw != NULL)
            return txn;
        atomic_store_explicit(&txn->taken, false, memory_order_release);
    }
    /* A seat of ours that is free, before one more is taken from other processes. */
    if ((txn = take_any(environment, *hint, true)) == NULL)
        txn = take_any(environment, *hint, false);
    if (txn != NULL)
        *hint = txn->index;
    return txn;
}

static int begin_or_renew(hnk__txn *txn)
{
    return txn->raw != NULL ? mdb_txn_renew(txn->raw)
                            : mdb_txn_begin(txn->environment->raw, NULL, MDB_RDONLY, &txn->raw);
}

/* Gives back a transaction that did not begin. */
static void unbegun(hnk__txn *txn)
{
    if (txn->index == HNK_POOL_READERS)
        free(txn);
    else
        atomic_store_explicit(&txn->taken, false, memory_order_release);
}

hnk_status hnk__read_begin(hnk__environment *environment, hnk__txn **out)
{
    hnk__txn *txn = pool_take(environment);
    if (txn == NULL) {
        if (posix_memalign((void **)&txn, _Alignof(hnk__txn), sizeof *txn) != 0)
            return HNK_ERROR_MEMORY;
        memset(txn, 0, sizeof *txn);
        txn->index = HNK_POOL_READERS;
        txn->environment = environment;
    }
    int code = begin_or_renew(txn);
    if (code == MDB_READERS_FULL) {
        int dead = 0; /* killed processes leave their places taken */
        if (mdb_reader_check(environment->raw, &dead) == 0 && dead > 0)
            code = begin_or_renew(txn);
    }
    if (code == MDB_READERS_FULL) { /* the pool itself may keep places for readers that are idle */
        unbegun(txn);
        if ((txn = take_any(environment, 0, true)) == NULL)
            return HNK_ERROR_READERS_FULL;
        code = begin_or_renew(txn);
    }
    if (code != 0) {
        unbegun(txn);
        return from_lmdb(code);
    }
    *out = txn;
    return HNK_OK;
}

void hnk__read_end(hnk__txn **txn)
{
    hnk__txn *ending = *txn;
    *txn = NULL;
    if (ending == NULL)
        return;
    if (ending->index == HNK_POOL_READERS) {
        mdb_txn_abort(ending->raw);
        free(ending);
        return;
    }
    mdb_txn_reset(ending->raw);
    atomic_store_explicit(&ending->taken, false, memory_order_release);
}

unsigned hnk__read_index(const hnk__txn *txn)
{
    return txn->index;
}

bool hnk__reader_is_out(hnk__environment *environment, unsigned index)
{
    return atomic_load_explicit(&environment->pool[index].taken, memory_order_acquire);
}

void hnk__readers_clear_dead(hnk__environment *environment)
{
    int dead;
    mdb_reader_check(environment->raw, &dead); /* failing, they stay until the next time */
}

/* Writing ---------------------------------------------------------------------------------------------------------- */

hnk_status hnk__write_begin(hnk__environment *environment, hnk__txn **out)
{
    MDB_txn *raw;
    int code = mdb_txn_begin(environment->raw, NULL, 0, &raw);
    if (code != 0)
        return from_lmdb(code);
    environment->writer = (hnk__txn){ .environment = environment, .raw = raw };
    *out = &environment->writer;
    return HNK_OK;
}

/* Up to where a file of ours may grow. */
static uint64_t file_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (uint64_t)limit.rlim_cur
                                                                                   : UINT64_MAX;
}

/* What the file system has left. */
static uint64_t available_bytes(const hnk__environment *environment)
{
    struct statvfs system;
    return fstatvfs(hnk__environment_file(environment), &system) == 0 ? (uint64_t)system.f_bavail * system.f_frsize
                                                                      : UINT64_MAX;
}

/* A full disk shows as a short write, which LMDB reports as EIO. */
static bool has_room(const hnk__environment *environment)
{
    enum { ROOM_BYTES = 1 << 20 };
    struct stat data;
    if (fstat(hnk__environment_file(environment), &data) != 0)
        return true;
    return available_bytes(environment) >= ROOM_BYTES && file_limit() >= (uint64_t)data.st_size + ROOM_BYTES;
}

/* Whether data.mdb can grow. Where there is plenty of room, the system is asked only now and then; not where there is a
 * limit of the file size, past which a write would be a signal. */
static bool can_grow(hnk__environment *environment, uint64_t from_bytes, uint64_t to_bytes)
{
    if (to_bytes <= environment->unasked_bytes)
        return true;
    uint64_t limit = file_limit(), available = available_bytes(environment);
    if (to_bytes > limit || to_bytes - from_bytes > available)
        return false;
    bool plenty = limit == UINT64_MAX && available / HNK_PLENTY >= HNK_GROWTH_UNASKED_BYTES;
    environment->unasked_bytes = plenty ? to_bytes + HNK_GROWTH_UNASKED_BYTES : 0;
    return true;
}

uint64_t hnk__environment_shortage(hnk__environment *environment, uint64_t bytes)
{
    enum { TREE_PAGES = 8 }; /* that a set rewrites: two paths from the root down */
    uint64_t page = environment->page_bytes;
    MDB_envinfo info;
    MDB_stat stat;

    if (mdb_env_info(environment->raw, &info) != 0 || mdb_env_stat(environment->raw, &stat) != 0)
        return 0;
    uint64_t pages = info.me_last_pgno + 1;
    uint64_t held = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages + 2;
    uint64_t free = pages > held ? pages - held : 0;
    uint64_t reserve = info.me_mapsize / page / 16;
    uint64_t needed = bytes / page + 1 + TREE_PAGES + (reserve < HNK_RESERVE_PAGES ? reserve : HNK_RESERVE_PAGES);
    if (free >= needed)
        return 0;
    uint64_t bytes_now = pages * page, more = (needed - free) * page;
    bool grows = bytes_now + more <= info.me_mapsize && can_grow(environment, bytes_now, bytes_now + more);
    return grows ? 0 : more;
}

uint64_t hnk__txn_number(const hnk__txn *txn)
{
    return mdb_txn_id(txn->raw);
}

hnk_status hnk__write_commit(hnk__txn **txn)
{
    hnk__txn *ending = *txn;
    *txn = NULL;
    int code = mdb_txn_commit(ending->raw);
    if (code == EIO && !has_room(ending->environment))
        code = ENOSPC;
    return from_lmdb(code);
}

void hnk__write_abort(hnk__txn **txn)
{
    hnk__txn *ending = *txn;
    *txn = NULL;
    if (ending == NULL)
        return;
    mdb_txn_abort(ending->raw);
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

static MDB_val as_value(const hnk__key *key)
{
    return (MDB_val){ key->size, (void *)(uintptr_t)key->bytes };
}

hnk_status hnk__row_get(hnk__txn *txn, const hnk__key *key, hnk_bytes *out)
{
    MDB_val name = as_value(key), row;
    int code = mdb_get(txn->raw, txn->environment->rows, &name, &row);
    if (code != 0)
        return from_lmdb(code);
    *out = (hnk_bytes){ row.mv_data, row.mv_size };
    return HNK_OK;
}

hnk_status hnk__environment_find_map(hnk__environment *environment, const hnk__key *key)
{
    hnk__txn *txn;
    hnk_bytes row = { NULL, 0 };
    hnk_status status = hnk__read_begin(environment, &txn);
    if (status != HNK_OK)
        return status;
    if ((status = hnk__row_get(txn, key, &row)) == HNK_OK)
        environment->map_found = hnk__map_find(
            &environment->map, row.data, environment->page_bytes, hnk__environment_file(environment));
    hnk__read_end(&txn);
    return status;
}

hnk_status hnk__row_find(hnk__txn *txn, const hnk__key *key, hnk_bytes *out_key, hnk_bytes *out_row)
{
    hnk__environment *environment = txn->environment;
    if (environment->map_found)
        return hnk__search(&environment->map, mdb_txn_id(txn->raw), key, out_key, out_row);
    *out_key = (hnk_bytes){ key->bytes, key->size };
    return hnk__row_get(txn, key, out_row);
}

hnk_status hnk__row_put(hnk__txn *txn, const hnk__key *key, hnk_bytes row)
{
    MDB_val name = as_value(key), value = { row.size, (void *)(uintptr_t)row.data };
    return from_lmdb(mdb_put(txn->raw, txn->environment->rows, &name, &value, 0));
}

hnk_status hnk__row_reserve(hnk__txn *txn, const hnk__key *key, size_t size, void **out)
{
    MDB_val name = as_value(key), value = { size, NULL };
    int code = mdb_put(txn->raw, txn->environment->rows, &name, &value, MDB_RESERVE);
    if (code == 0)
        *out = value.mv_data;
    return from_lmdb(code);
}

hnk_status hnk__row_delete(hnk__txn *txn, const hnk__key *key)
{
    MDB_val name = as_value(key);
    return from_lmdb(mdb_del(txn->raw, txn->environment->rows, &name, NULL));
}

/* Cursors: an hnk__cursor is LMDB's own ---------------------------------------------------------------------------- */

static hnk_status cursor_move(
    hnk__cursor *cursor, MDB_val *name, MDB_cursor_op op, hnk_bytes *out_key, hnk_bytes *out_row)
{
    MDB_val row;
    int code = mdb_cursor_get((MDB_cursor *)cursor, name, &row, op);
    if (code != 0)
        return from_lmdb(code);
    *out_key = (hnk_bytes){ name->mv_data, name->mv_size };
    *out_row = (hnk_bytes){ row.mv_data, row.mv_size };
    return HNK_OK;
}

hnk_status hnk__cursor_open(hnk__txn *txn, hnk__cursor **out)
{
    return from_lmdb(mdb_cursor_open(txn->raw, txn->environment->rows, (MDB_cursor **)out));
}

hnk_status hnk__cursor_seek(hnk__cursor *cursor, const hnk__key *key, hnk_bytes *out_key, hnk_bytes *out_row)
{
    MDB_val name = as_value(key);
    return cursor_move(cursor, &name, MDB_SET_RANGE, out_key, out_row);
}

hnk_status hnk__cursor_next(hnk__cursor *cursor, hnk_bytes *out_key, hnk_bytes *out_row)
{
    MDB_val name;
    return cursor_move(cursor, &name, MDB_NEXT, out_key, out_row);
}

hnk_status hnk__cursor_delete(hnk__cursor *cursor, hnk_bytes *out_key, hnk_bytes *out_row)
{
    int code = mdb_cursor_del((MDB_cursor *)cursor, 0);
    /* After a deletion MDB_NEXT gives what has moved into the place. */
    return code != 0 ? from_lmdb(code) : hnk__cursor_next(cursor, out_key, out_row);
}

void hnk__cursor_close(hnk__cursor **cursor)
{
    if (*cursor != NULL)
        mdb_cursor_close((MDB_cursor *)*cursor);
    *cursor = NULL;
}

/* Free pages ------------------------------------------------------------------------------------------------------- */

/* Keeps the smallest transaction number in a line of mdb_reader_list(): "pid thread txn", or "-" for none. */
static int oldest_of(const char *line, void *context)
{
    uint64_t *oldest = context;
    uint64_t txn;
    if (sscanf(line, "%*d %*x %" SCNu64, &txn) == 1 && txn < *oldest)
        *oldest = txn;
    return 0;
}

hnk_status hnk__txn_tree_pages(hnk__txn *txn, uint64_t *out)
{
    MDB_stat stat;
    int code = mdb_stat(txn->raw, txn->environment->rows, &stat);
    if (code == 0)
        *out = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    return from_lmdb(code);
}

hnk_status hnk__free_pages(
    hnk__txn *write_txn, uint64_t *after, uint64_t pages_max,
    hnk_status (*visit)(void *context, uint64_t first_page, uint64_t pages), void *context)
{
    enum { FREE_LIST = 0 }; /* LMDB's own database of free pages; a cursor on it is allowed in read transactions */
    MDB_env *env = write_txn->environment->raw;
    MDB_txn *reading = NULL;
    MDB_cursor *cursor = NULL;
    MDB_val name, row;
    MDB_envinfo info;
    hnk_status status = HNK_OK;
    int code;

    if ((code = mdb_env_info(env, &info)) != 0 || (code = mdb_txn_begin(env, NULL, MDB_RDONLY, &reading)) != 0 ||
        (code = mdb_cursor_open(reading, FREE_LIST, &cursor)) != 0)
        goto done;
    uint64_t oldest = info.me_last_txnid;
    hnk__readers_clear_dead(write_txn->environment);
    mdb_reader_list(env, oldest_of, &oldest);

    size_t from = (size_t)*after + 1;
    uint64_t visited = 0;
    name = (MDB_val){ sizeof from, &from };
    for (code = mdb_cursor_get(cursor, &name, &row, MDB_SET_RANGE); code == 0 && visited < pages_max;
         code = mdb_cursor_get(cursor, &name, &row, MDB_NEXT)) {
        size_t freed_by, count;
        memcpy(&freed_by, name.mv_data, sizeof freed_by);
        if (freed_by >= oldest) /* a reader may still see these, as in LMDB's own allocator */
            break;
        memcpy(&count, row.mv_data, sizeof count);
        if (count >= row.mv_size / sizeof count) {
            code = MDB_CORRUPTED;
            goto done;
        }
        const size_t *pages = (const size_t *)row.mv_data + 1; /* descending; LMDB aligns the row for itself */
        for (size_t i = count; i > 0;) {
            size_t first = pages[--i], run = 1;
            while (i > 0 && pages[i - 1] == first + run)
                i--, run++;
            if ((status = visit(context, first, run)) != HNK_OK)
                goto done;
        }
        visited += count;
        *after = freed_by;
    }
    if (code == MDB_NOTFOUND)
        code = 0;
done:
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    if (reading != NULL)
        mdb_txn_abort(reading);
    return status != HNK_OK ? status : from_lmdb(code);
}
