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

/* Notes a slot among the oldest known, which stand in order. */
static void note(hnk__oldest *known, uint32_t slot, uint64_t stamp)
{
    uint32_t at = known->count;
    if (at == HNK_OLDEST_MAX && stamp >= known->of[--at].stamp)
        return;
    known->count = at + 1;
    for (; at > 0 && known->of[at - 1].stamp > stamp; at--)
        known->of[at] = known->of[at - 1];
    known->of[at] = (hnk__aged){ stamp, slot };
}

/* Takes the oldest known slot that has not been read, nor changed hands, since it was noted; UINT32_MAX = none. */
static uint32_t take_known(hnk__touched *in, uint32_t keep)
{
    hnk__oldest *known = &in->bucket->oldest;
    uint32_t found = UINT32_MAX, left = 0;
    for (uint32_t i = 0; i < known->count; i++) {
        hnk__aged aged = known->of[i];
        if (found != UINT32_MAX || aged.slot == keep)
            known->of[left++] = aged;
        else if (hnk__slots_stamp_of(&in->bucket->file, aged.slot) == aged.stamp)
            found = aged.slot;
    }
    known->count = left;
    return found;
}

/* Looks at all slots; whether every entry has a time. Cells without an entry have none. */
static bool look_at_all(hnk__touched *in)
{
    hnk__oldest *known = &in->bucket->oldest;
    uint64_t timed = 0;
    known->count = 0;
    for (uint32_t base = 0; base < in->tally.slots; base += HNK_SLOTS_GROUP) {
        const _Atomic uint64_t *stamps = hnk__slots_stamp_at(&in->bucket->file, base);
        uint32_t count = in->tally.slots - base < HNK_SLOTS_GROUP ? in->tally.slots - base : HNK_SLOTS_GROUP;
        uint64_t newest = known->count < HNK_OLDEST_MAX ? UINT64_MAX : known->of[HNK_OLDEST_MAX - 1].stamp;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t stamp = atomic_load_explicit(&stamps[i], memory_order_relaxed);
            timed += stamp != HNK_STAMP_NONE;
            if (stamp >= newest || stamp == HNK_STAMP_NONE)
                continue;
            note(known, base + i, stamp);
            if (known->count == HNK_OLDEST_MAX)
                newest = known->of[HNK_OLDEST_MAX - 1].stamp;
        }
    }
    return timed >= in->tally.entries; /* entries whose time was lost would never go */
}

/* Whoever was noted at one look is still older than all others: times only go up. */
static uint32_t oldest_of_all(hnk__touched *in, uint32_t keep)
{
    uint32_t slot = take_known(in, keep);
    return slot == UINT32_MAX && look_at_all(in) ? take_known(in, keep) : slot;
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

static bool is_known(const hnk__oldest *known, uint32_t slot)
{
    for (uint32_t i = 0; i < known->count; i++)
        if (known->of[i].slot == slot)
            return true;
    return false;
}

/* The oldest of some random slots and of the oldest drawn before. */
static uint32_t oldest_of_sample(hnk_store *store, hnk__touched *in, uint32_t keep)
{
    hnk__oldest *known = &in->bucket->oldest;
    unsigned wanted = known->count > 0 ? HNK_SAMPLE_SLOTS : HNK_SAMPLE_FIRST_SLOTS, seen = 0;
    for (unsigned tries = 0; tries < HNK_SAMPLE_TRIES && seen < wanted; tries++) {
        uint32_t slot = draw(store, in->tally.slots);
        uint64_t stamp = hnk__slots_stamp_of(&in->bucket->file, slot);
        if (stamp == HNK_STAMP_NONE || slot == keep)
            continue;
        seen++;
        if (!is_known(known, slot))
            note(known, slot, stamp);
    }
    uint32_t oldest = take_known(in, keep);
    return oldest != UINT32_MAX ? oldest : next_in_use(store, in, keep);
}

static uint32_t choose_slot(hnk_store *store, hnk__touched *in, uint32_t keep)
{
    if (in->row.eviction == HNK_EVICTION_SIEVE)
        return hnk__sieve_choose(in, keep);
    return in->tally.slots > HNK_EXACT_SLOTS_MAX ? oldest_of_sample(store, in, keep) : oldest_of_all(in, keep);
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
