/* verify.c: every invariant of docs/DISK_FORMAT.md, in one snapshot, beside readers and writers. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A bucket, and what it counted as of the snapshot. */
typedef struct subject {
    hnk_bucket *bucket;
    hnk__bucket_row row;
    hnk__tally tally;
} subject;

typedef struct verifier {
    hnk_store *store;
    hnk__txn *txn;         /* the snapshot of the bucket in hand */
    hnk_progress progress;
    void *context;
    uint64_t done, all;
    hnk_verification found;
} verifier;

/* Counts a fault and keeps the first one's words. */
static void fault(verifier *verifying, uint64_t *count, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void fault(verifier *verifying, uint64_t *count, const char *format, ...)
{
    (*count)++;
    if (verifying->found.first_fault[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verifying->found.first_fault, sizeof verifying->found.first_fault, format, arguments);
    va_end(arguments);
}

static bool go_on(verifier *verifying)
{
    enum { EVERY = 256 };
    return verifying->progress == NULL || verifying->done % EVERY != 0 ||
           verifying->progress(verifying->context, verifying->done, verifying->all) == 0;
}

/* Marks a damaged record for removal by the next write. */
static void doom(verifier *verifying, hnk_bytes row_key, uint64_t generation)
{
    hnk__key key = { .size = (uint16_t)row_key.size };
    memcpy(key.bytes, row_key.data, row_key.size);
    hnk__store_doom(verifying->store, &key, generation);
}

/* Marks a bucket whose cells and records disagree for repair by the next write. */
static void doom_bucket(verifier *verifying, uint32_t id)
{
    hnk__key key;
    hnk__key_row(&key, HNK_TABLE_BUCKET, id, (hnk_bytes){ NULL, 0 });
    hnk__store_doom(verifying->store, &key, 0);
}

/* Whether a record of our snapshot is still there now: a writer may have replaced it, and its file with it. */
static bool is_current(verifier *verifying, hnk_bytes row_key, uint64_t generation)
{
    hnk__key key = { .size = (uint16_t)row_key.size };
    hnk__record record;
    hnk__txn *now = NULL;
    hnk_bytes row;
    bool current = false;

    memcpy(key.bytes, row_key.data, row_key.size);
    if (hnk__read_begin(verifying->store->environment, &now) == HNK_OK)
        current = hnk__row_get(now, &key, &row) == HNK_OK && hnk__record_parse(&record, row_key, row) &&
                  record.header.generation == generation;
    hnk__read_end(&now);
    return current;
}

/* Whether a blob's bytes have the digest of its record; a fault if not. What the system refuses says nothing of
 * them. */
static hnk_status verify_blob(verifier *verifying, const hnk__record *record, hnk_bytes row_key)
{
    const hnk__header *header = &record->header;
    hnk__blob_name name = { header->bucket_id, header->slot, header->generation };
    hnk__digest_state *digest = NULL;
    char *buffer = NULL;
    hnk_status status;
    int file = -1;

    status = hnk__blob_open(verifying->store->directory, name, header->value_bytes, &file);
    if (status == HNK_DAMAGED) {
        if (is_current(verifying, row_key, header->generation)) {
            fault(verifying, &verifying->found.missing_blobs,
                  "the blob of slot %u of bucket %u is missing or of another length", (unsigned)header->slot,
                  (unsigned)header->bucket_id);
            doom(verifying, row_key, header->generation);
        }
        return HNK_OK;
    }
    if (status != HNK_OK)
        return status;
    status = HNK_ERROR_MEMORY;
    if ((digest = hnk__digest_begin()) != NULL && (buffer = malloc(HNK_WRITE_BUFFER_BYTES)) != NULL) {
        ssize_t got;
        uint64_t at = 0;
        while ((got = pread(file, buffer, HNK_WRITE_BUFFER_BYTES, (off_t)at)) > 0) {
            hnk__digest_add(digest, buffer, (size_t)got);
            at += (uint64_t)got;
        }
        verifying->found.bytes += at;
        status = got < 0 ? HNK_ERROR_IO : HNK_OK;
        if (status == HNK_OK && hnk__digest_end(digest) != header->value_digest) {
            fault(verifying, &verifying->found.damaged_records, "the blob of slot %u of bucket %u fails its digest",
                  (unsigned)header->slot, (unsigned)header->bucket_id);
            doom(verifying, row_key, header->generation);
        }
    }
    hnk__digest_free(digest);
    free(buffer);
    close(file);
    return status;
}

/* Whether the cell of a record's slot names it, looked at once, which a writer may disturb. */
static bool cell_names(const subject *of, const hnk__record *record, hnk_bytes row_key)
{
    hnk__key named;
    return hnk__cell_key(&of->bucket->file, of->bucket->id, record->header.slot, &named) &&
           named.size == row_key.size && memcmp(named.bytes, row_key.data, named.size) == 0;
}

/* The same beyond doubt: a cell may have changed hands since the snapshot, but not for a record that is still there. */
static hnk_status prove_cell(
    verifier *verifying, const subject *of, const hnk__record *record, hnk_bytes row_key, bool *out)
{
    hnk_status status;
    if ((*out = cell_names(of, record, row_key)))
        return HNK_OK;
    if ((status = hnk__store_hold_writers(verifying->store)) != HNK_OK)
        return status;
    *out = cell_names(of, record, row_key) || !is_current(verifying, row_key, record->header.generation);
    hnk__store_let_writers(verifying->store);
    return HNK_OK;
}

/* One record: its digests, and that its slot names it. */
static hnk_status verify_record(
    verifier *verifying, const subject *of, hnk_bytes name, hnk_bytes row, hnk__record *out, bool *out_holds)
{
    hnk_status status;
    bool names;

    *out_holds = hnk__record_parse(out, name, row) && hnk__record_header_holds(out);
    if (!*out_holds) {
        fault(verifying, &verifying->found.damaged_records, "a record of bucket %u fails its header digest",
              (unsigned)hnk__key_bucket_id(name.data));
        doom(verifying, name, out->header.generation);
        return HNK_OK;
    }
    if ((out->header.flags & HNK_RECORD_BLOB) != 0) {
        if ((status = verify_blob(verifying, out, name)) != HNK_OK)
            return status;
    } else {
        verifying->found.bytes += out->value.size;
        if (hnk__digest(out->value.data, out->value.size, 0) != out->header.value_digest) {
            fault(verifying, &verifying->found.damaged_records, "the value of slot %u of bucket %u fails its digest",
                  (unsigned)out->header.slot, (unsigned)out->header.bucket_id);
            doom(verifying, name, out->header.generation);
        }
    }
    if ((status = prove_cell(verifying, of, out, name, &names)) == HNK_OK && !names)
        fault(verifying, &verifying->found.slot_faults, "slot %u of bucket %u does not name its record",
              (unsigned)out->header.slot, (unsigned)out->header.bucket_id);
    return status;
}

/* All records of a bucket against its counts. */
static hnk_status verify_records(verifier *verifying, const subject *of)
{
    size_t page_bytes = hnk__environment_page_bytes(verifying->store->environment);
    uint32_t id = of->bucket->id;
    const hnk__tally *tally = &of->tally;
    hnk__tally sum = { 0 };
    uint64_t unreadable = 0;
    hnk__cursor *cursor = NULL;
    hnk_bytes name, bytes;
    hnk__key first;
    hnk_status status;

    hnk__key_row(&first, HNK_TABLE_RECORD, id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(verifying->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &bytes);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, id)) {
        hnk__record record = { .header = { .generation = 0 } }; /* of one too short to have a header */
        bool holds;
        verifying->found.entries++;
        verifying->done++;
        if ((status = verify_record(verifying, of, name, bytes, &record, &holds)) != HNK_OK)
            break;
        unreadable += !holds;
        if (holds) {
            bool blob = (record.header.flags & HNK_RECORD_BLOB) != 0;
            uint64_t blob_charge = blob ? hnk__record_blob_charge(record.header.value_bytes) : 0;
            sum.entries++;
            sum.payload_bytes += record.header.value_bytes;
            sum.blob_bytes += blob_charge;
            sum.charged_bytes += hnk__record_charge(page_bytes, name.size, bytes.size, blob_charge);
            if (record.header.slot >= tally->slots || record.header.generation > tally->generation)
                fault(verifying, &verifying->found.slot_faults, "slot %u of bucket %u is past its count",
                      (unsigned)record.header.slot, (unsigned)id);
        }
        if (!go_on(verifying)) {
            status = HNK_ERROR_CANCELLED;
            break;
        }
        status = hnk__cursor_next(cursor, &name, &bytes);
    }
    hnk__cursor_close(&cursor);
    if (status != HNK_OK && status != HNK_NOT_FOUND)
        return status;
    /* What can't be read can't be added up: its fault is counted already. */
    if (unreadable > 0)
        return HNK_OK;
    if (sum.entries != tally->entries || sum.payload_bytes != tally->payload_bytes ||
        sum.blob_bytes != tally->blob_bytes || sum.charged_bytes != tally->charged_bytes)
        fault(verifying, &verifying->found.accounting_faults,
              "bucket %u counts %llu entries of %llu bytes, holds %llu of %llu",
              (unsigned)id, (unsigned long long)tally->entries, (unsigned long long)tally->charged_bytes,
              (unsigned long long)sum.entries, (unsigned long long)sum.charged_bytes);
    if (tally->charged_bytes > of->row.capacity_bytes ||
        (of->row.entries_max != 0 && tally->entries > of->row.entries_max))
        fault(verifying, &verifying->found.limit_faults, "bucket %u is over its limits", (unsigned)id);
    return HNK_OK;
}

/* What the cells of a bucket add up to. */
struct cells {
    uint64_t entries;  /* first cells, */
    uint64_t untimed;  /* and of them those without an access time */
    uint64_t more;     /* cells where keys go on */
    uint64_t free;     /* on the chain */
    uint64_t listed;   /* in order of insertion, */
    bool ends;         /* and the last of them is the newest; the hand is at none or at an entry */
};

static void add_up_cells(const subject *of, const hnk__tally *tally, struct cells *out)
{
    hnk__slots *file = &of->bucket->file;

    *out = (struct cells){ 0 };
    for (uint32_t slot = 0; slot < tally->slots; slot++) {
        hnk__cell cell = hnk__cell_get(file, slot);
        bool entry = cell.use == HNK_CELL_ENTRY;
        out->entries += entry;
        out->untimed += entry && hnk__slots_stamp_of(file, slot) == HNK_STAMP_NONE;
        out->more += cell.use == HNK_CELL_MORE;
    }
    for (uint32_t next = tally->free_slot; next != 0 && next <= tally->slots && out->free <= tally->slots;
         out->free++) {
        hnk__cell cell = hnk__cell_get(file, next - 1);
        if (cell.use != HNK_CELL_FREE)
            break;
        next = cell.next;
    }
    uint32_t link = tally->oldest, last = 0;
    for (; link != 0 && link <= tally->slots && out->listed < tally->entries; out->listed++) {
        hnk__cell cell = hnk__cell_get(file, link - 1);
        if (cell.use != HNK_CELL_ENTRY || cell.older != last)
            break;
        last = link;
        link = cell.newer;
    }
    out->ends = link == 0 && last == tally->newest &&
                (tally->hand == 0 ||
                 (tally->hand <= tally->slots && hnk__cell_get(file, tally->hand - 1).use == HNK_CELL_ENTRY));
}

/* The cells against the counts of their own file, without a writer in between: one is kept out if there always is. */
static hnk_status verify_cells(verifier *verifying, const subject *of)
{
    enum { TRIES = 3 };
    hnk__tally before, after;
    struct cells cells = { 0 };
    hnk_status status;

    for (int tries = 0;; tries++) {
        bool hold = tries == TRIES;
        if (hold && (status = hnk__store_hold_writers(verifying->store)) != HNK_OK)
            return status;
        uint64_t turn = atomic_load_explicit(&of->bucket->file.header->turn, memory_order_acquire);
        bool still = hnk__slots_tally(&of->bucket->file, &before) && turn == 0 &&
                     hnk__slots_reach(&of->bucket->file, before.slots);
        if (still)
            add_up_cells(of, &before, &cells);
        atomic_thread_fence(memory_order_acquire);
        turn = atomic_load_explicit(&of->bucket->file.header->turn, memory_order_acquire);
        still = still && turn == 0 && hnk__slots_tally(&of->bucket->file, &after) && after.txn == before.txn;
        if (hold)
            hnk__store_let_writers(verifying->store);
        if (still)
            break;
        if (hold) /* a writer died just now: the next one makes all of it anew */
            return HNK_OK;
    }
    if (of->row.eviction == HNK_EVICTION_SIEVE && (cells.listed != before.entries || !cells.ends))
        fault(verifying, &verifying->found.slot_faults,
              "bucket %u lists %llu of %llu entries in order of insertion, or its ends or the hand are elsewhere",
              (unsigned)of->bucket->id, (unsigned long long)cells.listed, (unsigned long long)before.entries);
    if (cells.entries != before.entries || cells.entries + cells.more + cells.free != before.slots ||
        cells.untimed > 0)
        fault(verifying, &verifying->found.slot_faults,
              "bucket %u has %u slots: %llu in use for %llu entries, %llu for long keys, %llu free; %llu have no time",
              (unsigned)of->bucket->id, (unsigned)before.slots, (unsigned long long)cells.entries,
              (unsigned long long)before.entries, (unsigned long long)cells.more, (unsigned long long)cells.free,
              (unsigned long long)cells.untimed);
    return HNK_OK;
}

static uint64_t disagreements(const verifier *verifying)
{
    return verifying->found.slot_faults + verifying->found.accounting_faults + verifying->found.limit_faults;
}

static hnk_status verify_bucket(verifier *verifying, const subject *of)
{
    uint64_t before = disagreements(verifying);
    hnk_status status = verify_records(verifying, of);
    if (status == HNK_OK)
        status = verify_cells(verifying, of);
    if (disagreements(verifying) != before)
        doom_bucket(verifying, of->bucket->id);
    return status;
}

/* Files that no record names, now that no writer is about to name or remove one. */
static hnk_status verify_blobs(verifier *verifying, hnk_bucket *bucket, const hnk__blob_name *names, size_t count)
{
    hnk_store *store = verifying->store;
    hnk_status status = HNK_OK;

    for (size_t i = 0; i < count && status == HNK_OK; i++) {
        hnk__txn *now = NULL;
        if (bucket != NULL && hnk__blob_find(verifying->txn, bucket, names[i]) == HNK_OK)
            continue;
        if ((status = hnk__store_hold_writers(store)) != HNK_OK)
            return status;
        if ((status = hnk__read_begin(store->environment, &now)) == HNK_OK) {
            hnk__bucket_row row; /* of a bucket that could not be read, which is a fault of its own */
            status = bucket != NULL ? hnk__blob_find(now, bucket, names[i])
                                    : hnk__bucket_row_get(now, names[i].bucket_id, &row);
            if (status == HNK_NOT_FOUND && hnk__blob_exists(store->directory, names[i]))
                fault(verifying, &verifying->found.orphan_blobs, "no record names a blob of bucket %u",
                      (unsigned)names[i].bucket_id);
            if (status == HNK_NOT_FOUND || (bucket == NULL && status == HNK_ERROR_DAMAGED_STORE))
                status = HNK_OK;
        }
        hnk__read_end(&now);
        hnk__store_let_writers(store);
    }
    return status;
}

/* Begins a snapshot, with the counts that belong to it. What a writer left half done when it died is made good first,
 * and is no fault. */
static hnk_status begin(verifier *verifying, subject *of)
{
    for (;;) {
        bool settled = false;
        hnk_status status = hnk__store_hold_writers(verifying->store);
        if (status != HNK_OK)
            return status;
        if ((status = hnk__read_begin(verifying->store->environment, &verifying->txn)) == HNK_OK &&
            (status = hnk__bucket_row_get(verifying->txn, of->bucket->id, &of->row)) == HNK_OK)
            settled = hnk__bucket_is_current(of->bucket, &of->row, hnk__txn_number(verifying->txn), &of->tally);
        hnk__store_let_writers(verifying->store);
        if (settled)
            return HNK_OK;
        hnk__read_end(&verifying->txn);
        if (status != HNK_OK || (status = hnk__bucket_settle(of->bucket)) != HNK_OK)
            return status;
    }
}

static hnk_status verify_one(verifier *verifying, hnk_bucket *bucket, const hnk__blob_list *blobs)
{
    subject of = { .bucket = bucket };
    hnk_status status;
    size_t count = 0;

    if ((status = begin(verifying, &of)) != HNK_OK)
        return status;
    status = verify_bucket(verifying, &of);
    if (status == HNK_OK && blobs != NULL) {
        const hnk__blob_name *names = hnk__blob_list_of(blobs, bucket->id, &count);
        status = verify_blobs(verifying, bucket, names, count);
    }
    hnk__read_end(&verifying->txn);
    return status;
}

/* Every bucket, one after the other, then the files of none. */
static hnk_status verify_all(verifier *verifying, const hnk__blob_list *blobs)
{
    hnk_bucket_name name;
    hnk_status status;

    for (status = hnk_store_next_bucket(verifying->store, NULL, &name); status == HNK_OK;
         status = hnk_store_next_bucket(verifying->store, &name, &name)) {
        hnk_bucket *bucket = NULL;
        uint32_t id = 0;
        status = hnk__bucket_open_sound(verifying->store, (hnk_bytes){ name.bytes, name.size }, &bucket, &id);
        if (status == HNK_OK)
            status = verify_one(verifying, bucket, blobs);
        hnk_bucket_close(bucket);
        if (status == HNK_ERROR_DAMAGED_STORE)
            fault(verifying, &verifying->found.damaged_records, "the row of bucket %u fails its digest", (unsigned)id);
        else if (status != HNK_OK && status != HNK_NOT_FOUND) /* not found: dropped meanwhile */
            return status;
    }
    if (status != HNK_NOT_FOUND)
        return status;
    status = HNK_OK;
    for (size_t i = 0, count; i < blobs->count && status == HNK_OK; i += count) {
        hnk__bucket_row row;
        hnk__txn *txn = NULL;
        const hnk__blob_name *names = hnk__blob_list_of(blobs, blobs->names[i].bucket_id, &count);
        if ((status = hnk__read_begin(verifying->store->environment, &txn)) != HNK_OK)
            return status;
        bool known = hnk__bucket_row_get(txn, names->bucket_id, &row) != HNK_NOT_FOUND;
        hnk__read_end(&txn);
        if (!known)
            status = verify_blobs(verifying, NULL, names, count);
    }
    return status;
}

static uint64_t count_entries(hnk_store *store, hnk_bucket *bucket)
{
    hnk_statistics statistics = HNK_STATISTICS_INIT;
    hnk_status status = bucket != NULL ? hnk_bucket_statistics(bucket, &statistics)
                                       : hnk_store_statistics(store, &statistics);
    return status == HNK_OK ? statistics.entries : 0; /* it only scales the progress */
}

hnk_status hnk_store_verify(
    hnk_store *store, hnk_bucket *bucket, hnk_progress progress, void *context, hnk_verification *out_verification)
{
    verifier verifying = { .store = store, .progress = progress, .context = context };
    hnk_status status;

    assert(store != NULL);
    verifying.found.struct_size = sizeof verifying.found;
    if ((status = hnk__store_check(store)) != HNK_OK)
        return status;
    if (progress != NULL)
        verifying.all = count_entries(store, bucket);
    if (bucket != NULL) {
        status = verify_one(&verifying, bucket, NULL);
    } else {
        hnk__blob_list blobs;
        if ((status = hnk__blob_list_make(&blobs, store, false)) == HNK_OK)
            status = verify_all(&verifying, &blobs);
        hnk__blob_list_free(&blobs);
    }
    if (status != HNK_OK)
        return status;
    const hnk_verification *found = &verifying.found;
    uint64_t faults = found->damaged_records + found->missing_blobs + found->orphan_blobs + found->slot_faults +
                      found->accounting_faults + found->limit_faults;
    hnk__options_give(out_verification, found, sizeof *found);
    return faults == 0 ? HNK_OK : HNK_DAMAGED;
}
