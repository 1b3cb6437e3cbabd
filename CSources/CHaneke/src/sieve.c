/* sieve.c: the other order of eviction. Entries stand in a list by insertion; a hand goes from the oldest to the newest
 * and takes the first that nobody has read since it last passed (Zhang et al., NSDI 2024). The list lies in the cells,
 * "read" is a bit of the access time, so a hit costs what it costs with LRU. */
#include "internal.h"

static hnk__cell get(const hnk__touched *in, uint32_t slot)
{
    return hnk__cell_get(&in->bucket->file, slot);
}

static void put(hnk__touched *in, uint32_t slot, const hnk__cell *cell)
{
    hnk__cell_put_head(&in->bucket->file, slot, cell);
}

/* Whether a link (+ 1) leads to a cell of the bucket. */
static bool leads(const hnk__touched *in, uint32_t link)
{
    return link != 0 && link <= in->tally.slots;
}

/* Whether the list ends where the counts say so. */
static bool end_holds(const hnk__touched *in)
{
    if (in->tally.newest == 0)
        return in->tally.oldest == 0;
    if (!leads(in, in->tally.newest))
        return false;
    hnk__cell newest = get(in, in->tally.newest - 1);
    return newest.use == HNK_CELL_ENTRY && newest.newer == 0;
}

/* Whether what stands on either side of a cell leads back to it. */
static bool sides_hold(const hnk__touched *in, uint32_t slot, const hnk__cell *cell)
{
    uint32_t link = slot + 1;
    if ((cell->older == 0) != (in->tally.oldest == link) || (cell->newer == 0) != (in->tally.newest == link))
        return false;
    return (cell->older == 0 || (leads(in, cell->older) && get(in, cell->older - 1).newer == link)) &&
           (cell->newer == 0 || (leads(in, cell->newer) && get(in, cell->newer - 1).older == link));
}

/* A list that does not hold together would keep entries out of the hand's way for ever: it is made anew before the
 * transaction ends. */
static void distrust(const hnk__touched *in)
{
    hnk__key key;
    hnk__key_row(&key, HNK_TABLE_BUCKET, in->bucket->id, (hnk_bytes){ NULL, 0 });
    hnk__store_doom(in->bucket->store, &key, 0);
}

void hnk__sieve_link(hnk__touched *in, uint32_t slot)
{
    hnk__cell cell = get(in, slot);
    if (!end_holds(in)) {
        distrust(in);
        return;
    }
    cell.older = in->tally.newest;
    cell.newer = 0;
    put(in, slot, &cell);
    if (cell.older != 0) {
        hnk__cell before = get(in, in->tally.newest - 1);
        before.newer = slot + 1;
        put(in, in->tally.newest - 1, &before);
    } else {
        in->tally.oldest = slot + 1;
    }
    in->tally.newest = slot + 1;
}

void hnk__sieve_unlink(hnk__touched *in, uint32_t slot)
{
    hnk__cell cell = get(in, slot);
    if (!sides_hold(in, slot, &cell)) {
        distrust(in);
        return;
    }
    if (cell.older != 0) {
        hnk__cell older = get(in, cell.older - 1);
        older.newer = cell.newer;
        put(in, cell.older - 1, &older);
    } else {
        in->tally.oldest = cell.newer;
    }
    if (cell.newer != 0) {
        hnk__cell newer = get(in, cell.newer - 1);
        newer.older = cell.older;
        put(in, cell.newer - 1, &newer);
    } else {
        in->tally.newest = cell.older;
    }
    if (in->tally.hand == slot + 1)
        in->tally.hand = cell.newer;
}

uint32_t hnk__sieve_choose(hnk__touched *in, uint32_t keep)
{
    hnk__slots *file = &in->bucket->file;
    uint32_t link = in->tally.hand;

    /* Twice round at most: once to clear the bits, once to find one clear. */
    for (uint64_t passed = 0; passed <= 2 * in->tally.entries + 1; passed++) {
        if (!leads(in, link))
            link = in->tally.oldest;
        if (!leads(in, link))
            break;
        uint32_t slot = link - 1;
        uint64_t stamp = hnk__slots_stamp_of(file, slot);
        if ((stamp & HNK_STAMP_READ) == 0 && slot != keep) {
            in->tally.hand = link; /* it leaves the list next, which moves the hand on */
            return slot;
        }
        if (slot != keep) /* the bit alone: a reader may be setting the time */
            atomic_fetch_and_explicit(hnk__slots_stamp_at(file, slot), ~(uint64_t)HNK_STAMP_READ,
                                      memory_order_relaxed);
        link = get(in, slot).newer;
    }
    return UINT32_MAX;
}
