/* recover.c: what happens at an open that can't trust the file: judge, salvage, set aside, put in order. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Judging ---------------------------------------------------------------------------------------------------------- */

struct judgement {
    bool proves_digests;
    bool has_store_row;
    uint32_t format_version;
    uint64_t bad_rows;
    uint64_t names; /* a digest for each bucket's row less one for each name: zero if they name each other */
};

static bool record_holds(hnk_bytes key, hnk_bytes row)
{
    hnk__record record;
    return hnk__record_parse(&record, key, row) && hnk__record_header_holds(&record) &&
           ((record.header.flags & HNK_RECORD_BLOB) != 0 || /* its own first read proves it */
            hnk__digest(record.value.data, record.value.size, 0) == record.header.value_digest);
}

static bool is_store_row(hnk_bytes key, hnk_bytes row)
{
    return hnk__key_is(key, HNK_TABLE_STORE, 0) && row.size == sizeof(hnk__store_row) &&
           memcmp(row.data, "HNKSTORE", 8) == 0;
}

static hnk_bytes name_of(hnk_bytes key)
{
    if (key.size <= HNK_PREFIX_BYTES)
        return (hnk_bytes){ NULL, 0 };
    return (hnk_bytes){ (const char *)key.data + HNK_PREFIX_BYTES, key.size - HNK_PREFIX_BYTES };
}

static uint64_t name_digest(hnk_bytes name, uint32_t id)
{
    return hnk__digest(name.data, name.size, (uint64_t)id + 1);
}

static hnk_status judge_row(void *context, hnk_bytes key, hnk_bytes row)
{
    struct judgement *judgement = context;
    uint8_t table = key.size > 0 ? *(const uint8_t *)key.data : 0xFF;

    if (is_store_row(key, row)) {
        hnk__store_row store_row;
        memcpy(&store_row, row.data, sizeof store_row);
        judgement->has_store_row = true;
        judgement->format_version = store_row.format_version;
    } else if (table == HNK_TABLE_BUCKET) {
        if (hnk__bucket_row_holds(row))
            judgement->names += name_digest(hnk__bucket_row_name(row), hnk__key_bucket_id(key.data));
        else
            judgement->bad_rows++;
    } else if (table == HNK_TABLE_NAME) {
        uint32_t id = 0;
        memcpy(&id, row.data, row.size < sizeof id ? row.size : sizeof id);
        judgement->bad_rows += row.size != sizeof id;
        judgement->names -= name_digest(name_of(key), id);
    } else if (table == HNK_TABLE_RECORD && judgement->proves_digests) {
        judgement->bad_rows += !record_holds(key, row);
    }
    return HNK_OK;
}

/* Salvaging -------------------------------------------------------------------------------------------------------- */

struct salvage {
    hnk_store *store;
    hnk__write write;
    bool open;
    bool records;         /* second pass */
    uint64_t bytes;       /* written since the last commit */
    uint32_t largest_id;
    uint32_t looked_up;   /* the bucket asked for last, and whether it has a row */
    bool has_bucket;
    hnk__store_row store_row;
    bool has_store_row;
};

enum { COMMIT_BYTES = 16 << 20 }; /* dirty pages held in memory between commits */

/* Opens a transaction for the next rows, committing one that has grown large. */
static hnk_status salvage_begin(struct salvage *salvage)
{
    hnk_status status = HNK_OK;

    if (salvage->open && salvage->bytes >= COMMIT_BYTES) {
        salvage->open = false;
        status = hnk__write_close(&salvage->write, HNK_OK, NULL);
    }
    if (status == HNK_OK && !salvage->open) {
        status = hnk__write_open(salvage->store, &salvage->write, NULL);
        salvage->open = status == HNK_OK;
        salvage->bytes = 0;
    }
    return status;
}

static hnk_status keep_row(struct salvage *salvage, hnk_bytes key, hnk_bytes row)
{
    hnk__key row_key;
    hnk_status status;

    if ((status = salvage_begin(salvage)) != HNK_OK)
        return status;
    row_key.size = (uint16_t)key.size;
    memcpy(row_key.bytes, key.data, key.size);
    salvage->bytes += key.size + row.size;
    return hnk__row_put(salvage->write.txn, &row_key, row);
}

/* Whether a bucket's row has been kept. Records come by bucket, so the last answer is mostly the next one too. */
static hnk_status has_bucket(struct salvage *salvage, uint32_t id, bool *out)
{
    hnk__key key;
    hnk_bytes row;
    hnk_status status;

    if (id != salvage->looked_up) {
        if ((status = salvage_begin(salvage)) != HNK_OK)
            return status;
        hnk__key_row(&key, HNK_TABLE_BUCKET, id, (hnk_bytes){ NULL, 0 });
        status = hnk__row_get(salvage->write.txn, &key, &row);
        if (status != HNK_OK && status != HNK_NOT_FOUND)
            return status;
        salvage->looked_up = id;
        salvage->has_bucket = status == HNK_OK;
    }
    *out = salvage->has_bucket;
    return HNK_OK;
}

/* Keeps a bucket's row, and the name that stands in it. */
static hnk_status keep_bucket(struct salvage *salvage, hnk_bytes key, hnk_bytes row)
{
    uint32_t id = hnk__key_bucket_id(key.data);
    hnk__key name;
    hnk_status status;

    if (key.size != HNK_PREFIX_BYTES || id == 0 || !hnk__bucket_row_holds(row))
        return HNK_OK;
    if ((status = keep_row(salvage, key, row)) != HNK_OK)
        return status;
    if (id > salvage->largest_id)
        salvage->largest_id = id;
    salvage->looked_up = 0;
    hnk__key_row(&name, HNK_TABLE_NAME, 0, hnk__bucket_row_name(row));
    return hnk__row_put(salvage->write.txn, &name, (hnk_bytes){ &id, sizeof id });
}

/* Keeps a name whose bucket's row is lost; match_names() gives it a new one. */
static hnk_status keep_name(struct salvage *salvage, hnk_bytes key, hnk_bytes row)
{
    hnk__key name;
    hnk_bytes kept;
    bool found;
    uint32_t id;
    hnk_status status;

    if (row.size != sizeof id || key.size - HNK_PREFIX_BYTES > HNK_BUCKET_NAME_MAX_BYTES)
        return HNK_OK;
    memcpy(&id, row.data, sizeof id);
    if (id == 0 || id > HNK_BUCKET_ID_MAX)
        return HNK_OK;
    if ((status = salvage_begin(salvage)) != HNK_OK || (status = has_bucket(salvage, id, &found)) != HNK_OK || found)
        return status;
    hnk__key_row(&name, HNK_TABLE_NAME, 0, name_of(key));
    if (hnk__row_get(salvage->write.txn, &name, &kept) == HNK_OK) /* a bucket's row says otherwise, and has a digest */
        return HNK_OK;
    if (id > salvage->largest_id)
        salvage->largest_id = id;
    return keep_row(salvage, key, row);
}

static hnk_status end_pass(struct salvage *salvage, hnk_status status)
{
    if (!salvage->open)
        return status;
    salvage->open = false;
    return hnk__write_close(&salvage->write, status, NULL);
}

static hnk_status salvage_row(void *context, hnk_bytes key, hnk_bytes row)
{
    struct salvage *salvage = context;
    bool found;
    hnk_status status;

    if (key.size < HNK_PREFIX_BYTES || key.size > HNK_ROW_KEY_MAX_BYTES)
        return HNK_OK;
    uint8_t table = *(const uint8_t *)key.data;
    if (salvage->records) {
        if (table != HNK_TABLE_RECORD || !record_holds(key, row))
            return HNK_OK;
        status = has_bucket(salvage, hnk__key_bucket_id(key.data), &found);
        return status == HNK_OK && found ? keep_row(salvage, key, row) : status;
    }
    switch (table) {
    case HNK_TABLE_STORE:
        if (is_store_row(key, row)) {
            memcpy(&salvage->store_row, row.data, sizeof salvage->store_row);
            salvage->has_store_row = true;
        }
        return HNK_OK;
    case HNK_TABLE_BUCKET:
        return keep_bucket(salvage, key, row);
    case HNK_TABLE_NAME:
        return keep_name(salvage, key, row);
    default:
        return HNK_OK;
    }
}

/* After the first pass: a name without its row gets a new one. */
static hnk_status match_names(struct salvage *salvage)
{
    hnk__write write;
    hnk__key key;
    hnk_bytes row;
    hnk_status status;
    uint32_t id;

    if ((status = hnk__write_open(salvage->store, &write, NULL)) != HNK_OK)
        return status;
    hnk_bucket_name name = { .size = 0 };
    bool first = true;
    for (;;) {
        hnk__cursor *cursor = NULL;
        hnk_bytes found;
        hnk__key_row(&key, HNK_TABLE_NAME, 0, (hnk_bytes){ name.bytes, name.size });
        if ((status = hnk__cursor_open(write.txn, &cursor)) != HNK_OK)
            break;
        status = hnk__cursor_seek(cursor, &key, &found, &row);
        if (status == HNK_OK && !first && found.size == key.size && memcmp(found.data, key.bytes, key.size) == 0)
            status = hnk__cursor_next(cursor, &found, &row);
        first = false;
        bool ends = status != HNK_OK || !hnk__key_is(found, HNK_TABLE_NAME, 0);
        if (!ends) {
            name.size = found.size - HNK_PREFIX_BYTES;
            memcpy(name.bytes, (const char *)found.data + HNK_PREFIX_BYTES, name.size);
            memcpy(&id, row.data, sizeof id);
        }
        hnk__cursor_close(&cursor);
        if (ends)
            break;
        hnk__key_row(&key, HNK_TABLE_BUCKET, id, (hnk_bytes){ NULL, 0 });
        if ((status = hnk__row_get(write.txn, &key, &row)) == HNK_NOT_FOUND) {
            hnk__bucket_row made;
            hnk__bucket_row_begin(&made, write.now_ms);
            status = hnk__bucket_row_make(write.txn, id, (hnk_bytes){ name.bytes, name.size }, &made);
        }
        if (status != HNK_OK)
            break;
    }
    if (status == HNK_NOT_FOUND)
        status = HNK_OK;
    if (status == HNK_OK) {
        hnk__store_row *store_row = &salvage->store_row;
        if (!salvage->has_store_row) {
            *store_row = (hnk__store_row){ .format_version = HNK_FORMAT_VERSION, .made_at_ms = write.now_ms };
            memcpy(store_row->magic, "HNKSTORE", sizeof store_row->magic);
            hnk__random(store_row->identity, sizeof store_row->identity);
        }
        if (store_row->next_bucket_id <= salvage->largest_id)
            store_row->next_bucket_id = salvage->largest_id + 1;
        hnk__key_row(&key, HNK_TABLE_STORE, 0, (hnk_bytes){ NULL, 0 });
        status = hnk__row_put(write.txn, &key, (hnk_bytes){ store_row, sizeof *store_row });
    }
    return hnk__write_close(&write, status, NULL);
}

/* The damaged file goes by this name until all of it has been salvaged, and only then by the one for good. */
static const char in_work[] = HNK_SALVAGING_NAME, for_good[] = HNK_DAMAGED_NAME;

static hnk_status set_aside(hnk_store *store, const char *name, hnk_error *error)
{
    if (renameat(store->directory, "data.mdb", store->directory, name) != 0)
        return hnk__fail(error, hnk__from_errno(errno), errno, "setting aside %s/data.mdb", store->path);
    unlinkat(store->directory, "lock.mdb", 0); /* nobody has it: we hold the state file alone */
    return HNK_OK;
}

/* A salvage that has not come to its end begins anew: what it left as data.mdb is a part. */
static hnk_status take_back(hnk_store *store, hnk__trust *trust, hnk_error *error)
{
    if (*trust == HNK_TRUST_SHARED)
        return HNK_OK;
    if (renameat(store->directory, in_work, store->directory, "data.mdb") == 0) {
        unlinkat(store->directory, "lock.mdb", 0);
        *trust = HNK_TRUST_CRASHED; /* the strictest: what it was is not known any more */
        return HNK_OK;
    }
    if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) /* nothing, or nothing of ours */
        return HNK_OK;
    return hnk__fail(error, hnk__from_errno(errno), errno, "taking back %s/%s", store->path, in_work);
}

static hnk_status open_environment(hnk_store *store, hnk_error *error)
{
    return hnk__environment_open(
        store->path, store->options.map_bytes, store->options.readers_max, &store->environment, error);
}

/* Begins empty; the damaged file goes. */
static hnk_status discard(hnk_store *store, hnk_error *error)
{
    hnk_status status;
    if ((status = set_aside(store, for_good, error)) != HNK_OK || (status = open_environment(store, error)) != HNK_OK)
        return status;
    store->salvaged = true;
    unlinkat(store->directory, for_good, 0);
    return HNK_OK;
}

static hnk_status salvage(hnk_store *store, hnk_error *error)
{
    char path[4096 + 32];
    hnk__pages_report report;
    struct salvage salvage = { .store = store };
    hnk_status status;

    if ((status = set_aside(store, in_work, error)) != HNK_OK || (status = open_environment(store, error)) != HNK_OK)
        return status;
    store->salvaged = true;
    snprintf(path, sizeof path, "%s/%s", store->path, in_work);
    status = hnk__pages_walk(path, salvage_row, &salvage, &report);
    status = end_pass(&salvage, status);
    if (status == HNK_OK && (status = match_names(&salvage)) == HNK_OK) {
        salvage.records = true;
        salvage.looked_up = 0;
        status = hnk__pages_walk(path, salvage_row, &salvage, &report);
        status = end_pass(&salvage, status);
    }
    if (status != HNK_OK && status != HNK_ERROR_NOT_A_STORE) /* that: not even a meta page is left */
        return hnk__fail(error, status, 0, "salvaging %s", path);
    if (renameat(store->directory, in_work, store->directory, for_good) != 0)
        return hnk__fail(error, hnk__from_errno(errno), errno, "setting aside %s", path);
    (void)!utimensat(store->directory, for_good, NULL, AT_SYMLINK_NOFOLLOW); /* of now; failing, it goes earlier */
    return HNK_OK;
}

void hnk__recover_forget(hnk_store *store)
{
    struct stat stat;
    if (fstatat(store->directory, for_good, &stat, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    uint64_t now_ms = hnk__now_ms(), since_ms = stat.st_mtime > 0 ? (uint64_t)stat.st_mtime * 1000 : 0;
    uint64_t apart_ms = now_ms > since_ms ? now_ms - since_ms : since_ms - now_ms; /* clocks are set back, too */
    if (apart_ms >= HNK_DAMAGED_KEPT_MS)
        unlinkat(store->directory, for_good, 0);
}

hnk_status hnk__recover(hnk_store *store, hnk__trust trust, hnk_error *error)
{
    char path[4096 + 32];
    hnk__pages_report report;
    struct judgement judgement = { .format_version = 0 };
    hnk_status status;

    if ((status = take_back(store, &trust, error)) != HNK_OK)
        return status;
    judgement.proves_digests = trust == HNK_TRUST_CRASHED;
    if (trust != HNK_TRUST_KILLED && trust != HNK_TRUST_CRASHED)
        return open_environment(store, error);

    snprintf(path, sizeof path, "%s/data.mdb", store->path);
    status = hnk__pages_walk(path, judge_row, &judgement, &report);
    bool ours = judgement.has_store_row || store->state.known;
    if ((status == HNK_OK || status == HNK_ERROR_NOT_A_STORE) && !ours && (status != HNK_OK || report.rows > 0))
        return hnk__fail(error, HNK_ERROR_NOT_A_STORE, 0, "%s", path);
    if (status != HNK_OK && status != HNK_ERROR_NOT_A_STORE)
        return hnk__fail(error, status, errno, "checking %s", path);
    if (judgement.has_store_row && judgement.format_version > HNK_FORMAT_VERSION)
        return hnk__fail(error, HNK_ERROR_NEWER_FORMAT, 0, "%s has format %u", path, judgement.format_version);

    bool sound = status == HNK_OK && report.sound && judgement.bad_rows == 0 && judgement.names == 0 &&
                 (judgement.has_store_row || report.rows == 0);
    if (sound && !(trust == HNK_TRUST_CRASHED && store->options.damage_policy == HNK_DAMAGE_DISCARD))
        return open_environment(store, error);
    if (store->options.damage_policy == HNK_DAMAGE_REFUSE)
        return hnk__fail(error, HNK_ERROR_DAMAGED_STORE, 0, "%s (%s)", path,
                         report.sound ? "rows fail their digests or are missing" : report.fault);
    return store->options.damage_policy == HNK_DAMAGE_DISCARD ? discard(store, error) : salvage(store, error);
}

/* Putting in order, once LMDB has the file ------------------------------------------------------------------------- */

hnk_status hnk__blob_find(hnk__txn *txn, hnk_bucket *bucket, hnk__blob_name name)
{
    hnk__key key;
    hnk_bytes row;
    hnk__record record;
    hnk_status status;

    if (!hnk__cell_key(&bucket->file, bucket->id, name.slot, &key))
        return HNK_NOT_FOUND;
    if ((status = hnk__row_get(txn, &key, &row)) != HNK_OK)
        return status;
    bool names = hnk__record_parse(&record, (hnk_bytes){ key.bytes, key.size }, row) &&
                 (record.header.flags & HNK_RECORD_BLOB) != 0 && record.header.generation == name.generation &&
                 record.header.slot == name.slot;
    return names ? HNK_OK : HNK_NOT_FOUND;
}

/* A write's look at the bucket makes its cells and counts anew if a writer died over them; after a crash of the system
 * or a salvage nothing tells what they are worth. Files that no record names go: nobody else has the store open. */
static hnk_status put_in_order(hnk_store *store, hnk_bucket *bucket, bool anew, const hnk__blob_list *blobs)
{
    hnk__touched *in;
    hnk__write write;
    hnk_status status;
    size_t count;
    const hnk__blob_name *names = hnk__blob_list_of(blobs, bucket->id, &count);

    if ((status = hnk__write_open(store, &write, NULL)) != HNK_OK)
        return status;
    status = hnk__write_touch(&write, bucket, &in);
    if (status == HNK_OK && anew && !in->repaired)
        status = hnk__bucket_repair(&write, in);
    for (size_t i = 0; i < count && status == HNK_OK; i++)
        if ((status = hnk__blob_find(write.txn, bucket, names[i])) == HNK_NOT_FOUND)
            status = hnk__write_note_dead(&write, names[i]);
    if (status == HNK_OK)
        status = hnk__evict_for(&write, in, 0, 0, UINT32_MAX);
    return hnk__write_close(&write, status, NULL);
}

/* Files of buckets that are not there. */
static hnk_status remove_foreign(hnk_store *store, const hnk__blob_list *blobs)
{
    hnk__txn *txn = NULL;
    hnk_status status;

    if (blobs->count == 0)
        return HNK_OK;
    if ((status = hnk__read_begin(store->environment, &txn)) != HNK_OK)
        return status;
    for (size_t i = 0; i < blobs->count; i++) {
        hnk__bucket_row row;
        if (hnk__bucket_row_get(txn, blobs->names[i].bucket_id, &row) == HNK_NOT_FOUND)
            hnk__blob_remove(store, blobs->names[i]);
    }
    hnk__read_end(&txn);
    return HNK_OK;
}

hnk_status hnk__recover_buckets(hnk_store *store, hnk__trust trust, hnk_error *error)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_bucket_name name;
    hnk__blob_list blobs;
    hnk_status status;

    if (trust == HNK_TRUST_SHARED || trust == HNK_TRUST_CLEAN)
        return HNK_OK;
    options.fields = HNK_FIELD_MUST_EXIST;
    if ((status = hnk__blob_list_make(&blobs, store, true)) != HNK_OK)
        return hnk__fail(error, status, errno, "reading %s/blobs", store->path);
    for (status = hnk_store_next_bucket(store, NULL, &name); status == HNK_OK;
         status = hnk_store_next_bucket(store, &name, &name)) {
        hnk_bucket *bucket = NULL;
        if ((status = hnk_bucket_open(store, (hnk_bytes){ name.bytes, name.size }, &options, &bucket, NULL)) != HNK_OK)
            break;
        status = put_in_order(store, bucket, trust == HNK_TRUST_CRASHED || store->salvaged, &blobs);
        hnk_bucket_close(bucket);
        if (status != HNK_OK)
            break;
    }
    if (status == HNK_NOT_FOUND)
        status = remove_foreign(store, &blobs);
    hnk__blob_list_free(&blobs);
    return status == HNK_OK ? HNK_OK : hnk__fail(error, status, 0, "putting %s in order", store->path);
}
