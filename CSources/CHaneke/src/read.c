/* read.c: finding a record, proving it, and the reads that need no lease. */
#include "internal.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000 };

static void count(hnk_bucket *bucket, const hnk__txn *txn, hnk_status status)
{
    unsigned index = hnk__read_index(txn);
    hnk__counters *counters = &bucket->counters[index];
    _Atomic uint64_t *counter = status == HNK_OK ? &counters->hits : &counters->misses;
    if (index < HNK_POOL_READERS) {
        /* The reader's place in the pool is ours alone, so is the counter: no locked instruction. */
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
        if (status == HNK_EXPIRED)
            atomic_store_explicit(&counters->expirations,
                                  atomic_load_explicit(&counters->expirations, memory_order_relaxed) + 1,
                                  memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    if (status == HNK_EXPIRED)
        atomic_fetch_add_explicit(&counters->expirations, 1, memory_order_relaxed);
}

/* The time of a read: precise where eviction is exact. */
static uint64_t time_of_read(const hnk_bucket *bucket)
{
    return hnk__slots_now(atomic_load_explicit(&bucket->slots, memory_order_relaxed));
}

/* Notes the access. Not again in the same tick of the clock: what many threads read often would go from one's cache to
 * the other's each time. */
static void stamp(hnk_bucket *bucket, const hnk__found *found)
{
    uint64_t stamp = found->now_ns | HNK_STAMP_READ;
    if (stamp != found->accessed_ns)
        hnk__slots_stamp(&bucket->file, found->record.header.slot, stamp);
}

/* Maps a blob's file, so that it is read in place. An empty value has nothing to map. */
static hnk_status map_blob(hnk_bucket *bucket, hnk__found *found)
{
    const hnk__header *header = &found->record.header;
    hnk__blob_name name = { header->bucket_id, header->slot, header->generation };
    hnk_status status;

    if (header->value_bytes > SIZE_MAX)
        return HNK_ERROR_MEMORY;
    if ((status = hnk__blob_open(bucket->store->directory, name, header->value_bytes, &found->blob)) != HNK_OK)
        return status;
    if (header->value_bytes == 0) {
        found->record.value = (hnk_bytes){ "", 0 };
        return HNK_OK;
    }
    void *mapping = mmap(NULL, (size_t)header->value_bytes, PROT_READ, MAP_SHARED, found->blob, 0);
    if (mapping == MAP_FAILED)
        return HNK_ERROR_MEMORY;
    found->mapping = mapping;
    found->record.value = (hnk_bytes){ mapping, (size_t)header->value_bytes };
    return HNK_OK;
}

/* Proves the digests as the bucket's check mode asks: HNK_OK or HNK_DAMAGED. */
static hnk_status prove(hnk_bucket *bucket, const hnk__record *record)
{
    const hnk__header *header = &record->header;
    uint32_t mode = atomic_load_explicit(&bucket->check_mode, memory_order_relaxed);

    if (mode == HNK_CHECK_NEVER)
        return HNK_OK;
    if (mode == HNK_CHECK_FIRST_READ && hnk__bucket_proven(bucket, header->slot, header->generation))
        return HNK_OK;
    if (!hnk__record_header_holds(record) ||
        hnk__digest(record->value.data, record->value.size, 0) != header->value_digest)
        return HNK_DAMAGED;
    hnk__bucket_prove(bucket, header->slot, header->generation);
    return HNK_OK;
}

static bool same_bytes(hnk_bytes left, hnk_bytes right)
{
    return left.size == right.size && (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

/* Asks for what will be looked at next: the lines of a slot lie anywhere, and one need not wait for the other. */
static void expect_slot(hnk_bucket *bucket, hnk_bytes row)
{
    hnk__header header;
    if (row.size < sizeof header)
        return;
    memcpy(&header, row.data, sizeof header);
    if (header.slot < atomic_load_explicit(&bucket->file.covered, memory_order_acquire))
        __builtin_prefetch((const void *)hnk__slots_stamp_at(&bucket->file, header.slot), 1);
    if (header.slot < atomic_load_explicit(&bucket->proven_slots, memory_order_acquire))
        __builtin_prefetch((const void *)&bucket->proven[header.slot]);
}

/* Finds the record, without proof, count or stamp. `out->txn` is begun. */
static hnk_status locate(hnk_bucket *bucket, const hnk__key *row_key, hnk_bytes key, hnk__found *out)
{
    hnk_bytes name, row;
    hnk_status status;

    if ((status = hnk__row_find(out->txn, row_key, &name, &row)) != HNK_OK)
        return status;
    expect_slot(bucket, row);
    if (!hnk__record_parse(&out->record, name, row))
        return HNK_DAMAGED;
    if ((out->record.header.flags & HNK_RECORD_LONG_KEY) != 0) {
        if (!same_bytes(out->record.key, key))
            return HNK_NOT_FOUND; /* two keys with one digest: a miss, never the other's value */
    } else if (name.data == row_key->bytes) {
        memcpy(out->raw_key, key.data, key.size); /* that one goes with our caller's stack */
        out->record.key.data = out->raw_key;
    }
    out->row_key_bytes = row_key->size;
    out->row_bytes = row.size;
    out->now_ns = time_of_read(bucket);
    out->accessed_ns = hnk__slots_stamp_of(&bucket->file, out->record.header.slot);
    if (out->record.header.expires_at_ms != 0) {
        uint64_t expiry = hnk__record_expiry(&out->record.header, out->accessed_ns / NS_PER_MS);
        out->expired = expiry <= out->now_ns / NS_PER_MS;
    }
    return HNK_OK;
}

/* Begins a read in the place that goes with its reader. */
static hnk_status begin(hnk_bucket *bucket, hnk__found *spare, hnk__found **out)
{
    hnk__txn *txn;
    hnk_status status = hnk__read_begin(bucket->store->environment, &txn);
    if (status != HNK_OK)
        return status;
    unsigned index = hnk__read_index(txn);
    hnk__found *found = index < HNK_POOL_READERS ? &bucket->store->leases[index].found : spare;
    found->txn = txn;
    found->record.header.flags = 0;
    found->record.header.generation = 0;
    found->expired = false;
    found->blob = -1;
    found->mapping = NULL;
    *out = found;
    return HNK_OK;
}

static hnk_status find_in(hnk_bucket *bucket, const hnk__key *row_key, hnk_bytes key, uint32_t flags, hnk__found *found)
{
    hnk_status status;

    if ((status = locate(bucket, row_key, key, found)) != HNK_OK)
        goto done;
    if (found->expired && (flags & HNK_GET_EXPIRED) == 0) {
        /* Proven first: a damaged lifetime must not keep a record that no read looks at again. */
        status = hnk__record_header_holds(&found->record) ? HNK_EXPIRED : HNK_DAMAGED;
        goto done;
    }
    if ((found->record.header.flags & HNK_RECORD_BLOB) != 0 && (status = map_blob(bucket, found)) != HNK_OK)
        goto done;
    status = prove(bucket, &found->record);
done:
    if (status >= HNK_OK && (flags & HNK_GET_QUIET) == 0) {
        count(bucket, found->txn, status);
        if (status == HNK_OK)
            stamp(bucket, found);
    }
    return status;
}

hnk_status hnk__find(hnk_bucket *bucket, hnk_bytes key, uint32_t flags, hnk__found *spare, hnk__found **out)
{
    hnk__key row_key;
    hnk_status status;
    uint64_t generation, missing = 0;

    assert(bucket != NULL);
    if ((flags & ~(HNK_GET_QUIET | HNK_GET_EXPIRED)) != 0)
        return HNK_ERROR_ARGUMENT;
    if ((status = hnk__store_check(bucket->store)) != HNK_OK ||
        (status = hnk__key_record(&row_key, bucket->id, key)) != HNK_OK)
        return status;
    for (;;) {
        hnk__found *found = NULL;
        if ((status = begin(bucket, spare, &found)) != HNK_OK)
            return status;
        if ((status = find_in(bucket, &row_key, key, flags, found)) == HNK_OK) {
            *out = found;
            return HNK_OK;
        }
        generation = found->record.header.generation;
        bool blob_is_missing = status == HNK_DAMAGED && (found->record.header.flags & HNK_RECORD_BLOB) != 0 &&
                               found->mapping == NULL;
        hnk__found_end(found);
        /* The file went between our snapshot and the opening: a writer replaced the value. Only if it is missing from a
         * new snapshot too is the record damaged. */
        if (!blob_is_missing || generation == missing)
            break;
        missing = generation;
    }
    if (status == HNK_DAMAGED)
        hnk__store_doom(bucket->store, &row_key, generation);
    if (status == HNK_ERROR_DAMAGED_STORE)
        atomic_store_explicit(&bucket->store->suspect, true, memory_order_relaxed);
    return status;
}

void hnk__found_end(hnk__found *found)
{
    if (found->mapping != NULL)
        munmap((void *)(uintptr_t)found->mapping, found->record.value.size);
    if (found->blob >= 0)
        close(found->blob);
    found->mapping = NULL;
    found->blob = -1;
    hnk__txn *txn = found->txn;
    found->txn = NULL;
    hnk__read_end(&txn); /* with it goes the place */
}

void hnk__found_describe(const hnk_store *store, const hnk__found *found, hnk_entry *out)
{
    const hnk__header *header = &found->record.header;
    uint64_t accessed_ms = found->accessed_ns / NS_PER_MS;
    bool blob = (header->flags & HNK_RECORD_BLOB) != 0;

    *out = (hnk_entry){
        .struct_size = sizeof *out,
        .flags = (blob ? HNK_ENTRY_BLOB : 0) | ((header->flags & HNK_RECORD_SLIDING) != 0 ? HNK_ENTRY_SLIDING : 0) |
                 (found->expired ? HNK_ENTRY_EXPIRED : 0),
        .key = found->record.key,
        .value_bytes = header->value_bytes,
        .metadata_bytes = header->metadata_bytes,
        .charged_bytes = hnk__record_charge(hnk__environment_page_bytes(store->environment), found->row_key_bytes,
                                            found->row_bytes, blob ? hnk__record_blob_charge(header->value_bytes) : 0),
        .written_at_ms = header->written_at_ms,
        .accessed_at_ms = accessed_ms,
        .expires_at_ms = hnk__record_expiry(header, accessed_ms),
        .user_flags = header->user_flags,
    };
}

hnk_status hnk_bucket_read(
    hnk_bucket *bucket, hnk_bytes key, uint32_t flags, void *buffer, size_t buffer_bytes, size_t *out_value_bytes)
{
    hnk__found spare, *found = NULL;
    hnk_status status = hnk__find(bucket, key, flags, &spare, &found);
    if (status != HNK_OK)
        return status;
    size_t size = found->record.value.size;
    if (size <= buffer_bytes) {
        if (size > 0)
            memcpy(buffer, found->record.value.data, size);
    } else {
        status = HNK_ERROR_BUFFER_SIZE;
    }
    *out_value_bytes = size;
    hnk__found_end(found);
    return status;
}

/* What peek and touch share: find without proof. The caller ends it where the status is HNK_OK or HNK_EXPIRED. */
static hnk_status look(hnk_bucket *bucket, hnk_bytes key, hnk__found *spare, hnk__found **out)
{
    hnk__key row_key;
    hnk__found *found = NULL;
    hnk_status status;

    assert(bucket != NULL);
    if ((status = hnk__store_check(bucket->store)) != HNK_OK ||
        (status = hnk__key_record(&row_key, bucket->id, key)) != HNK_OK ||
        (status = begin(bucket, spare, &found)) != HNK_OK)
        return status;
    if ((status = locate(bucket, &row_key, key, found)) == HNK_OK && !hnk__record_header_holds(&found->record))
        status = HNK_DAMAGED;
    if (status == HNK_DAMAGED)
        hnk__store_doom(bucket->store, &row_key, found->record.header.generation);
    if (status != HNK_OK) {
        hnk__found_end(found);
        return status;
    }
    *out = found;
    return found->expired ? HNK_EXPIRED : HNK_OK;
}

hnk_status hnk_bucket_peek(hnk_bucket *bucket, hnk_bytes key, hnk_entry *out_entry)
{
    hnk__found spare, *found = NULL;
    hnk_status status = look(bucket, key, &spare, &found);
    if (status != HNK_OK && status != HNK_EXPIRED)
        return status;
    if (out_entry != NULL) {
        hnk_entry entry;
        hnk__found_describe(bucket->store, found, &entry);
        entry.key = (hnk_bytes){ NULL, 0 };
        hnk__options_give(out_entry, &entry, sizeof entry);
    }
    hnk__found_end(found);
    return status;
}

hnk_status hnk_bucket_touch(hnk_bucket *bucket, hnk_bytes key)
{
    hnk__found spare, *found = NULL;
    hnk_status status = look(bucket, key, &spare, &found);
    if (status != HNK_OK && status != HNK_EXPIRED)
        return status;
    if (status == HNK_OK)
        stamp(bucket, found);
    hnk__found_end(found);
    return status;
}
