/* write.c: one write transaction, from taking the turn to what follows the commit; and the writes that callers ask
 * for. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The transaction -------------------------------------------------------------------------------------------------- */

/* Makes room for one more element. */
static bool room_for_one(void **array, size_t count, size_t *room, size_t element)
{
    if (count < *room)
        return true;
    size_t larger = *room == 0 ? 16 : *room * 2;
    void *moved = realloc(*array, larger * element);
    if (moved == NULL)
        return false;
    *array = moved;
    *room = larger;
    return true;
}

static hnk_status note_dead(hnk__write *write, hnk__blob_name name)
{
    if (!room_for_one((void **)&write->dead, write->dead_count, &write->dead_room, sizeof name))
        return HNK_ERROR_MEMORY;
    write->dead[write->dead_count++] = name;
    return HNK_OK;
}

static hnk_status note_placed(hnk__write *write, hnk__blob_name name)
{
    if (!room_for_one((void **)&write->placed, write->placed_count, &write->placed_room, sizeof name))
        return HNK_ERROR_MEMORY;
    write->placed[write->placed_count++] = name;
    return HNK_OK;
}

/* Whether someone has deleted the data file under us: writes would go nowhere. */
static bool directory_is_gone(const hnk_store *store)
{
    struct stat stat;
    return fstat(hnk__environment_file(store->environment), &stat) == 0 && stat.st_nlink == 0;
}

/* Removes the records that reads found damaged, unless they have been replaced meanwhile. */
static hnk_status remove_doomed(hnk__write *write)
{
    hnk_store *store = write->store;
    hnk__doomed doomed[HNK_DOOMED_MAX];
    hnk_status status = HNK_OK;

    pthread_mutex_lock(&store->dooming);
    unsigned count = atomic_load_explicit(&store->doomed_count, memory_order_relaxed);
    memcpy(doomed, store->doomed, count * sizeof *doomed);
    pthread_mutex_unlock(&store->dooming);
    write->doomed_count = count;

    for (unsigned i = 0; i < count && status == HNK_OK; i++) {
        hnk_bytes row;
        hnk__record record;
        hnk__touched *in;
        hnk_bucket *bucket = NULL;
        if ((bucket = hnk__bucket_find_open(store, hnk__key_bucket_id(doomed[i].key.bytes))) == NULL)
            continue;
        bool touched = hnk__write_touch(write, bucket, &in) == HNK_OK;
        if (!touched || in->retained)
            hnk_bucket_close(bucket); /* one reference is enough */
        else
            in->retained = true;
        if (!touched)
            continue;
        if (doomed[i].key.bytes[0] == HNK_TABLE_BUCKET) { /* its tables disagree */
            if (!in->dropped && (status = hnk__bucket_repair(write, in)) == HNK_OK)
                status = hnk__evict_for(write, in, 0, 0, UINT32_MAX);
            continue;
        }
        if (hnk__row_get(write->txn, &doomed[i].key, &row) != HNK_OK)
            continue;
        if (hnk__record_parse(&record, (hnk_bytes){ doomed[i].key.bytes, doomed[i].key.size }, row) &&
            record.header.generation != doomed[i].generation)
            continue;
        bool repaired = !hnk__record_parse(&record, (hnk_bytes){ doomed[i].key.bytes, doomed[i].key.size }, row) ||
                        !hnk__record_header_holds(&record);
        status = hnk__entry_remove(write, in, &doomed[i].key);
        if (!repaired) /* a repair counts what it drops */
            in->row.corruptions++;
    }
    return status;
}

/* Forgets what remove_doomed() saw to; what was doomed since stays. */
static void forget_doomed(hnk_store *store, unsigned count)
{
    pthread_mutex_lock(&store->dooming);
    unsigned now = atomic_load_explicit(&store->doomed_count, memory_order_relaxed);
    unsigned left = now > count ? now - count : 0;
    memmove(store->doomed, store->doomed + count, left * sizeof *store->doomed);
    atomic_store_explicit(&store->doomed_count, left, memory_order_relaxed);
    pthread_mutex_unlock(&store->dooming);
}

hnk_status hnk__write_open(hnk_store *store, hnk__write *out, hnk_error *error)
{
    hnk_status status;

    if ((status = hnk__store_check(store)) != HNK_OK)
        return hnk__fail(error, status, 0, "writing");
    *out = (hnk__write){ .store = store };
    pthread_mutex_lock(&store->writing);
    if (directory_is_gone(store))
        status = HNK_ERROR_DIRECTORY_GONE;
    else
        status = hnk__write_begin(store->environment, &out->txn);
    if (status != HNK_OK) {
        pthread_mutex_unlock(&store->writing);
        return hnk__fail(error, status, 0, "%s", store->path);
    }
    out->now_ms = hnk__now_ms();
    hnk__trim(out);
    return HNK_OK;
}

struct orphans {
    hnk__write *write;
    hnk_status status;
};

static bool note_orphan(void *context, hnk__blob_name name, uint64_t size)
{
    struct orphans *orphans = context;
    if (orphans->status == HNK_OK && !hnk__blob_is_named(orphans->write->txn, name, size))
        orphans->status = note_dead(orphans->write, name);
    return true;
}

/* After a repair that dropped records: the files that no record names now go after the commit. */
static hnk_status note_orphans(hnk__write *write)
{
    struct orphans orphans = { write, HNK_OK };
    hnk_status status = hnk__blob_sweep(write->store->directory, note_orphan, &orphans, false);
    return status != HNK_OK ? status : orphans.status;
}

static void after_commit(hnk__write *write)
{
    hnk_store *store = write->store;
    for (size_t i = 0; i < write->dead_count; i++)
        hnk__blob_remove(store->directory, write->dead[i]);
    for (hnk__touched *touched = write->touched; touched != NULL; touched = touched->next)
        hnk__bucket_saw(touched->bucket, &touched->row);
}

static void after_abort(hnk__write *write)
{
    for (size_t i = 0; i < write->placed_count; i++)
        hnk__blob_remove(write->store->directory, write->placed[i]);
    for (size_t i = write->zeroed_count; i > 0; i--) {
        hnk__zeroed *zeroed = &write->zeroed[i - 1];
        if (hnk__access_read(zeroed->access, zeroed->slot) == 0)
            hnk__access_stamp(zeroed->access, zeroed->slot, zeroed->stamp);
    }
}

hnk_status hnk__write_close(hnk__write *write, hnk_status status, hnk_error *error)
{
    hnk_store *store = write->store;

    if (status == HNK_OK && atomic_load_explicit(&store->doomed_count, memory_order_relaxed) > 0)
        status = remove_doomed(write);
    if (status == HNK_OK && write->lost_blobs)
        status = note_orphans(write);
    for (hnk__touched *touched = write->touched; touched != NULL && status == HNK_OK; touched = touched->next)
        if (!touched->dropped)
            status = hnk__bucket_row_put(write->txn, touched->bucket, &touched->row);
    if (status == HNK_OK) {
        atomic_store_explicit(&store->dirty, true, memory_order_relaxed);
        status = hnk__write_commit(&write->txn);
    }
    hnk__write_abort(&write->txn);
    if (status == HNK_OK) {
        after_commit(write);
        forget_doomed(store, write->doomed_count);
    } else {
        after_abort(write);
    }
    pthread_mutex_unlock(&store->writing);

    while (write->touched != NULL) {
        hnk__touched *next = write->touched->next;
        if (write->touched->retained)
            hnk_bucket_close(write->touched->bucket);
        else
            hnk__bucket_share_counts(write->touched->bucket);
        free(write->touched);
        write->touched = next;
    }
    free(write->dead);
    free(write->placed);
    free(write->zeroed);
    if (status == HNK_OK && store->options.sync_mode == HNK_SYNC_COMMIT)
        status = hnk_store_sync(store, error);
    if (status == HNK_ERROR_DAMAGED_STORE)
        atomic_store_explicit(&store->suspect, true, memory_order_relaxed);
    return status == HNK_OK ? HNK_OK : hnk__fail(error, status, 0, "writing to %s", store->path);
}

hnk_status hnk__write_touch(hnk__write *write, hnk_bucket *bucket, hnk__touched **out)
{
    hnk_status status;

    for (hnk__touched *touched = write->touched; touched != NULL; touched = touched->next)
        if (touched->bucket == bucket) {
            *out = touched;
            return HNK_OK;
        }
    hnk__touched *touched = calloc(1, sizeof *touched);
    if (touched == NULL)
        return HNK_ERROR_MEMORY;
    touched->bucket = bucket;
    status = hnk__bucket_row_get(write->txn, bucket->id, &touched->row);
    if (status == HNK_ERROR_DAMAGED_STORE && write->store->options.damage_policy != HNK_DAMAGE_REFUSE) {
        hnk__bucket_row_begin(&touched->row, write->now_ms); /* its settings are lost, its entries are not */
        touched->row.corruptions = 1;
        status = hnk__bucket_repair(write, touched);
    }
    if (status != HNK_OK) {
        free(touched);
        return status;
    }
    touched->next = write->touched;
    write->touched = touched;
    *out = touched;
    return HNK_OK;
}

/* Slots ------------------------------------------------------------------------------------------------------------ */

hnk_status hnk__slot_zero(hnk__write *write, hnk__touched *in, uint32_t slot)
{
    if (!room_for_one((void **)&write->zeroed, write->zeroed_count, &write->zeroed_room, sizeof *write->zeroed))
        return HNK_ERROR_MEMORY;
    uint64_t stamp = hnk__access_read(&in->bucket->access, slot);
    write->zeroed[write->zeroed_count++] = (hnk__zeroed){ &in->bucket->access, slot, stamp };
    hnk__access_stamp(&in->bucket->access, slot, 0);
    return HNK_OK;
}

static hnk_status slot_free(hnk__write *write, hnk__touched *in, uint32_t slot)
{
    uint8_t row[5] = { HNK_SLOT_FREE };
    hnk__key key;
    hnk_status status;

    memcpy(row + 1, &in->row.free_slot, sizeof in->row.free_slot);
    hnk__key_slot(&key, in->bucket->id, slot);
    if ((status = hnk__row_put(write->txn, &key, (hnk_bytes){ row, sizeof row })) != HNK_OK)
        return status;
    in->row.free_slot = slot + 1;

    return hnk__slot_zero(write, in, slot);
}

static hnk_status slot_take(hnk__write *write, hnk__touched *in, const hnk__key *record_key, uint32_t *out_slot)
{
    uint8_t row[1 + HNK_KEY_STORED_MAX_BYTES] = { HNK_SLOT_USED };
    size_t stored = record_key->size - HNK_PREFIX_BYTES;
    uint32_t slot;
    hnk__key key;
    hnk_status status;

    if (in->row.free_slot != 0) {
        hnk_bytes free_row;
        slot = in->row.free_slot - 1;
        hnk__key_slot(&key, in->bucket->id, slot);
        if ((status = hnk__row_get(write->txn, &key, &free_row)) != HNK_OK)
            return status == HNK_NOT_FOUND ? HNK_DAMAGED : status;
        const uint8_t *bytes = free_row.data;
        if (free_row.size != 5 || bytes[0] != HNK_SLOT_FREE || slot >= in->row.slots)
            return HNK_DAMAGED;
        memcpy(&in->row.free_slot, bytes + 1, sizeof in->row.free_slot);
    } else {
        slot = in->row.slots;
        if (slot >= HNK_SLOTS_MAX)
            return HNK_ERROR_DISK_FULL;
        if (!hnk__access_grow(&in->bucket->access, slot + 1))
            return HNK_ERROR_DISK_FULL;
        in->row.slots++;
        hnk__key_slot(&key, in->bucket->id, slot);
    }
    memcpy(row + 1, record_key->bytes + HNK_PREFIX_BYTES, stored);
    *out_slot = slot;
    return hnk__row_put(write->txn, &key, (hnk_bytes){ row, 1 + stored });
}

/* Entries ---------------------------------------------------------------------------------------------------------- */

static hnk__blob_name blob_of(const hnk__header *header)
{
    return (hnk__blob_name){ header->bucket_id, header->slot, header->generation };
}

/* Finds the record of `key` as writers need it: proven to the header, with its charge. HNK_DAMAGED if it can't be
 * believed. */
hnk_status hnk__entry_find(
    hnk__write *write, hnk__touched *in, const hnk__key *key, hnk__record *out, uint64_t *out_charge)
{
    hnk_bytes row;
    hnk_status status;

    if ((status = hnk__row_get(write->txn, key, &row)) != HNK_OK)
        return status;
    if (!hnk__record_parse(out, (hnk_bytes){ key->bytes, key->size }, row) || !hnk__record_header_holds(out) ||
        out->header.slot >= in->row.slots)
        return HNK_DAMAGED;
    bool blob = (out->header.flags & HNK_RECORD_BLOB) != 0;
    *out_charge = hnk__record_charge(hnk__environment_page_bytes(write->store->environment), key->size, row.size,
                                     blob ? hnk__record_blob_charge(out->header.value_bytes) : 0);
    return HNK_OK;
}

/* Takes an entry's numbers off the bucket's, and notes its blob for unlinking. */
static hnk_status discount(hnk__write *write, hnk__touched *in, const hnk__header *header, uint64_t charge)
{
    assert(in->row.entries > 0 && in->row.charged_bytes >= charge && in->row.payload_bytes >= header->value_bytes);
    in->row.entries--;
    in->row.charged_bytes -= charge;
    in->row.payload_bytes -= header->value_bytes;
    if ((header->flags & HNK_RECORD_BLOB) == 0)
        return HNK_OK;
    in->row.blob_bytes -= hnk__record_blob_charge(header->value_bytes);
    return note_dead(write, blob_of(header));
}

hnk_status hnk__entry_remove(hnk__write *write, hnk__touched *in, const hnk__key *key)
{
    hnk__record record;
    uint64_t charge;
    hnk_status status = hnk__entry_find(write, in, key, &record, &charge);

    if (status == HNK_DAMAGED) /* its numbers can't be taken off: all are made anew without it */
        return hnk__bucket_repair(write, in);
    if (status != HNK_OK)
        return status;
    hnk__header header = record.header; /* the record goes with its row */
    if ((status = hnk__row_delete(write->txn, key)) != HNK_OK ||
        (status = discount(write, in, &header, charge)) != HNK_OK)
        return status;
    return slot_free(write, in, header.slot);
}

/* Deletes all rows of a table that belong to the bucket. */
hnk_status hnk__table_clear(hnk__write *write, hnk__touched *in, uint8_t table)
{
    hnk__cursor *cursor = NULL;
    hnk_bytes name, row;
    hnk__key first;
    hnk_status status;

    hnk__key_row(&first, table, in->bucket->id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &row);
    while (status == HNK_OK && hnk__key_is(name, table, in->bucket->id)) {
        hnk__record record;
        if (table == HNK_TABLE_RECORD && in->row.blob_bytes > 0 && hnk__record_parse(&record, name, row) &&
            (record.header.flags & HNK_RECORD_BLOB) != 0 &&
            (status = note_dead(write, blob_of(&record.header))) != HNK_OK)
            break;
        status = hnk__cursor_delete(cursor, &name, &row);
    }
    hnk__cursor_close(&cursor);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

hnk_status hnk__entries_clear(hnk__write *write, hnk__touched *in)
{
    hnk_status status;

    if (in->row.slots == 0 && in->row.entries == 0)
        return HNK_OK;
    if ((status = hnk__table_clear(write, in, HNK_TABLE_RECORD)) != HNK_OK ||
        (status = hnk__table_clear(write, in, HNK_TABLE_SLOT)) != HNK_OK)
        return status;
    in->row.entries = in->row.charged_bytes = in->row.payload_bytes = in->row.blob_bytes = 0;
    in->row.slots = in->row.free_slot = 0; /* access times past `slots` are never looked at */
    return HNK_OK;
}

/* When an entry set now with the operation's lifetime expires. */
static uint64_t expiry_of(const hnk__write *write, const hnk__touched *in, int64_t lifetime_ms)
{
    uint64_t lifetime;
    if (lifetime_ms == HNK_LIFETIME_DEFAULT)
        lifetime = in->row.lifetime_ms;
    else if (lifetime_ms == HNK_LIFETIME_FOREVER)
        lifetime = 0;
    else if (lifetime_ms < 0)
        return write->now_ms > 1 ? write->now_ms - 1 : 1;
    else
        lifetime = (uint64_t)lifetime_ms;
    return lifetime == 0 ? 0 : write->now_ms + lifetime;
}

/* Writes the record of an operation whose room has been made. */
static hnk_status put_record(
    hnk__write *write, hnk__touched *in, const hnk__key *key, const hnk_operation *operation, hnk__blob_draft *draft,
    uint32_t slot)
{
    bool is_long = operation->key.size > HNK_KEY_RAW_MAX_BYTES, blob = draft != NULL;
    hnk_bytes kept = is_long ? operation->key : (hnk_bytes){ NULL, 0 };
    uint64_t value_bytes = blob ? draft->size : operation->value.size;
    hnk__header header = {
        .version = HNK_RECORD_VERSION,
        .flags = (uint8_t)((is_long ? HNK_RECORD_LONG_KEY : 0) | (blob ? HNK_RECORD_BLOB : 0) |
                           ((operation->flags & HNK_SET_SLIDING) != 0 ? HNK_RECORD_SLIDING : 0)),
        .bucket_id = in->bucket->id,
        .slot = slot,
        .user_flags = operation->user_flags,
        .key_bytes = (uint32_t)kept.size,
        .metadata_bytes = (uint32_t)operation->metadata.size,
        .value_bytes = value_bytes,
        .generation = ++in->row.generation,
        .written_at_ms = write->now_ms,
        .expires_at_ms = expiry_of(write, in, operation->lifetime_ms),
        .value_digest = blob ? hnk__digest_end(draft->digest)
                             : hnk__digest(operation->value.data, operation->value.size, 0),
    };
    hnk_status status;
    void *out;

    header.header_digest = hnk__record_header_digest(&header, operation->key, operation->metadata);
    if (blob && ((status = note_placed(write, blob_of(&header))) != HNK_OK ||
                 (status = hnk__blob_place(draft, write->store->directory, blob_of(&header))) != HNK_OK))
        return status;
    size_t size = hnk__record_size(operation->key.size, operation->metadata.size, value_bytes, blob);
    if ((status = hnk__row_reserve(write->txn, key, size, &out)) != HNK_OK)
        return status;
    hnk__record_write(out, &header, kept, operation->metadata, blob ? (hnk_bytes){ NULL, 0 } : operation->value);
    hnk__access_stamp(&in->bucket->access, slot, hnk__access_now(in->row.slots));
    return HNK_OK;
}

hnk_status hnk__entry_set(
    hnk__write *write, hnk__touched *in, const hnk_operation *operation, hnk__blob_draft *draft,
    hnk_status *out_refusal)
{
    hnk__key key;
    hnk__record old;
    uint64_t old_charge = 0;
    hnk_status status;

    if ((status = hnk__key_record(&key, in->bucket->id, operation->key)) != HNK_OK)
        return status;
    uint64_t value_bytes = draft != NULL ? draft->size : operation->value.size;
    uint64_t blob_charge = draft != NULL ? hnk__record_blob_charge(value_bytes) : 0;
    size_t size = hnk__record_size(operation->key.size, operation->metadata.size, value_bytes, draft != NULL);
    uint64_t charge =
        hnk__record_charge(hnk__environment_page_bytes(write->store->environment), key.size, size, blob_charge);

    bool replaces = false, again;
    do {
        /* A record that can't be believed goes; then its key is a new one. */
        if ((status = hnk__entry_find(write, in, &key, &old, &old_charge)) == HNK_DAMAGED &&
            (status = hnk__bucket_repair(write, in)) == HNK_OK)
            status = HNK_NOT_FOUND;
        if (status != HNK_OK && status != HNK_NOT_FOUND)
            return status;
        replaces = status == HNK_OK;
        if (charge > in->row.capacity_bytes) {
            in->row.refused++;
            *out_refusal = HNK_ERROR_VALUE_TOO_LARGE;
            return replaces ? hnk__entry_remove(write, in, &key) : HNK_OK;
        }
        uint64_t more = !replaces ? charge : charge > old_charge ? charge - old_charge : 0;
        uint64_t entries = in->row.entries;
        if ((status = hnk__evict_for(write, in, more, !replaces, replaces ? old.header.slot : UINT32_MAX)) != HNK_OK)
            return status;
        again = entries != in->row.entries; /* rows have moved; a repair may even have dropped ours */
    } while (again);

    uint32_t slot;
    if (replaces) {
        slot = old.header.slot;
        status = discount(write, in, &old.header, old_charge);
    } else if ((status = slot_take(write, in, &key, &slot)) == HNK_DAMAGED &&
               (status = hnk__bucket_repair(write, in)) == HNK_OK) {
        status = slot_take(write, in, &key, &slot);
    }
    if (status != HNK_OK || (status = put_record(write, in, &key, operation, draft, slot)) != HNK_OK)
        return status;
    in->row.entries++;
    in->row.charged_bytes += charge;
    write->store->trim_bytes += charge;
    in->row.payload_bytes += value_bytes;
    in->row.blob_bytes += blob_charge;
    in->row.writes++;
    return HNK_OK;
}
