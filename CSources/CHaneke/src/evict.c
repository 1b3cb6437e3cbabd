/* evict.c: which entry goes when room is needed. Least recently used first: exactly so in small buckets, by sample
 * in large ones. */
#include "internal.h"

#include <string.h>

/* xorshift64*: quick, and good enough to draw slots. */
static uint32_t draw(hnk_store *store, uint32_t below)
{
    uint64_t x = store->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    store->random = x;
    return (uint32_t)(((x * 2685821657736338717u) >> 32) * below >> 32);
}

/* Slots in use whose access time says "free" (a killed writer's, or of a damaged file) become "unknown": they go
 * first. */
hnk_status hnk__wake_slots(hnk__write *write, hnk__touched *in)
{
    hnk_status status = HNK_OK;
    for (uint32_t slot = 0; slot < in->row.slots && status == HNK_OK; slot++) {
        hnk__key key;
        hnk_bytes row;
        if (hnk__access_read(&in->bucket->access, slot) != 0)
            continue;
        hnk__key_slot(&key, in->bucket->id, slot);
        status = hnk__row_get(write->txn, &key, &row);
        if (status == HNK_OK && row.size > 0 && *(const uint8_t *)row.data == HNK_SLOT_USED)
            hnk__access_stamp(&in->bucket->access, slot, 1);
        if (status == HNK_NOT_FOUND)
            status = HNK_OK;
    }
    return status;
}

/* The slot with the oldest access time among all, or UINT32_MAX. Free slots read 0. */
static uint32_t oldest_of_all(hnk__touched *in, uint32_t keep, uint64_t *out_used)
{
    uint32_t oldest = UINT32_MAX;
    uint64_t oldest_stamp = UINT64_MAX;
    *out_used = 0;
    for (uint32_t slot = 0; slot < in->row.slots; slot++) {
        uint64_t stamp = hnk__access_read(&in->bucket->access, slot);
        *out_used += stamp != 0;
        if (stamp != 0 && stamp < oldest_stamp && slot != keep) {
            oldest = slot;
            oldest_stamp = stamp;
        }
    }
    return oldest;
}

static uint32_t oldest_of_sample(hnk_store *store, hnk__touched *in, uint32_t keep)
{
    uint32_t oldest = UINT32_MAX;
    uint64_t oldest_stamp = UINT64_MAX;
    unsigned seen = 0;
    for (unsigned tries = 0; tries < HNK_SAMPLE_TRIES && seen < HNK_SAMPLE_SLOTS; tries++) {
        uint32_t slot = draw(store, in->row.slots);
        uint64_t stamp = hnk__access_read(&in->bucket->access, slot);
        if (stamp == 0 || slot == keep)
            continue;
        seen++;
        if (stamp < oldest_stamp) {
            oldest = slot;
            oldest_stamp = stamp;
        }
    }
    return oldest;
}

/* The record key that a slot's row names; HNK_NOT_FOUND if the slot is free. */
static hnk_status key_of_slot(hnk__write *write, hnk__touched *in, uint32_t slot, hnk__key *out)
{
    hnk__key key;
    hnk_bytes row;
    hnk_status status;

    hnk__key_slot(&key, in->bucket->id, slot);
    if ((status = hnk__row_get(write->txn, &key, &row)) != HNK_OK)
        return status;
    const uint8_t *bytes = row.data;
    if (row.size < 2 || row.size > 1 + HNK_KEY_STORED_MAX_BYTES || bytes[0] != HNK_SLOT_USED)
        return HNK_NOT_FOUND;
    hnk__key_row(out, HNK_TABLE_RECORD, in->bucket->id, (hnk_bytes){ bytes + 1, row.size - 1 });
    return HNK_OK;
}

/* The next slot in use at or after a random one: for when the access times name none. */
static hnk_status any_slot(hnk__write *write, hnk__touched *in, uint32_t keep, uint32_t *out_slot)
{
    uint32_t start = draw(write->store, in->row.slots);
    for (uint32_t i = 0; i < in->row.slots; i++) {
        hnk__key key;
        uint32_t slot = (uint32_t)(((uint64_t)start + i) % in->row.slots);
        hnk_status status = slot == keep ? HNK_NOT_FOUND : key_of_slot(write, in, slot, &key);
        if (status == HNK_OK)
            *out_slot = slot;
        if (status != HNK_NOT_FOUND)
            return status;
    }
    return HNK_NOT_FOUND;
}

/* Finds who goes next. HNK_NOT_FOUND: the slot table names nobody, although entries are counted. */
static hnk_status choose(hnk__write *write, hnk__touched *in, uint32_t keep, hnk__key *out)
{
    for (;;) {
        uint64_t used = in->row.entries;
        uint32_t slot = in->row.slots <= HNK_EXACT_SLOTS_MAX ? oldest_of_all(in, keep, &used)
                                                             : oldest_of_sample(write->store, in, keep);
        hnk_status status;
        if (used < in->row.entries && !in->woken) { /* entries without a time: it was lost */
            in->woken = true;
            if ((status = hnk__wake_slots(write, in)) != HNK_OK)
                return status;
            continue;
        }
        if (slot == UINT32_MAX && (status = any_slot(write, in, keep, &slot)) != HNK_OK)
            return status;
        status = key_of_slot(write, in, slot, out);
        if (status != HNK_NOT_FOUND)
            return status;
        /* A free slot whose time was not zeroed: a killed writer's, or a file made anew. */
        if ((status = hnk__slot_zero(write, in, slot)) != HNK_OK)
            return status;
    }
}

static hnk_status evict_one(hnk__write *write, hnk__touched *in, uint32_t keep)
{
    hnk__key key;
    hnk_status status;

    if ((status = choose(write, in, keep, &key)) == HNK_OK)
        status = hnk__entry_remove(write, in, &key);
    if (status == HNK_OK)
        in->row.evictions++;
    if (status != HNK_NOT_FOUND && status != HNK_DAMAGED)
        return status;
    /* Entries are counted but none is to be found: the tables disagree. Once is damage; twice would be our bug. */
    if (in->repaired)
        return HNK_ERROR_INTERNAL;
    in->repaired = true;
    return hnk__bucket_repair(write, in);
}

static bool fits(const hnk_store *store, const hnk__bucket_row *row, uint64_t bytes, uint64_t entries)
{
    uint64_t capacity = row->capacity_bytes;
    if (row->entries_max != 0 && row->entries + entries > row->entries_max)
        return false;
    if (bytes > capacity || row->charged_bytes > capacity - bytes)
        return false;
    /* Pages fill less than the charge assumes: see trim.c. Blobs take what they are charged. */
    return store->swell == HNK_SWELL_NONE ||
           row->blob_bytes + (row->charged_bytes - row->blob_bytes + bytes) / HNK_SWELL_NONE * store->swell <=
               capacity + capacity / 8;
}

hnk_status hnk__evict_for(hnk__write *write, hnk__touched *in, uint64_t bytes, uint64_t entries, uint32_t keep)
{
    hnk_status status = HNK_OK;
    while (status == HNK_OK && in->row.entries > 0 && !fits(write->store, &in->row, bytes, entries))
        status = evict_one(write, in, keep);
    return status;
}

hnk_status hnk__evict_bytes(hnk__write *write, hnk__touched *in, uint64_t bytes)
{
    hnk_status status = HNK_OK;
    uint64_t goal = in->row.charged_bytes > bytes ? in->row.charged_bytes - bytes : 0;
    while (status == HNK_OK && in->row.entries > 0 && in->row.charged_bytes > goal)
        status = evict_one(write, in, UINT32_MAX);
    return status;
}
