/* lmdb_file.c: makes files with LMDB, and lets LMDB loose on damaged ones. */
#include "lmdb_file.h"

#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* What must work here, since nothing is damaged yet. */
#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

enum { KEY_MIN = 12, TREE_MAX = 1 << 16, ROW_MAX_BYTES = 1 << 19 };

static const size_t MAP_BYTES = (size_t)1 << 30;

/* The place -------------------------------------------------------------------------------------------------------- */

static char folder[256], path[300], lock_path[300];

void file_place_make(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%s/haneke-pages-XXXXXX", parent != NULL ? parent : "/tmp");
    MUST(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    snprintf(lock_path, sizeof lock_path, "%s/lock.mdb", folder);
}

void file_place_remove(void)
{
    unlink(path);
    unlink(lock_path);
    rmdir(folder);
}

const char *file_folder(void) { return folder; }
const char *file_path(void) { return path; }

void file_write(const uint8_t *bytes, size_t size)
{
    unlink(lock_path);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    MUST(file >= 0 && ftruncate(file, (off_t)size) == 0); /* its blocks stay: half the time */
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        MUST(written > 0);
        bytes += written;
        size -= (size_t)written;
    }
    close(file);
}

uint8_t *file_read(size_t *out_size)
{
    struct stat known;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    MUST(file >= 0 && fstat(file, &known) == 0 && known.st_size > 0);
    uint8_t *bytes = malloc((size_t)known.st_size);
    MUST(bytes != NULL);
    for (off_t done = 0; done < known.st_size;) {
        ssize_t got = read(file, bytes + done, (size_t)(known.st_size - done));
        MUST(got > 0);
        done += got;
    }
    close(file);
    *out_size = (size_t)known.st_size;
    return bytes;
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

static uint64_t row_digest(const void *key, size_t key_bytes, const void *value, size_t value_bytes)
{
    return hnk__digest(value, value_bytes, hnk__digest(key, key_bytes, 0) | 1);
}

bool row_is_proven(const void *key, size_t key_bytes, const void *row, size_t row_bytes)
{
    uint64_t digest;

    if (row_bytes < sizeof digest)
        return false;
    memcpy(&digest, row, sizeof digest);
    return digest == row_digest(key, key_bytes, (const uint8_t *)row + sizeof digest, row_bytes - sizeof digest);
}

/* Key `number` of a profile: always the same bytes. */
static MDB_val key_of(const profile *profile, uint64_t number, uint8_t out[HNK_ROW_KEY_MAX_BYTES])
{
    uint64_t mixed = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
    size_t size = KEY_MIN + (size_t)(mixed >> 20) % (profile->key_max - KEY_MIN);

    memset(out, 'k', size);
    out[0] = number % 9 == 0 ? HNK_TABLE_BUCKET : HNK_TABLE_RECORD;
    out[1] = out[2] = 0;
    out[3] = (uint8_t)(1 + mixed % 3);
    memcpy(out + HNK_PREFIX_BYTES, &mixed, sizeof mixed);
    return (MDB_val){ size, out };
}

static size_t value_size(const profile *profile, source *from)
{
    size_t low = profile->value_min;

    if (!profile->many_small)
        return low + (size_t)draw(from, profile->value_max - low + 1);
    while (low * 2 < profile->value_max && draw(from, 100) < 62)
        low *= 2;
    return low + (size_t)draw(from, low);
}

static int put(MDB_txn *txn, MDB_dbi rows, const profile *profile, source *from, uint64_t number)
{
    static uint8_t row[ROW_MAX_BYTES];
    uint8_t bytes[HNK_ROW_KEY_MAX_BYTES];
    MDB_val key = key_of(profile, number, bytes), value = { value_size(profile, from), row };
    uint8_t salt = (uint8_t)draw(from, 256);
    uint64_t digest;

    MUST(value.mv_size >= sizeof digest && value.mv_size <= sizeof row);
    for (size_t i = sizeof digest; i < value.mv_size; i += 997)
        row[i] = salt;
    digest = row_digest(bytes, key.mv_size, row + sizeof digest, value.mv_size - sizeof digest);
    memcpy(row, &digest, sizeof digest);
    return mdb_put(txn, rows, &key, &value, 0);
}

static int delete(MDB_txn *txn, MDB_dbi rows, const profile *profile, uint64_t number)
{
    uint8_t bytes[HNK_ROW_KEY_MAX_BYTES];
    MDB_val key = key_of(profile, number, bytes);
    int code = mdb_del(txn, rows, &key, NULL);

    return code == MDB_NOTFOUND ? 0 : code;
}

/* Making a file ---------------------------------------------------------------------------------------------------- */

static MDB_env *open_file(MDB_dbi *rows)
{
    MDB_env *env;
    MDB_txn *txn;

    MUST(mdb_env_create(&env) == 0 && mdb_env_set_mapsize(env, MAP_BYTES) == 0);
    MUST(mdb_env_open(env, folder, MDB_NOSYNC | MDB_NOTLS, 0600) == 0);
    MUST(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, rows) == 0);
    mdb_txn_abort(txn);
    return env;
}

struct compared {
    MDB_cursor *cursor;
    bool differs;
};

static hnk_status compare_row(void *context, hnk_bytes key, hnk_bytes row)
{
    struct compared *with = context;
    MDB_val their_key, their_row;

    with->differs = with->differs || mdb_cursor_get(with->cursor, &their_key, &their_row, MDB_NEXT) != 0 ||
                    their_key.mv_size != key.size || memcmp(their_key.mv_data, key.data, key.size) != 0 ||
                    their_row.mv_size != row.size || memcmp(their_row.mv_data, row.data, row.size) != 0 ||
                    !row_is_proven(key.data, key.size, row.data, row.size);
    return HNK_OK;
}

/* An undamaged file: the walk calls it sound and gives the rows that a cursor gives. */
static void check_sound(MDB_env *env, MDB_dbi rows)
{
    hnk__pages_report quick, whole;
    struct compared with = { NULL, false };
    MDB_txn *txn;
    MDB_stat stat;
    MDB_val key, row;

    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0 && mdb_cursor_open(txn, rows, &with.cursor) == 0);
    MUST(mdb_stat(txn, rows, &stat) == 0);
    MUST(hnk__pages_metas_hold(path));
    MUST(hnk__pages_walk(path, NULL, NULL, &quick) == HNK_OK && quick.sound);
    MUST(hnk__pages_walk(path, compare_row, &with, &whole) == HNK_OK && whole.sound);
    MUST(!with.differs && whole.rows == stat.ms_entries);
    MUST(mdb_cursor_get(with.cursor, &key, &row, MDB_NEXT) == MDB_NOTFOUND);
    mdb_cursor_close(with.cursor);
    mdb_txn_abort(txn);
}

static void write_round(MDB_env *env, MDB_dbi rows, const profile *profile, source *from, unsigned round)
{
    enum { MUCH_EVERY = 50, DELETED_PERCENT = 35, ABORTED_PERCENT = 10 };
    MDB_txn *txn;

    MUST(mdb_txn_begin(env, NULL, 0, &txn) == 0);
    if (round % MUCH_EVERY == MUCH_EVERY - 1)
        for (uint64_t number = 0; number < profile->keys; number += 1 + draw(from, 2))
            MUST(delete(txn, rows, profile, number) == 0);
    for (unsigned i = 0; i < profile->batch; i++) {
        uint64_t number = draw(from, profile->keys);
        if (draw(from, 100) < DELETED_PERCENT)
            MUST(delete(txn, rows, profile, number) == 0);
        else
            MUST(put(txn, rows, profile, from, number) == 0);
    }
    if (draw(from, 100) < ABORTED_PERCENT)
        mdb_txn_abort(txn);
    else
        MUST(mdb_txn_commit(txn) == 0);
}

/* Which pages LMDB holds free. */
static void note_free(MDB_env *env, bool is_free[TREE_MAX])
{
    enum { FREE_LIST = 0 };
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, row;

    memset(is_free, 0, TREE_MAX * sizeof *is_free);
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0 && mdb_cursor_open(txn, FREE_LIST, &cursor) == 0);
    while (mdb_cursor_get(cursor, &key, &row, MDB_NEXT) == 0) {
        uint64_t count, number;
        memcpy(&count, row.mv_data, sizeof count);
        for (uint64_t i = 1; i <= count; i++) {
            memcpy(&number, (const uint8_t *)row.mv_data + i * sizeof number, sizeof number);
            if (number < TREE_MAX)
                is_free[number] = true;
        }
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

static void list_pages(sample *out, const bool is_free[TREE_MAX])
{
    enum { FLAGS_AT = 10, BRANCH_OR_LEAF = 3 };
    size_t pages = out->size / PAGE;

    MUST(pages <= TREE_MAX);
    out->tree = malloc(pages * sizeof *out->tree);
    out->used = malloc(pages * sizeof *out->used);
    MUST(out->tree != NULL && out->used != NULL);
    for (uint32_t page = 2; page < pages; page++) {
        const uint8_t *bytes = out->bytes + (size_t)page * PAGE;
        uint64_t number;
        memcpy(&number, bytes, sizeof number);
        if (is_free[page])
            continue;
        out->used[out->used_count++] = page;
        if (number == page && (bytes[FLAGS_AT] & BRANCH_OR_LEAF) != 0)
            out->tree[out->tree_count++] = page;
    }
    MUST(out->tree_count > 0);
}

unsigned sample_make(sample *out, const profile *profile, source *from)
{
    enum { LOOK_EVERY = 7, OLDER_BY = 9, HOLD_EVERY = 40, HOLD_FROM = 5, HOLD_TO = 35 };
    static bool is_free[TREE_MAX];
    MDB_txn *reader = NULL;
    unsigned looks = 2;
    MDB_dbi rows;

    *out = (sample){ .profile = profile };
    unlink(path);
    unlink(lock_path);
    MDB_env *env = open_file(&rows);
    check_sound(env, rows);
    for (unsigned round = 0; round < profile->rounds; round++) {
        if (profile->held && round % HOLD_EVERY == HOLD_FROM)
            MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader) == 0);
        if (profile->held && round % HOLD_EVERY == HOLD_TO) {
            mdb_txn_abort(reader);
            reader = NULL;
        }
        if (round + OLDER_BY == profile->rounds)
            out->older = file_read(&out->older_size);
        write_round(env, rows, profile, from, round);
        if (round % LOOK_EVERY == 0) {
            check_sound(env, rows);
            looks++;
        }
    }
    if (reader != NULL)
        mdb_txn_abort(reader);
    check_sound(env, rows);
    note_free(env, is_free);
    mdb_env_close(env);
    out->bytes = file_read(&out->size);
    list_pages(out, is_free);
    return looks;
}

void sample_free(sample *sample)
{
    free(sample->bytes);
    free(sample->older);
    free(sample->tree);
    free(sample->used);
}

/* Using one -------------------------------------------------------------------------------------------------------- */

static const char *read_all(MDB_env *env, MDB_dbi *rows, uint64_t *out_rows)
{
    volatile uint8_t last = 0; /* every byte is touched, and kept from the optimiser */
    const char *failed = NULL;
    MDB_cursor *cursor = NULL;
    MDB_txn *txn;
    MDB_val key, row;
    int code;

    if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) != 0)
        return "beginning to read";
    if (mdb_dbi_open(txn, NULL, 0, rows) != 0 || mdb_cursor_open(txn, *rows, &cursor) != 0) {
        failed = "opening a cursor";
    } else {
        while ((code = mdb_cursor_get(cursor, &key, &row, MDB_NEXT)) == 0) {
            MDB_val again;
            for (size_t i = 0; i < key.mv_size; i++)
                last = ((const uint8_t *)key.mv_data)[i];
            for (size_t i = 0; i < row.mv_size; i++)
                last = ((const uint8_t *)row.mv_data)[i];
            if (mdb_get(txn, *rows, &key, &again) != 0 || again.mv_data != row.mv_data)
                failed = "finding a row that the cursor gave";
            (*out_rows)++;
        }
        if (code != MDB_NOTFOUND)
            failed = "reading all rows";
        mdb_cursor_close(cursor);
    }
    (void)last;
    mdb_txn_abort(txn);
    return failed;
}

const char *lmdb_uses_file(const profile *profile, source *from, uint64_t *out_rows)
{
    enum { TRANSACTIONS = 12, WRITES = 12 };
    const char *failed = NULL;
    MDB_env *env = NULL;
    MDB_dbi rows;

    *out_rows = 0;
    if (mdb_env_create(&env) != 0 || mdb_env_set_mapsize(env, MAP_BYTES) != 0 ||
        mdb_env_open(env, folder, MDB_NOSYNC | MDB_NOTLS | MDB_NOLOCK, 0600) != 0)
        failed = "opening it";
    else
        failed = read_all(env, &rows, out_rows);
    for (unsigned i = 0; i < TRANSACTIONS && failed == NULL; i++) {
        MDB_txn *txn;
        int code = 0;
        if (mdb_txn_begin(env, NULL, 0, &txn) != 0) {
            failed = "beginning to write";
            break;
        }
        for (unsigned j = 0; j < WRITES && code == 0; j++)
            code = draw(from, 2) != 0 ? delete(txn, rows, profile, draw(from, profile->keys))
                                      : put(txn, rows, profile, from, draw(from, profile->keys));
        if (code != 0) {
            failed = "writing";
            mdb_txn_abort(txn);
        } else if (mdb_txn_commit(txn) != 0) {
            failed = "committing";
        }
    }
    mdb_env_close(env);
    return failed;
}
