/* evict.c: which entry goes when room is needed. Least recently used first: exactly so in small buckets, by sample
 * in large ones. The other order is sieve.c's. */
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

/* The slot with the oldest access time among all, or UINT32_MAX. Cells without an entry have none. */
static uint32_t oldest_of_all(hnk__touched *in, uint32_t keep, uint64_t *out_timed)
{
    uint32_t oldest = UINT32_MAX;
    uint64_t oldest_stamp = UINT64_MAX;
    *out_timed = 0;
    for (uint32_t base = 0; base < in->tally.slots; base += HNK_SLOTS_GROUP) {
        const _Atomic uint64_t *stamps = hnk__slots_stamp_at(&in->bucket->file, base);
        uint32_t count = in->tally.slots - base < HNK_SLOTS_GROUP ? in->tally.slots - base : HNK_SLOTS_GROUP;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t stamp = atomic_load_explicit(&stamps[i], memory_order_relaxed);
            *out_timed += stamp != HNK_STAMP_NONE;
            if (stamp < oldest_stamp && stamp != HNK_STAMP_NONE && base + i != keep) {
                oldest = base + i;
                oldest_stamp = stamp;
            }
        }
    }
    return oldest;
}

/* The next slot with an access time at or after a random one. */
static uint32_t next_in_use(hnk_store *store, hnk__touched *in, uint32_t keep)
{
    uint32_t start = draw(store, in->tally.slots);
    for (uint32_t i = 0; i < in->tally.slots; i++) {
        uint32_t slot = (uint32_t)(((uint64_t)start + i) % in->tally.slots);
        if (slot != keep && hnk__slots_stamp_of(&in->bucket->file, slot) != HNK_STAMP_NONE)
            return slot;
    }
    return UINT32_MAX;
}

static uint32_t oldest_of_sample(hnk_store *store, hnk__touched *in, uint32_t keep)
{
    uint32_t oldest = UINT32_MAX;
    uint64_t oldest_stamp = UINT64_MAX;
    unsigned seen = 0;
    for (unsigned tries = 0; tries < HNK_SAMPLE_TRIES && seen < HNK_SAMPLE_SLOTS; tries++) {
        uint32_t slot = draw(store, in->tally.slots);
        uint64_t stamp = hnk__slots_stamp_of(&in->bucket->file, slot);
        if (stamp == HNK_STAMP_NONE || slot == keep)
            continue;
        seen++;
        if (stamp < oldest_stamp) {
            oldest = slot;
            oldest_stamp = stamp;
        }
    }
    return oldest != UINT32_MAX ? oldest : next_in_use(store, in, keep);
}

static uint32_t choose_slot(hnk_store *store, hnk__touched *in, uint32_t keep)
{
    if (in->row.eviction == HNK_EVICTION_SIEVE)
        return hnk__sieve_choose(in, keep);
    if (in->tally.slots > HNK_EXACT_SLOTS_MAX)
        return oldest_of_sample(store, in, keep);
    uint64_t timed;
    uint32_t oldest = oldest_of_all(in, keep, &timed);
    return timed >= in->tally.entries ? oldest : UINT32_MAX; /* entries whose time was lost would never go */
}

/* Finds who goes next. HNK_NOT_FOUND: nobody is to be found, although entries are counted. */
static hnk_status choose(hnk__write *write, hnk__touched *in, uint32_t keep, hnk__key *out, uint32_t *out_slot)
{
    for (;;) {
        uint32_t slot = choose_slot(write->store, in, keep);
        if (slot == UINT32_MAX)
            return HNK_NOT_FOUND;
        *out_slot = slot;
        if (hnk__cell_key(&in->bucket->file, in->bucket->id, slot, out))
            return HNK_OK;
        if (in->row.eviction == HNK_EVICTION_SIEVE) /* its list holds entries alone */
            return HNK_NOT_FOUND;
        /* A reader with an older snapshot has stamped what is free by now. */
        hnk__slots_stamp(&in->bucket->file, slot, HNK_STAMP_NONE);
    }
}

static hnk_status evict_one(hnk__write *write, hnk__touched *in, uint32_t keep)
{
    hnk__key key;
    uint32_t slot;
    hnk_status status;

    if ((status = choose(write, in, keep, &key, &slot)) == HNK_OK)
        status = hnk__entry_evict(write, in, &key, slot);
    if (status == HNK_OK)
        in->tally.evictions++;
    if (status != HNK_NOT_FOUND && status != HNK_DAMAGED)
        return status;
    /* Entries are counted but none is to be found: cells and records disagree. Once is damage; twice would be our
     * bug. */
    if (in->repaired)
        return HNK_ERROR_INTERNAL;
    return hnk__bucket_repair(write, in);
}

static bool fits(const hnk_store *store, const hnk__touched *in, uint64_t bytes, uint64_t entries)
{
    const hnk__tally *tally = &in->tally;
    uint64_t capacity = in->row.capacity_bytes;
    if (in->row.entries_max != 0 && tally->entries + entries > in->row.entries_max)
        return false;
    if (bytes > capacity || tally->charged_bytes > capacity - bytes)
        return false;
    /* Pages fill less than the charge assumes: see trim.c. Blobs take what they are charged. */
    return store->swell == HNK_SWELL_NONE ||
           tally->blob_bytes + (tally->charged_bytes - tally->blob_bytes + bytes) / HNK_SWELL_NONE * store->swell <=
               capacity + capacity / 8;
}

hnk_status hnk__evict_for(hnk__write *write, hnk__touched *in, uint64_t bytes, uint64_t entries, uint32_t keep)
{
    uint64_t staying = keep != UINT32_MAX;
    hnk_status status = HNK_OK;
    while (status == HNK_OK && in->tally.entries > staying && !fits(write->store, in, bytes, entries))
        status = evict_one(write, in, keep);
    return status;
}

hnk_status hnk__evict_bytes(hnk__write *write, hnk__touched *in, uint64_t bytes)
{
    hnk_status status = HNK_OK;
    uint64_t goal = in->tally.charged_bytes > bytes ? in->tally.charged_bytes - bytes : 0;
    while (status == HNK_OK && in->tally.entries > 0 && in->tally.charged_bytes > goal)
        status = evict_one(write, in, UINT32_MAX);
    return status;
}
