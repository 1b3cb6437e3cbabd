/* write.c: one write transaction, from taking the turn to what follows the commit. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

hnk_status hnk__write_note_dead(hnk__write *write, hnk__blob_name name)
{
    if (!room_for_one((void **)&write->dead, write->dead_count, &write->dead_room, sizeof name))
        return HNK_ERROR_MEMORY;
    write->dead[write->dead_count++] = name;
    return HNK_OK;
}

hnk_status hnk__write_note_placed(hnk__write *write, hnk__blob_name name)
{
    if (!room_for_one((void **)&write->placed, write->placed_count, &write->placed_room, sizeof name))
        return HNK_ERROR_MEMORY;
    write->placed[write->placed_count++] = name;
    return HNK_OK;
}

hnk_status hnk__write_note_moved(hnk__write *write, const hnk__moved *moved)
{
    if (!room_for_one((void **)&write->moved, write->moved_count, &write->moved_room, sizeof *moved))
        return HNK_ERROR_MEMORY;
    write->moved[write->moved_count++] = *moved;
    return HNK_OK;
}

/* Whether someone has deleted the data file under us: writes would go nowhere. Asked now and then. */
static bool directory_is_gone(hnk_store *store, uint64_t now_ms)
{
    struct stat stat;
    if (++store->gone_writes < HNK_GONE_WRITES && now_ms - store->gone_at_ms < HNK_GONE_MS)
        return false;
    store->gone_writes = 0;
    store->gone_at_ms = now_ms;
    bool gone = fstat(hnk__environment_file(store->environment), &stat) == 0 && stat.st_nlink == 0;
    if (gone)
        store->gone_writes = HNK_GONE_WRITES; /* and so it stays */
    return gone;
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
            in->tally.corruptions++;
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

/* Both locks, in their order. */
static hnk_status take_turn(hnk_store *store)
{
    pthread_mutex_lock(&store->writing);
    hnk_status status = hnk__turn_take(&store->turn);
    if (status != HNK_OK)
        pthread_mutex_unlock(&store->writing);
    return status;
}

static void give_turn(hnk_store *store)
{
    hnk__turn_give(&store->turn);
    pthread_mutex_unlock(&store->writing);
}

hnk_status hnk__store_hold_writers(hnk_store *store)
{
    hnk_status status = hnk__store_check(store);
    return status != HNK_OK ? status : take_turn(store);
}

void hnk__store_let_writers(hnk_store *store)
{
    give_turn(store);
}

hnk_status hnk__write_open(hnk_store *store, hnk__write *out, hnk_error *error)
{
    hnk_status status;

    if ((status = hnk__store_check(store)) != HNK_OK)
        return hnk__fail(error, status, 0, "writing");
    *out = (hnk__write){ .store = store };
    if ((status = take_turn(store)) != HNK_OK)
        return hnk__fail(error, status, 0, "%s", store->path);
    out->now_ms = hnk__now_ms();
    if (directory_is_gone(store, out->now_ms))
        status = HNK_ERROR_DIRECTORY_GONE;
    else
        status = hnk__write_begin(store->environment, &out->txn);
    if (status != HNK_OK) {
        give_turn(store);
        return hnk__fail(error, status, 0, "%s", store->path);
    }
    hnk__trim(out);
    return HNK_OK;
}

/* After a repair that dropped records: the files that no record names now go after the commit. */
static hnk_status note_orphans(hnk__write *write, const hnk__touched *in)
{
    hnk__blob_list list;
    size_t count;
    hnk_status status = hnk__blob_list_make(&list, write->store, false);
    const hnk__blob_name *names = hnk__blob_list_of(&list, in->bucket->id, &count);

    for (size_t i = 0; i < count && status == HNK_OK; i++)
        if ((status = hnk__blob_find(write->txn, in->bucket, names[i])) == HNK_NOT_FOUND)
            status = hnk__write_note_dead(write, names[i]);
    hnk__blob_list_free(&list);
    return status;
}

static void remove_blobs(hnk_store *store, const hnk__blob_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hnk__blob_remove(store, names[i]);
}

static void after_commit(hnk__write *write)
{
    hnk_store *store = write->store;
    uint64_t txn = hnk__environment_last_txn(store->environment); /* not ours if nothing was written */
    hnk__moved_commit(write);
    for (hnk__touched *touched = write->touched; touched != NULL; touched = touched->next) {
        hnk__slots *file = &touched->bucket->file;
        touched->tally.txn = txn;
        hnk__slots_tally_put(file, &touched->tally);
        atomic_store_explicit(&file->header->turn, 0, memory_order_release);
        hnk__bucket_saw(touched->bucket, &touched->row, touched->tally.slots);
    }
    remove_blobs(store, write->dead, write->dead_count);
}

static void after_abort(hnk__write *write)
{
    hnk__moved_abort(write);
    for (hnk__touched *touched = write->touched; touched != NULL; touched = touched->next) {
        touched->bucket->oldest.count = 0; /* those that were to go are still there */
        if (!touched->spoilt)
            atomic_store_explicit(&touched->bucket->file.header->turn, 0, memory_order_release);
    }
    remove_blobs(write->store, write->placed, write->placed_count);
}

/* What is written last: rows whose settings have changed, blobs that a repair has orphaned. */
static hnk_status finish(hnk__write *write)
{
    hnk_store *store = write->store;
    hnk_status status = HNK_OK;

    if (atomic_load_explicit(&store->doomed_count, memory_order_relaxed) > 0)
        status = remove_doomed(write);
    for (hnk__touched *touched = write->touched; touched != NULL && status == HNK_OK; touched = touched->next) {
        if (touched->lost_blobs)
            status = note_orphans(write, touched);
        if (status == HNK_OK && touched->row_changed && !touched->dropped)
            status = hnk__bucket_row_put(write->txn, touched->bucket, &touched->row);
    }
    return status;
}

static void free_write(hnk__write *write)
{
    while (write->touched != NULL) {
        hnk__touched *next = write->touched->next;
        if (write->touched->retained)
            hnk_bucket_close(write->touched->bucket);
        else
            hnk__bucket_share_counts(write->touched->bucket);
        if (write->touched != &write->first)
            free(write->touched);
        write->touched = next;
    }
    free(write->dead);
    free(write->placed);
    free(write->moved);
}

hnk_status hnk__write_close(hnk__write *write, hnk_status status, hnk_error *error)
{
    hnk_store *store = write->store;

    if (status == HNK_OK)
        status = finish(write);
    if (status == HNK_OK) {
        atomic_store_explicit(&store->dirty, true, memory_order_relaxed);
        if ((status = hnk__write_commit(&write->txn)) == HNK_OK) {
            after_commit(write);
            forget_doomed(store, write->doomed_count);
        }
    }
    if (status != HNK_OK) {
        hnk__write_abort(&write->txn);
        after_abort(write);
    }
    give_turn(store);
    hnk__notices_end(write, status == HNK_OK);
    free_write(write);
    if (status == HNK_OK && store->options.sync_mode == HNK_SYNC_COMMIT)
        status = hnk_store_sync(store, error);
    if (status == HNK_ERROR_DAMAGED_STORE)
        atomic_store_explicit(&store->suspect, true, memory_order_relaxed);
    return status == HNK_OK ? HNK_OK : hnk__fail(error, status, 0, "writing to %s", store->path);
}

/* Reads the bucket's row, and its counts, which are made anew where they can't be believed. */
static hnk_status take_in_hand(hnk__write *write, hnk__touched *in)
{
    hnk__slots *file = &in->bucket->file;
    uint64_t incarnation = atomic_load_explicit(&file->header->incarnation, memory_order_relaxed);
    hnk_status status = hnk__bucket_row_get(write->txn, in->bucket->id, &in->row);
    bool row_is_lost = status == HNK_ERROR_DAMAGED_STORE && write->store->options.damage_policy != HNK_DAMAGE_REFUSE;

    if (status != HNK_OK && !row_is_lost)
        return status;
    if (row_is_lost) { /* its settings are, its entries are not */
        hnk__bucket_row_begin(&in->row, write->now_ms);
        in->row.incarnation = incarnation;
    }
    if (incarnation != in->row.incarnation && hnk__slots_are_gone(file))
        return HNK_ERROR_DIRECTORY_GONE;
    bool current = hnk__bucket_is_current(in->bucket, &in->row, hnk__txn_number(write->txn) - 1, &in->tally) &&
                   incarnation != 0 && !row_is_lost;
    if (!current) {
        hnk__tally last = { 0 };
        bool known = hnk__slots_tally_left(file, &last) && incarnation == in->row.incarnation;
        in->tally = known ? last : (hnk__tally){ .sequence = last.sequence }; /* later than any that stands there */
    }
    in->tally.corruptions += row_is_lost;
    atomic_store_explicit(&file->header->boot, write->store->boot, memory_order_relaxed);
    atomic_store_explicit(&file->header->turn, 1, memory_order_release);
    return current ? HNK_OK : hnk__bucket_repair(write, in);
}

hnk_status hnk__write_touch(hnk__write *write, hnk_bucket *bucket, hnk__touched **out)
{
    hnk_status status;

    for (hnk__touched *touched = write->touched; touched != NULL; touched = touched->next)
        if (touched->bucket == bucket) {
            *out = touched;
            return HNK_OK;
        }
    hnk__touched *touched = write->touched == NULL ? &write->first : malloc(sizeof *touched);
    if (touched == NULL)
        return HNK_ERROR_MEMORY;
    *touched = (hnk__touched){ .bucket = bucket };
    if ((status = take_in_hand(write, touched)) != HNK_OK) {
        hnk__moved_forget(write, touched);
        if (touched != &write->first)
            free(touched);
        return status;
    }
    touched->next = write->touched;
    write->touched = touched;
    *out = touched;
    return HNK_OK;
}
