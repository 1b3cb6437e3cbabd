/* repair.c: a bucket's slots, free chain and counts made anew from its records, after damage. O(entries). */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 64 };

/* First pass: counts what holds, drops what does not. `used` gets a bit for each slot. */
static hnk_status sift(hnk__write *write, hnk__touched *in, uint8_t *used)
{
    size_t page_bytes = hnk__environment_page_bytes(write->store->environment);
    hnk__bucket_row *row = &in->row;
    hnk__cursor *cursor = NULL;
    hnk_bytes name, bytes;
    hnk__key first;
    hnk_status status;

    row->entries = row->charged_bytes = row->payload_bytes = row->blob_bytes = 0;
    hnk__key_row(&first, HNK_TABLE_RECORD, in->bucket->id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &bytes);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, in->bucket->id)) {
        hnk__record record;
        uint32_t slot;
        if (!hnk__record_parse(&record, name, bytes) || !hnk__record_header_holds(&record) ||
            (slot = record.header.slot) >= row->slots || (used[slot / 8] & 1u << slot % 8) != 0) {
            row->corruptions++;
            write->lost_blobs = true;
            status = hnk__cursor_delete(cursor, &name, &bytes);
            continue;
        }
        used[slot / 8] |= (uint8_t)(1u << slot % 8);
        bool blob = (record.header.flags & HNK_RECORD_BLOB) != 0;
        uint64_t blob_charge = blob ? hnk__record_blob_charge(record.header.value_bytes) : 0;
        row->entries++;
        row->payload_bytes += record.header.value_bytes;
        row->blob_bytes += blob_charge;
        row->charged_bytes += hnk__record_charge(page_bytes, name.size, bytes.size, blob_charge);
        if (row->generation < record.header.generation)
            row->generation = record.header.generation;
        status = hnk__cursor_next(cursor, &name, &bytes);
    }
    hnk__cursor_close(&cursor);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

/* Second pass: a slot row for each record, some at a time, since a cursor is not moved on under writes. */
static hnk_status write_used_slots(hnk__write *write, hnk__touched *in)
{
    struct { hnk__key key; uint32_t slot; } *step = malloc(STEP * sizeof *step);
    hnk__key from;
    hnk_status status = HNK_OK;
    size_t count = STEP;

    if (step == NULL)
        return HNK_ERROR_MEMORY;
    hnk__key_row(&from, HNK_TABLE_RECORD, in->bucket->id, (hnk_bytes){ NULL, 0 });
    bool passed_first = false;
    while (status == HNK_OK && count == STEP) {
        hnk__cursor *cursor = NULL;
        hnk_bytes name, bytes;
        if ((status = hnk__cursor_open(write->txn, &cursor)) != HNK_OK)
            break;
        count = 0;
        status = hnk__cursor_seek(cursor, &from, &name, &bytes);
        if (status == HNK_OK && passed_first && name.size == from.size && memcmp(name.data, from.bytes, from.size) == 0)
            status = hnk__cursor_next(cursor, &name, &bytes);
        while (status == HNK_OK && count < STEP && hnk__key_is(name, HNK_TABLE_RECORD, in->bucket->id)) {
            hnk__header header;
            memcpy(&header, bytes.data, sizeof header);
            step[count].slot = header.slot;
            step[count].key.size = (uint16_t)name.size;
            memcpy(step[count].key.bytes, name.data, name.size);
            count++;
            status = hnk__cursor_next(cursor, &name, &bytes);
        }
        hnk__cursor_close(&cursor);
        if (status == HNK_NOT_FOUND)
            status = HNK_OK;
        for (size_t i = 0; i < count && status == HNK_OK; i++) {
            uint8_t row[1 + HNK_KEY_STORED_MAX_BYTES] = { HNK_SLOT_USED };
            hnk__key key;
            size_t stored = step[i].key.size - HNK_PREFIX_BYTES;
            memcpy(row + 1, step[i].key.bytes + HNK_PREFIX_BYTES, stored);
            hnk__key_slot(&key, in->bucket->id, step[i].slot);
            status = hnk__row_put(write->txn, &key, (hnk_bytes){ row, 1 + stored });
            if (hnk__access_read(&in->bucket->access, step[i].slot) == 0)
                hnk__access_stamp(&in->bucket->access, step[i].slot, 1);
        }
        if (count > 0)
            from = step[count - 1].key;
        passed_first = true;
    }
    free(step);
    return status;
}

static hnk_status write_free_slots(hnk__write *write, hnk__touched *in, const uint8_t *used)
{
    hnk_status status = HNK_OK;

    in->row.free_slot = 0;
    for (uint32_t slot = in->row.slots; slot-- > 0 && status == HNK_OK;) {
        uint8_t row[5] = { HNK_SLOT_FREE };
        hnk__key key;
        if ((used[slot / 8] & 1u << slot % 8) != 0)
            continue;
        memcpy(row + 1, &in->row.free_slot, sizeof in->row.free_slot);
        hnk__key_slot(&key, in->bucket->id, slot);
        status = hnk__row_put(write->txn, &key, (hnk_bytes){ row, sizeof row });
        in->row.free_slot = slot + 1;
        if (status == HNK_OK)
            status = hnk__slot_zero(write, in, slot);
    }
    return status;
}

/* The number of slots that the records themselves speak of. */
static hnk_status count_slots(hnk__write *write, hnk__touched *in, uint32_t *out)
{
    hnk__cursor *cursor = NULL;
    hnk_bytes name, bytes;
    hnk__key first;
    hnk_status status;

    *out = 0;
    hnk__key_row(&first, HNK_TABLE_RECORD, in->bucket->id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &bytes);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, in->bucket->id)) {
        hnk__record record;
        if (hnk__record_parse(&record, name, bytes) && hnk__record_header_holds(&record) &&
            record.header.slot < HNK_SLOTS_MAX && record.header.slot >= *out)
            *out = record.header.slot + 1;
        status = hnk__cursor_next(cursor, &name, &bytes);
    }
    hnk__cursor_close(&cursor);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

hnk_status hnk__bucket_repair(hnk__write *write, hnk__touched *in)
{
    uint8_t *used = NULL;
    hnk_status status;

    if ((status = count_slots(write, in, &in->row.slots)) != HNK_OK)
        goto done;
    if ((used = calloc(in->row.slots / 8 + 1, 1)) == NULL) {
        status = HNK_ERROR_MEMORY;
        goto done;
    }
    if (!hnk__access_grow(&in->bucket->access, in->row.slots)) {
        status = HNK_ERROR_DISK_FULL;
        goto done;
    }
    if ((status = sift(write, in, used)) != HNK_OK ||
        (status = hnk__table_clear(write, in, HNK_TABLE_SLOT)) != HNK_OK ||
        (status = write_used_slots(write, in)) != HNK_OK)
        goto done;
    status = write_free_slots(write, in, used);
done:
    free(used);
    return status;
}
