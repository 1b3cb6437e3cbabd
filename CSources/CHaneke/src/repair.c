/* repair.c: a bucket's cells, free chain and counts made anew from its records, after damage or a writer's death.
 * O(entries). */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct repairing {
    hnk__write *write;
    hnk__touched *in;
    uint8_t *used;       /* a bit for each slot */
    uint32_t room;       /* of used[], in slots */
    uint32_t unused_at;  /* no slot below is unused */
};

/* Makes used[] long enough for `slots`. */
static bool make_room(struct repairing *repairing, uint32_t slots)
{
    if (slots <= repairing->room)
        return true;
    uint32_t room = slots < HNK_SLOTS_MAX / 2 ? slots * 2 : HNK_SLOTS_MAX;
    room = (room + 7) / 8 * 8;
    uint8_t *moved = realloc(repairing->used, room / 8);
    if (moved == NULL)
        return false;
    memset(moved + repairing->room / 8, 0, (room - repairing->room) / 8);
    repairing->used = moved;
    repairing->room = room;
    return true;
}

static bool is_used(const struct repairing *repairing, uint32_t slot)
{
    return slot < repairing->room && (repairing->used[slot / 8] & 1u << slot % 8) != 0;
}

static void use(struct repairing *repairing, uint32_t slot)
{
    repairing->used[slot / 8] |= (uint8_t)(1u << slot % 8);
    if (slot >= repairing->in->tally.slots)
        repairing->in->tally.slots = slot + 1;
}

static void count(struct repairing *repairing, const hnk__header *header, size_t row_key_bytes, size_t row_bytes)
{
    hnk__tally *tally = &repairing->in->tally;
    size_t page_bytes = hnk__environment_page_bytes(repairing->write->store->environment);
    uint64_t blob = (header->flags & HNK_RECORD_BLOB) != 0 ? hnk__record_blob_charge(header->value_bytes) : 0;
    tally->entries++;
    tally->payload_bytes += header->value_bytes;
    tally->blob_bytes += blob;
    tally->charged_bytes += hnk__record_charge(page_bytes, row_key_bytes, row_bytes, blob);
    if (tally->generation < header->generation)
        tally->generation = header->generation;
}

/* First pass: counts what holds, drops what does not. */
static hnk_status sift(struct repairing *repairing)
{
    hnk__touched *in = repairing->in;
    hnk__cursor *cursor = NULL;
    hnk_bytes name, bytes;
    hnk__key first;
    hnk_status status;

    hnk__key_row(&first, HNK_TABLE_RECORD, in->bucket->id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(repairing->write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &bytes);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, in->bucket->id)) {
        hnk__record record;
        if (!hnk__record_parse(&record, name, bytes) || !hnk__record_header_holds(&record) ||
            record.header.slot >= in->bucket->file.slots_max || is_used(repairing, record.header.slot)) {
            in->tally.corruptions++;
            in->lost_blobs = true;
            status = hnk__cursor_delete(cursor, &name, &bytes);
            continue;
        }
        if (!make_room(repairing, record.header.slot + 1)) {
            status = HNK_ERROR_MEMORY;
            break;
        }
        use(repairing, record.header.slot);
        count(repairing, &record.header, name.size, bytes.size);
        status = hnk__cursor_next(cursor, &name, &bytes);
    }
    hnk__cursor_close(&cursor);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

/* A cell for a long key to go on in. */
static hnk_status take_unused(struct repairing *repairing, uint32_t *out)
{
    while (is_used(repairing, repairing->unused_at))
        repairing->unused_at++;
    if (!make_room(repairing, repairing->unused_at + 1))
        return HNK_ERROR_MEMORY;
    use(repairing, repairing->unused_at);
    *out = repairing->unused_at;
    return hnk__slots_cover(&repairing->in->bucket->file, repairing->in->tally.slots) ? HNK_OK : HNK_ERROR_DISK_FULL;
}

static hnk_status write_cells(struct repairing *repairing, hnk_bytes stored, uint32_t slot)
{
    hnk__slots *file = &repairing->in->bucket->file;
    uint32_t slots[HNK_CELLS_MAX] = { slot };
    hnk_status status;

    for (uint32_t i = 1; i < hnk__cells_for(stored.size); i++) {
        if ((status = take_unused(repairing, &slots[i])) != HNK_OK)
            return status;
        hnk__slots_stamp(file, slots[i], HNK_STAMP_NONE);
    }
    hnk__cell_write_key(file, slots, stored);
    if (hnk__slots_stamp_of(file, slot) == HNK_STAMP_NONE)
        hnk__slots_stamp(file, slot, HNK_STAMP_UNKNOWN);
    return HNK_OK;
}

struct made { uint64_t generation; uint32_t slot; };

static int by_generation(const void *left, const void *right)
{
    const struct made *a = left, *b = right;
    return a->generation < b->generation ? -1 : a->generation > b->generation;
}

/* Second pass: the cells of each record; `made` gets all slots where it isn't NULL. */
static hnk_status write_entries(struct repairing *repairing, struct made *made)
{
    uint32_t id = repairing->in->bucket->id;
    hnk__cursor *cursor = NULL;
    hnk_bytes name, bytes;
    hnk__key first;
    hnk_status status;

    hnk__key_row(&first, HNK_TABLE_RECORD, id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(repairing->write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &bytes);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, id)) {
        hnk__header header;
        memcpy(&header, bytes.data, sizeof header);
        if (made != NULL)
            *made++ = (struct made){ header.generation, header.slot };
        hnk_bytes stored = { (const char *)name.data + HNK_PREFIX_BYTES, name.size - HNK_PREFIX_BYTES };
        if ((status = write_cells(repairing, stored, header.slot)) == HNK_OK)
            status = hnk__cursor_next(cursor, &name, &bytes);
    }
    hnk__cursor_close(&cursor);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

static void write_free_cells(struct repairing *repairing)
{
    hnk__touched *in = repairing->in;
    for (uint32_t slot = in->tally.slots; slot-- > 0;) {
        hnk__cell free = { .use = HNK_CELL_FREE, .next = in->tally.free_slot };
        if (is_used(repairing, slot))
            continue;
        hnk__cell_put_head(&in->bucket->file, slot, &free);
        hnk__slots_stamp(&in->bucket->file, slot, HNK_STAMP_NONE);
        in->tally.free_slot = slot + 1;
    }
}

static hnk_status write_all(struct repairing *repairing)
{
    hnk__touched *in = repairing->in;
    struct made *made = NULL;
    hnk_status status;

    if (!hnk__slots_cover(&in->bucket->file, in->tally.slots))
        return HNK_ERROR_DISK_FULL;
    if (in->row.eviction == HNK_EVICTION_SIEVE &&
        (made = malloc((size_t)(in->tally.entries + 1) * sizeof *made)) == NULL)
        return HNK_ERROR_MEMORY;
    status = write_entries(repairing, made);
    if (status == HNK_OK) {
        write_free_cells(repairing);
        if (made != NULL)
            qsort(made, (size_t)in->tally.entries, sizeof *made, by_generation);
        for (uint64_t i = 0; made != NULL && i < in->tally.entries; i++)
            hnk__sieve_link(in, made[i].slot);
    }
    free(made);
    return status;
}

hnk_status hnk__bucket_repair(hnk__write *write, hnk__touched *in)
{
    struct repairing repairing = { .write = write, .in = in };
    hnk__slots_header *header = in->bucket->file.header;
    hnk_status status;

    in->repaired = in->spoilt = in->row_changed = true;
    hnk__moved_forget(write, in);
    hnk__tally_empty(&in->tally);
    in->bucket->oldest.count = 0;
    if ((status = sift(&repairing)) == HNK_OK && (status = write_all(&repairing)) == HNK_OK) {
        /* Past whatever a writer that died may have given out: a generation names one record for ever. */
        if (in->tally.generation > 0)
            in->tally.generation += HNK_GENERATION_LEAP;
        /* Its own file keeps its incarnation: should we die before the commit, the row still knows it, and its counts
         * are not taken for another file's. */
        if (in->row.incarnation == 0 ||
            in->row.incarnation != atomic_load_explicit(&header->incarnation, memory_order_relaxed)) {
            do
                hnk__random(&in->row.incarnation, sizeof in->row.incarnation);
            while (in->row.incarnation == 0);
            atomic_store_explicit(&header->incarnation, in->row.incarnation, memory_order_relaxed);
        }
    }
    free(repairing.used);
    return status;
}
