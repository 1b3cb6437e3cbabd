/* trim.c: keeps what the store really takes on the disk near the sum of its capacities.
 *
 * The charge of an entry assumes leaf pages three quarters full. Under random replacement they fill less (about 56 %
 * was measured), and freed pages keep their blocks until they are used again. So now and then a writer looks at the
 * pages in use and at the file's blocks: too many pages, and entries count a little more than their charge until enough
 * have gone; too many blocks, and free pages become holes, long runs first. Both in small steps, so that no single
 * write waits for long. */
#include "internal.h"

#include <string.h>
#include <sys/stat.h>

struct totals {
    uint64_t capacity_bytes;
    uint64_t file_bytes; /* blobs and cells */
    bool unlimited;
};

static void add_files(struct totals *totals, const hnk__tally *tally)
{
    totals->file_bytes += tally->blob_bytes + (uint64_t)tally->slots * HNK_SLOT_BYTES;
}

/* What the files of a bucket take. Of one that nobody here has open it is asked now and then: the number changes when
 * other processes write to it, and it costs the opening of a file. */
static void count_files(hnk_store *store, uint32_t id, bool asks, struct totals *unopened, struct totals *out)
{
    hnk__tally tally;
    bool opened = false, whole = false;

    pthread_mutex_lock(&store->listing);
    for (hnk_bucket *bucket = store->buckets; bucket != NULL && !opened; bucket = bucket->next)
        if (bucket->id == id) {
            opened = true;
            whole = hnk__slots_tally_left(&bucket->file, &tally);
        }
    pthread_mutex_unlock(&store->listing);
    if (opened && whole)
        add_files(out, &tally);
    if (!opened && asks && hnk__slots_peek(store->directory, id, &tally))
        add_files(unopened, &tally);
}

/* Adds up all buckets. */
static hnk_status add_up(hnk_store *store, hnk__txn *txn, struct totals *out)
{
    bool asks = store->trim_looks++ % HNK_TRIM_ASK_LOOKS == 0;
    struct totals unopened = { 0 };
    hnk__cursor *cursor = NULL;
    hnk_bytes name, bytes;
    hnk__key first;
    hnk_status status;

    *out = (struct totals){ 0 };
    hnk__key_row(&first, HNK_TABLE_BUCKET, 0, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &bytes);
    while (status == HNK_OK && name.size == HNK_PREFIX_BYTES && *(const uint8_t *)name.data == HNK_TABLE_BUCKET) {
        hnk__bucket_row row;
        if (bytes.size >= sizeof row) {
            memcpy(&row, bytes.data, sizeof row);
            out->unlimited |= row.capacity_bytes > HNK_CAPACITY_UNLIMITED - out->capacity_bytes;
            out->capacity_bytes += row.capacity_bytes;
            count_files(store, hnk__key_bucket_id(name.data), asks, &unopened, out);
        }
        status = hnk__cursor_next(cursor, &name, &bytes);
    }
    hnk__cursor_close(&cursor);
    if (asks)
        store->trim_unopened_bytes = unopened.file_bytes;
    out->file_bytes += store->trim_unopened_bytes;
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

struct punching {
    int file;
    size_t page_bytes;
    uint64_t run_pages_min; /* shorter runs are left alone */
};

static hnk_status punch(void *context, uint64_t first_page, uint64_t pages)
{
    const struct punching *punching = context;
    if (pages < punching->run_pages_min)
        return HNK_OK;
    return hnk__punch(punching->file, first_page * punching->page_bytes, pages * punching->page_bytes)
               ? HNK_OK
               : HNK_ERROR_IO;
}

/* Gives back free pages that have not been given back before, a bounded number of them. Not synced first: should the
 * system crash before the next sync, an older meta page may name a hole, which the check of the next open finds. */
static void punch_some(hnk__write *write, uint64_t pages_max, uint64_t run_pages_min, uint64_t *after)
{
    struct punching punching = {
        hnk__environment_file(write->store->environment), hnk__environment_page_bytes(write->store->environment),
        run_pages_min
    };
    hnk_status status = hnk__free_pages(write->txn, after, pages_max, punch, &punching);
    (void)status; /* where holes can't be had, the file stays as it is */
}

/* One step towards the goal: up while too much is used, down again while there is room. */
static uint32_t adjusted(uint32_t swell, uint64_t used, uint64_t goal, uint64_t capacity)
{
    if (used > goal)
        return swell + HNK_SWELL_UP < HNK_SWELL_MAX ? swell + HNK_SWELL_UP : HNK_SWELL_MAX;
    if (used < goal - capacity / 32 && swell > HNK_SWELL_NONE)
        return swell - HNK_SWELL_NONE > HNK_SWELL_DOWN ? swell - HNK_SWELL_DOWN : HNK_SWELL_NONE;
    return swell;
}

/* A file that grows may do so because a killed process has left its snapshot in the table of readers, and so its pages
 * in use: nobody else would take it out as long as all others have the store open. */
static void look_for_dead_readers(hnk_store *store)
{
    hnk__environment_info info;
    if (hnk__environment_info_get(store->environment, &info) != HNK_OK)
        return;
    if (info.last_page > store->trim_last_page)
        hnk__readers_clear_dead(store->environment);
    store->trim_last_page = info.last_page;
}

void hnk__trim(hnk__write *write)
{
    hnk_store *store = write->store;
    struct totals totals;
    struct stat stat;
    uint64_t tree_pages;

    if (++store->trim_writes < HNK_TRIM_WRITES && store->trim_bytes < store->trim_due_bytes)
        return;
    /* Twice what was written meanwhile, so that holes are made faster than the file can grow. */
    uint64_t pages_max =
        HNK_TRIM_PAGES_MIN + 2 * store->trim_bytes / hnk__environment_page_bytes(store->environment);
    store->trim_writes = 0;
    store->trim_bytes = 0;
    look_for_dead_readers(store);
    if (add_up(store, write->txn, &totals) != HNK_OK || hnk__txn_tree_pages(write->txn, &tree_pages) != HNK_OK)
        return;
    if (totals.unlimited || totals.capacity_bytes == 0) {
        store->swell = HNK_SWELL_NONE;
        store->trim_due_bytes = UINT64_MAX;
        return;
    }
    uint64_t capacity = totals.capacity_bytes;
    uint64_t used = tree_pages * hnk__environment_page_bytes(store->environment) + totals.file_bytes;
    store->trim_due_bytes = capacity / 128;
    store->swell = adjusted(store->swell, used, capacity + capacity / 8 + HNK_TRIM_SLACK_BYTES, capacity);
    if (fstat(hnk__environment_file(store->environment), &stat) != 0)
        return;
    uint64_t held = (uint64_t)stat.st_blocks * HNK_STAT_BLOCK_BYTES + totals.file_bytes;
    if (held > capacity + capacity / 32 * 7 + HNK_TRIM_SLACK_BYTES)
        punch_some(write, pages_max, 1, &store->punched_all_txn);
    else if (held > capacity + capacity / 32 * 6 + HNK_TRIM_SLACK_BYTES)
        punch_some(write, pages_max, HNK_TRIM_RUN_PAGES_MIN, &store->punched_txn);
}
