/* entry.c: finding, setting and removing entries within a write transaction. */
#include "internal.h"

#include <string.h>

static hnk__blob_name blob_of(const hnk__header *header)
{
    return (hnk__blob_name){ header->bucket_id, header->slot, header->generation };
}

/* Finds the record of `key` as writers need it: proven to the header, counted, with its charge. HNK_DAMAGED if it can't
 * be believed. */
static hnk_status find(hnk__write *write, hnk__touched *in, const hnk__key *key, hnk__record *out, uint64_t *out_charge)
{
    const hnk__header *header = &out->header;
    const hnk__tally *tally = &in->tally;
    hnk_bytes row;
    hnk_status status;

    if ((status = hnk__row_get(write->txn, key, &row)) != HNK_OK)
        return status;
    if (!hnk__record_parse(out, (hnk_bytes){ key->bytes, key->size }, row) || !hnk__record_header_holds(out))
        return HNK_DAMAGED;
    uint64_t blob = (header->flags & HNK_RECORD_BLOB) != 0 ? hnk__record_blob_charge(header->value_bytes) : 0;
    *out_charge =
        hnk__record_charge(hnk__environment_page_bytes(write->store->environment), key->size, row.size, blob);
    bool counted = header->slot < tally->slots && tally->entries > 0 && tally->charged_bytes >= *out_charge &&
                   tally->payload_bytes >= header->value_bytes && tally->blob_bytes >= blob;
    return counted ? HNK_OK : HNK_DAMAGED;
}

/* The same, after a repair if need be, which drops what can't be believed. */
static hnk_status find_sound(
    hnk__write *write, hnk__touched *in, const hnk__key *key, hnk__record *out, uint64_t *out_charge)
{
    hnk_status status = find(write, in, key, out, out_charge);
    if (status != HNK_DAMAGED)
        return status;
    if ((status = hnk__bucket_repair(write, in)) == HNK_OK &&
        (status = find(write, in, key, out, out_charge)) == HNK_DAMAGED)
        status = HNK_ERROR_INTERNAL;
    return status;
}

/* Takes an entry's numbers off the bucket's, and notes its blob for unlinking. */
static hnk_status discount(hnk__write *write, hnk__touched *in, const hnk__header *header, uint64_t charge)
{
    in->tally.entries--;
    in->tally.charged_bytes -= charge;
    in->tally.payload_bytes -= header->value_bytes;
    if ((header->flags & HNK_RECORD_BLOB) == 0)
        return HNK_OK;
    in->tally.blob_bytes -= hnk__record_blob_charge(header->value_bytes);
    return hnk__write_note_dead(write, blob_of(header));
}

/* Removes a record that has been found. */
static hnk_status remove_found(
    hnk__write *write, hnk__touched *in, const hnk__key *key, const hnk__record *record, uint64_t charge)
{
    hnk__header header = record->header; /* the record goes with its row */
    hnk_status status;

    if ((status = hnk__row_delete(write->txn, key)) != HNK_OK ||
        (status = discount(write, in, &header, charge)) != HNK_OK)
        return status;
    if (in->row.eviction == HNK_EVICTION_SIEVE) {
        hnk__sieve_unlink(in, header.slot);
        in->spoilt = true;
    }
    return hnk__slot_leave(write, in, header.slot);
}

/* A slot for a new key. */
static hnk_status take_slot(hnk__write *write, hnk__touched *in, const hnk__key *key, uint32_t *out)
{
    hnk_status status = hnk__slot_take(write, in, key, out);
    if (status == HNK_DAMAGED && (status = hnk__bucket_repair(write, in)) == HNK_OK)
        status = hnk__slot_take(write, in, key, out);
    if (status == HNK_OK && in->row.eviction == HNK_EVICTION_SIEVE) {
        hnk__sieve_link(in, *out);
        in->spoilt = true; /* links of what was committed */
    }
    return status;
}

hnk_status hnk__entry_remove(hnk__write *write, hnk__touched *in, const hnk__key *key)
{
    hnk__record record;
    uint64_t charge;
    bool was_repaired = in->repaired;
    hnk_status status = find_sound(write, in, key, &record, &charge);

    if (status == HNK_NOT_FOUND && in->repaired && !was_repaired) /* the repair has removed it */
        return HNK_OK;
    return status == HNK_OK ? remove_found(write, in, key, &record, charge) : status;
}

hnk_status hnk__entry_evict(hnk__write *write, hnk__touched *in, const hnk__key *key, uint32_t slot)
{
    hnk__record record;
    uint64_t charge;
    hnk_status status = find(write, in, key, &record, &charge);

    if (status == HNK_OK && record.header.slot != slot)
        return HNK_DAMAGED;
    if (status == HNK_OK)
        status = hnk__notice_note(write, in->bucket, &record);
    return status == HNK_OK ? remove_found(write, in, key, &record, charge) : status;
}

hnk_status hnk__entries_clear(hnk__write *write, hnk__touched *in)
{
    hnk__cursor *cursor = NULL;
    hnk_bytes name, row;
    hnk__key first;
    hnk_status status;

    if (in->tally.slots == 0 && in->tally.entries == 0)
        return HNK_OK;
    hnk__key_row(&first, HNK_TABLE_RECORD, in->bucket->id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &first, &name, &row);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, in->bucket->id)) {
        hnk__record record;
        if (in->tally.blob_bytes > 0 && hnk__record_parse(&record, name, row) &&
            (record.header.flags & HNK_RECORD_BLOB) != 0 &&
            (status = hnk__write_note_dead(write, blob_of(&record.header))) != HNK_OK)
            break;
        status = hnk__cursor_delete(cursor, &name, &row);
    }
    hnk__cursor_close(&cursor);
    if (status != HNK_OK && status != HNK_NOT_FOUND)
        return status;
    hnk__moved_forget(write, in);
    hnk__tally_empty(&in->tally);
    in->spoilt = true; /* what is set next overwrites cells of what was committed */
    return HNK_OK;
}

/* When an entry set now with the operation's lifetime expires. */
static uint64_t expiry_of(const hnk__write *write, const hnk__touched *in, int64_t lifetime_ms)
{
    uint64_t lifetime;
    if (lifetime_ms == HNK_LIFETIME_DEFAULT)
        lifetime = in->row.lifetime_ms;
    else if (lifetime_ms == HNK_LIFETIME_FOREVER)
        lifetime = 0;
    else if (lifetime_ms < 0)
        return write->now_ms > 1 ? write->now_ms - 1 : 1;
    else
        lifetime = (uint64_t)lifetime_ms;
    return lifetime == 0 ? 0 : write->now_ms + lifetime;
}

/* Writes the record of an operation whose room has been made. */
static hnk_status put_record(
    hnk__write *write, hnk__touched *in, const hnk__key *key, const hnk_operation *operation, hnk__blob_draft *draft,
    uint32_t slot)
{
    bool is_long = operation->key.size > HNK_KEY_RAW_MAX_BYTES, blob = draft != NULL;
    hnk_bytes kept = is_long ? operation->key : (hnk_bytes){ NULL, 0 };
    uint64_t value_bytes = blob ? draft->size : operation->value.size;
    hnk__header header = {
        .version = HNK_RECORD_VERSION,
        .flags = (uint8_t)((is_long ? HNK_RECORD_LONG_KEY : 0) | (blob ? HNK_RECORD_BLOB : 0) |
                           ((operation->flags & HNK_SET_SLIDING) != 0 ? HNK_RECORD_SLIDING : 0)),
        .bucket_id = in->bucket->id,
        .slot = slot,
        .user_flags = operation->user_flags,
        .key_bytes = (uint32_t)kept.size,
        .metadata_bytes = (uint32_t)operation->metadata.size,
        .value_bytes = value_bytes,
        .generation = ++in->tally.generation,
        .written_at_ms = write->now_ms,
        .expires_at_ms = expiry_of(write, in, operation->lifetime_ms),
        .value_digest = blob ? hnk__digest_end(draft->digest)
                             : hnk__digest(operation->value.data, operation->value.size, 0),
    };
    hnk_status status;
    void *out;

    header.header_digest = hnk__record_header_digest(&header, operation->key, operation->metadata);
    if (blob && ((status = hnk__write_note_placed(write, blob_of(&header))) != HNK_OK ||
                 (status = hnk__blob_place(draft, write->store->directory, blob_of(&header))) != HNK_OK))
        return status;
    size_t size = hnk__record_size(operation->key.size, operation->metadata.size, value_bytes, blob);
    if ((status = hnk__row_reserve(write->txn, key, size, &out)) != HNK_OK)
        return status;
    hnk__record_write(out, &header, kept, operation->metadata, blob ? (hnk_bytes){ NULL, 0 } : operation->value);
    return HNK_OK;
}

hnk_status hnk__entry_set(
    hnk__write *write, hnk__touched *in, const hnk_operation *operation, hnk__blob_draft *draft,
    hnk_status *out_refusal)
{
    hnk__key key;
    hnk__record old;
    uint64_t old_charge = 0;
    hnk_status status;

    if ((status = hnk__key_record(&key, in->bucket->id, operation->key)) != HNK_OK)
        return status;
    uint64_t value_bytes = draft != NULL ? draft->size : operation->value.size;
    uint64_t blob_charge = draft != NULL ? hnk__record_blob_charge(value_bytes) : 0;
    size_t size = hnk__record_size(operation->key.size, operation->metadata.size, value_bytes, draft != NULL);
    uint64_t charge =
        hnk__record_charge(hnk__environment_page_bytes(write->store->environment), key.size, size, blob_charge);

    bool replaces = false, again;
    do {
        if ((status = find_sound(write, in, &key, &old, &old_charge)) != HNK_OK && status != HNK_NOT_FOUND)
            return status;
        replaces = status == HNK_OK;
        if (charge > in->row.capacity_bytes) {
            in->tally.refused++;
            *out_refusal = HNK_ERROR_VALUE_TOO_LARGE;
            return replaces ? remove_found(write, in, &key, &old, old_charge) : HNK_OK;
        }
        uint64_t more = !replaces ? charge : charge > old_charge ? charge - old_charge : 0;
        uint64_t entries = in->tally.entries;
        if ((status = hnk__evict_for(write, in, more, !replaces, replaces ? old.header.slot : UINT32_MAX)) != HNK_OK)
            return status;
        again = entries != in->tally.entries; /* rows have moved; a repair may even have dropped ours */
    } while (again);

    uint32_t slot;
    if (replaces) {
        slot = old.header.slot;
        status = discount(write, in, &old.header, old_charge);
    } else {
        status = take_slot(write, in, &key, &slot);
    }
    if (status != HNK_OK || (status = put_record(write, in, &key, operation, draft, slot)) != HNK_OK)
        return status;
    uint64_t now = hnk__slots_now(in->tally.slots);
    hnk__slots_stamp(&in->bucket->file, slot, replaces ? now | HNK_STAMP_READ : now);
    in->tally.entries++;
    in->tally.charged_bytes += charge;
    write->store->trim_bytes += charge;
    in->tally.payload_bytes += value_bytes;
    in->tally.blob_bytes += blob_charge;
    in->tally.writes++;
    return HNK_OK;
}
