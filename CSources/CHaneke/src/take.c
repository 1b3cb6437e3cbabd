/* take.c: slots for entries, in the writers' turn. What a transaction takes is given back if it aborts; what it leaves
 * is free after its commit and not before. */
#include "internal.h"

#include <string.h>

/* The next free cell, off the chain or past all others; its access time is none. */
static hnk_status take_cell(hnk__write *write, hnk__touched *in, uint32_t *out_slot)
{
    hnk__slots *file = &in->bucket->file;
    hnk__moved moved = { .in = in };
    hnk_status status;

    if (in->tally.free_slot != 0) {
        moved.slot = in->tally.free_slot - 1;
        if (moved.slot >= in->tally.slots)
            return HNK_DAMAGED;
        hnk__cell cell = hnk__cell_get(file, moved.slot);
        if (cell.use != HNK_CELL_FREE)
            return HNK_DAMAGED;
        moved.next = cell.next;
        if ((status = hnk__write_note_moved(write, &moved)) != HNK_OK)
            return status;
        in->tally.free_slot = cell.next;
    } else {
        moved.slot = in->tally.slots;
        if (!hnk__slots_cover(file, moved.slot + 1))
            return HNK_ERROR_DISK_FULL;
        in->tally.slots++; /* an abort forgets it with the rest of the tally */
    }
    hnk__slots_stamp(file, moved.slot, HNK_STAMP_NONE);
    *out_slot = moved.slot;
    return HNK_OK;
}

hnk_status hnk__slot_take(hnk__write *write, hnk__touched *in, const hnk__key *record_key, uint32_t *out_slot)
{
    const uint8_t *stored = record_key->bytes + HNK_PREFIX_BYTES;
    size_t size = record_key->size - HNK_PREFIX_BYTES;
    uint32_t count = hnk__cells_for(size), slots[HNK_CELLS_MAX];
    hnk_status status;

    for (uint32_t i = 0; i < count; i++)
        if ((status = take_cell(write, in, &slots[i])) != HNK_OK)
            return status;
    hnk__cell_write_key(&in->bucket->file, slots, (hnk_bytes){ stored, size });
    *out_slot = slots[0];
    return HNK_OK;
}

hnk_status hnk__slot_leave(hnk__write *write, hnk__touched *in, uint32_t slot)
{
    hnk__slots *file = &in->bucket->file;
    hnk__moved moved = { .in = in, .slot = slot, .leaving = true, .stamp = hnk__slots_stamp_of(file, slot) };
    hnk_status status;

    if ((status = hnk__write_note_moved(write, &moved)) != HNK_OK)
        return status;
    hnk__cell_set_use(file, slot, HNK_CELL_LEAVING);
    hnk__slots_stamp(file, slot, HNK_STAMP_NONE);
    return HNK_OK;
}

/* Puts a cell, and those where its key goes on, onto the chain of free ones. */
static void free_cells(hnk__touched *in, uint32_t slot)
{
    hnk__slots *file = &in->bucket->file;
    hnk__cell cell = hnk__cell_get(file, slot);
    uint32_t count = hnk__cells_for(cell.size);

    for (uint32_t i = 0;; i++) {
        hnk__cell free = { .use = HNK_CELL_FREE, .next = in->tally.free_slot };
        uint32_t next = cell.next;
        hnk__cell_put_head(file, slot, &free);
        hnk__slots_stamp(file, slot, HNK_STAMP_NONE);
        in->tally.free_slot = slot + 1;
        if (i + 1 >= count || next == 0 || next > in->tally.slots)
            return; /* a key that ends early: the cells past the break are found by the next repair */
        slot = next - 1;
        cell = hnk__cell_get(file, slot);
        if (cell.use != HNK_CELL_MORE)
            return;
    }
}

void hnk__moved_commit(hnk__write *write)
{
    for (size_t i = 0; i < write->moved_count; i++)
        if (write->moved[i].leaving && write->moved[i].in != NULL)
            free_cells(write->moved[i].in, write->moved[i].slot);
}

void hnk__moved_abort(hnk__write *write)
{
    for (size_t i = write->moved_count; i > 0; i--) {
        const hnk__moved *moved = &write->moved[i - 1];
        if (moved->in == NULL)
            continue;
        hnk__slots *file = &moved->in->bucket->file;
        if (!moved->leaving) {
            hnk__cell free = { .use = HNK_CELL_FREE, .next = moved->next };
            hnk__slots_stamp(file, moved->slot, HNK_STAMP_NONE);
            hnk__cell_put_head(file, moved->slot, &free);
            continue;
        }
        hnk__cell_set_use(file, moved->slot, HNK_CELL_ENTRY);
        if (hnk__slots_stamp_of(file, moved->slot) == HNK_STAMP_NONE)
            hnk__slots_stamp(file, moved->slot, moved->stamp);
    }
}

void hnk__moved_forget(hnk__write *write, const hnk__touched *in)
{
    for (size_t i = 0; i < write->moved_count; i++)
        if (write->moved[i].in == in)
            write->moved[i].in = NULL;
}
