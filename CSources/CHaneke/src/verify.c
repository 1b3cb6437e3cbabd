/* verify.c: every invariant of docs/DISK_FORMAT.md, in one snapshot. Tests call it after each step. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct verifier {
    hnk_store *store;
    hnk__txn *txn;
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

/* Marks a bucket whose tables disagree for repair by the next write. */
static void doom_tables(verifier *verifying, uint32_t id)
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

/* Whether a blob's bytes have the digest of its record; a fault if not. */
static void verify_blob(verifier *verifying, const hnk__record *record, hnk_bytes row_key)
{
    const hnk__header *header = &record->header;
    hnk__blob_name name = { header->bucket_id, header->slot, header->generation };
    hnk__digest_state *digest = NULL;
    char *buffer = NULL;
    int file = -1;

    if (hnk__blob_open(verifying->store->directory, name, header->value_bytes, &file) != HNK_OK) {
        if (is_current(verifying, row_key, header->generation)) {
            fault(verifying, &verifying->found.missing_blobs,
                  "the blob of slot %u of bucket %u is missing or of another length", (unsigned)header->slot,
                  (unsigned)header->bucket_id);
            doom(verifying, row_key, header->generation);
        }
        return;
    }
    if ((digest = hnk__digest_begin()) != NULL && (buffer = malloc(HNK_WRITE_BUFFER_BYTES)) != NULL) {
        ssize_t got;
        uint64_t at = 0;
        while ((got = pread(file, buffer, HNK_WRITE_BUFFER_BYTES, (off_t)at)) > 0) {
            hnk__digest_add(digest, buffer, (size_t)got);
            at += (uint64_t)got;
        }
        verifying->found.bytes += at;
        if (got < 0 || hnk__digest_end(digest) != header->value_digest) {
            fault(verifying, &verifying->found.damaged_records, "the blob of slot %u of bucket %u fails its digest",
                  (unsigned)header->slot, (unsigned)header->bucket_id);
            doom(verifying, row_key, header->generation);
        }
    }
    hnk__digest_free(digest);
    free(buffer);
    close(file);
}

/* One record: its digests, and that its slot names it. */
static bool verify_record(verifier *verifying, hnk_bytes name, hnk_bytes row, hnk__record *out)
{
    hnk__key key;
    hnk_bytes slot;

    if (!hnk__record_parse(out, name, row) || !hnk__record_header_holds(out)) {
        fault(verifying, &verifying->found.damaged_records, "a record of bucket %u fails its header digest",
              (unsigned)hnk__key_bucket_id(name.data));
        doom(verifying, name, out->header.generation);
        return false;
    }
    if ((out->header.flags & HNK_RECORD_BLOB) != 0) {
        verify_blob(verifying, out, name);
    } else {
        verifying->found.bytes += out->value.size;
        if (hnk__digest(out->value.data, out->value.size, 0) != out->header.value_digest) {
            fault(verifying, &verifying->found.damaged_records, "the value of slot %u of bucket %u fails its digest",
                  (unsigned)out->header.slot, (unsigned)out->header.bucket_id);
            doom(verifying, name, out->header.generation);
        }
    }
    hnk__key_slot(&key, out->header.bucket_id, out->header.slot);
    if (hnk__row_get(verifying->txn, &key, &slot) != HNK_OK || slot.size != name.size - HNK_PREFIX_BYTES + 1 ||
        *(const uint8_t *)slot.data != HNK_SLOT_USED ||
        memcmp((const char *)slot.data + 1, (const char *)name.data + HNK_PREFIX_BYTES, slot.size - 1) != 0)
        fault(verifying, &verifying->found.slot_faults, "slot %u of bucket %u does not name its record",
              (unsigned)out->header.slot, (unsigned)out->header.bucket_id);
    return true;
}

/* All records of a bucket against its row. */
static hnk_status verify_records(verifier *verifying, uint32_t id, const hnk__bucket_row *row)
{
    size_t page_bytes = hnk__environment_page_bytes(verifying->store->environment);
    hnk__bucket_row sum = { 0 };
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
        verifying->found.entries++;
        verifying->done++;
        if (verify_record(verifying, name, bytes, &record)) {
            bool blob = (record.header.flags & HNK_RECORD_BLOB) != 0;
            uint64_t blob_charge = blob ? hnk__record_blob_charge(record.header.value_bytes) : 0;
            sum.entries++;
            sum.payload_bytes += record.header.value_bytes;
            sum.blob_bytes += blob_charge;
            sum.charged_bytes += hnk__record_charge(page_bytes, name.size, bytes.size, blob_charge);
            if (record.header.slot >= row->slots || record.header.generation > row->generation)
                fault(verifying, &verifying->found.slot_faults, "slot %u of bucket %u is past its row's count",
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
    if (sum.entries != row->entries || sum.payload_bytes != row->payload_bytes || sum.blob_bytes != row->blob_bytes ||
        sum.charged_bytes != row->charged_bytes)
        fault(verifying, &verifying->found.accounting_faults,
              "bucket %u counts %llu entries of %llu bytes, holds %llu of %llu",
              (unsigned)id, (unsigned long long)row->entries, (unsigned long long)row->charged_bytes,
              (unsigned long long)sum.entries, (unsigned long long)sum.charged_bytes);
    if (row->charged_bytes > row->capacity_bytes || (row->entries_max != 0 && row->entries > row->entries_max))
        fault(verifying, &verifying->found.limit_faults, "bucket %u is over its limits", (unsigned)id);
    return HNK_OK;
}

/* The slot rows: each below the count there, used ones as many as entries, free ones all on the chain. */
static hnk_status verify_slots(verifier *verifying, uint32_t id, const hnk__bucket_row *row)
{
    uint64_t used = 0, chained = 0;
    hnk_bytes bytes;
    hnk__key key;

    for (uint32_t slot = 0; slot < row->slots; slot++) {
        hnk__key_slot(&key, id, slot);
        hnk_status status = hnk__row_get(verifying->txn, &key, &bytes);
        if (status == HNK_NOT_FOUND)
            fault(verifying, &verifying->found.slot_faults, "slot %u of bucket %u has no row", (unsigned)slot,
                  (unsigned)id);
        else if (status != HNK_OK)
            return status;
        else
            used += bytes.size > 0 && *(const uint8_t *)bytes.data == HNK_SLOT_USED;
    }
    for (uint32_t next = row->free_slot; next != 0 && chained <= row->slots; chained++) {
        hnk__key_slot(&key, id, next - 1);
        if (hnk__row_get(verifying->txn, &key, &bytes) != HNK_OK || bytes.size != 5 ||
            *(const uint8_t *)bytes.data != HNK_SLOT_FREE) {
            fault(verifying, &verifying->found.slot_faults, "the free chain of bucket %u breaks at slot %u",
                  (unsigned)id, (unsigned)(next - 1));
            return HNK_OK;
        }
        memcpy(&next, (const char *)bytes.data + 1, sizeof next);
    }
    if (used != row->entries || used + chained != row->slots)
        fault(verifying, &verifying->found.slot_faults,
              "bucket %u has %u slots: %llu in use for %llu entries, %llu free",
              (unsigned)id, (unsigned)row->slots, (unsigned long long)used, (unsigned long long)row->entries,
              (unsigned long long)chained);
    return HNK_OK;
}

static uint64_t table_faults(const verifier *verifying)
{
    return verifying->found.slot_faults + verifying->found.accounting_faults + verifying->found.limit_faults;
}

static hnk_status verify_bucket(verifier *verifying, uint32_t id)
{
    hnk__bucket_row row;
    hnk_status status;

    status = hnk__bucket_row_get(verifying->txn, id, &row);
    if (status == HNK_ERROR_DAMAGED_STORE) {
        fault(verifying, &verifying->found.damaged_records, "the row of bucket %u fails its digest", (unsigned)id);
        return HNK_OK;
    }
    if (status != HNK_OK)
        return status;
    uint64_t before = table_faults(verifying);
    if ((status = verify_records(verifying, id, &row)) == HNK_OK)
        status = verify_slots(verifying, id, &row);
    if (table_faults(verifying) != before)
        doom_tables(verifying, id);
    return status;
}

/* Whether a record of the snapshot names this blob. One that came after the snapshot is named by the newest
 * generation of its bucket or later. */
static bool is_named(void *context, hnk__blob_name name, uint64_t size)
{
    verifier *verifying = context;
    hnk__bucket_row row;
    hnk__record record;
    hnk_bytes bytes;
    hnk__key key;

    (void)size;
    if (hnk__bucket_row_get(verifying->txn, name.bucket_id, &row) == HNK_OK && name.generation > row.generation)
        return true;
    hnk__key_slot(&key, name.bucket_id, name.slot);
    if (hnk__row_get(verifying->txn, &key, &bytes) == HNK_OK && bytes.size >= 2 &&
        bytes.size <= 1 + HNK_KEY_STORED_MAX_BYTES && *(const uint8_t *)bytes.data == HNK_SLOT_USED) {
        hnk__key_row(&key, HNK_TABLE_RECORD, name.bucket_id,
                     (hnk_bytes){ (const char *)bytes.data + 1, bytes.size - 1 });
        if (hnk__row_get(verifying->txn, &key, &bytes) == HNK_OK &&
            hnk__record_parse(&record, (hnk_bytes){ key.bytes, key.size }, bytes) &&
            record.header.generation == name.generation)
            return true;
    }
    fault(verifying, &verifying->found.orphan_blobs, "no record names a blob of bucket %u", (unsigned)name.bucket_id);
    return true;
}

static hnk_status verify_all(verifier *verifying)
{
    hnk__cursor *cursor = NULL;
    hnk_bytes name, row;
    hnk__key first;
    uint32_t id = 0;
    hnk_status status = HNK_OK;

    for (;;) { /* the rows of all buckets; a cursor each time, since progress may take as long as it likes */
        hnk__key_row(&first, HNK_TABLE_BUCKET, id + 1, (hnk_bytes){ NULL, 0 });
        if ((status = hnk__cursor_open(verifying->txn, &cursor)) != HNK_OK)
            return status;
        status = hnk__cursor_seek(cursor, &first, &name, &row);
        bool more =
            status == HNK_OK && name.size == HNK_PREFIX_BYTES && *(const uint8_t *)name.data == HNK_TABLE_BUCKET;
        id = more ? hnk__key_bucket_id(name.data) : id;
        hnk__cursor_close(&cursor);
        if (!more)
            break;
        if ((status = verify_bucket(verifying, id)) != HNK_OK)
            return status;
    }
    if (status != HNK_OK && status != HNK_NOT_FOUND)
        return status;
    return hnk__blob_sweep(verifying->store->directory, is_named, verifying, false);
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
    if ((status = hnk__read_begin(store->environment, &verifying.txn)) != HNK_OK)
        return status;
    status = bucket != NULL ? verify_bucket(&verifying, bucket->id) : verify_all(&verifying);
    hnk__read_end(&verifying.txn);
    if (status != HNK_OK)
        return status;
    const hnk_verification *found = &verifying.found;
    uint64_t faults = found->damaged_records + found->missing_blobs + found->orphan_blobs + found->slot_faults +
                      found->accounting_faults + found->limit_faults;
    hnk__options_give(out_verification, found, sizeof *found);
    return faults == 0 ? HNK_OK : HNK_DAMAGED;
}
