/* list.c: walking the entries in steps, by key or by last access, with no snapshot held between the steps. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct aged { uint64_t stamp; uint32_t slot; };

struct hnk_list {
    hnk_bucket *bucket;
    hnk_bytes prefix;         /* a copy */
    hnk_list_order order;
    bool done;                /* nothing is left to read */

    hnk_entry *entries;       /* of the step; keys point into `keys` */
    size_t count, at;
    char *keys;
    size_t keys_used, keys_room;

    hnk__key last;            /* by key: the row that the next step begins at, */
    bool passed;              /* or after */
    struct aged *slots;       /* by access: all of them, oldest first */
    size_t slot_count, slot_at;
};

static int by_age(const void *left, const void *right)
{
    const struct aged *a = left, *b = right;
    if (a->stamp != b->stamp)
        return a->stamp < b->stamp ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Keeps an entry of the step, with a copy of its key; offsets stand for pointers until the step is complete. */
static hnk_status keep(hnk_list *list, const hnk__record *record, size_t row_key_bytes, size_t row_bytes)
{
    hnk__found found = { .record = *record, .row_key_bytes = row_key_bytes, .row_bytes = row_bytes, .blob = -1 };
    hnk_entry *entry = &list->entries[list->count];

    found.accessed_ns = hnk__slots_stamp_of(&list->bucket->file, record->header.slot);
    uint64_t expiry = hnk__record_expiry(&record->header, found.accessed_ns / 1000000u);
    found.expired = expiry != 0 && expiry <= hnk__now_ms();
    if (list->keys_used + record->key.size > list->keys_room) {
        size_t room = (list->keys_used + record->key.size) * 2;
        char *moved = realloc(list->keys, room);
        if (moved == NULL)
            return HNK_ERROR_MEMORY;
        list->keys = moved;
        list->keys_room = room;
    }
    hnk__found_describe(list->bucket->store, &found, entry);
    memcpy(list->keys + list->keys_used, record->key.data, record->key.size);
    entry->key = (hnk_bytes){ (const void *)(uintptr_t)list->keys_used, record->key.size };
    list->keys_used += record->key.size;
    list->count++;
    return HNK_OK;
}

static bool has_prefix(const hnk_list *list, hnk_bytes key)
{
    return key.size >= list->prefix.size &&
           (list->prefix.size == 0 || memcmp(key.data, list->prefix.data, list->prefix.size) == 0);
}

/* Sets where the first step by key begins. */
static hnk_status begin_by_key(hnk_list *list, hnk_bytes after)
{
    hnk__key passed;
    uint32_t id = list->bucket->id;
    size_t comparable = list->prefix.size < HNK_KEY_HEAD_BYTES ? list->prefix.size : HNK_KEY_HEAD_BYTES;

    hnk__key_row(&list->last, HNK_TABLE_RECORD, id, (hnk_bytes){ list->prefix.data, comparable });
    if (after.size == 0)
        return HNK_OK;
    hnk_status status = hnk__key_record(&passed, id, after);
    if (status != HNK_OK)
        return status;
    size_t common = passed.size < list->last.size ? passed.size : list->last.size;
    int order = memcmp(passed.bytes, list->last.bytes, common);
    if (order > 0 || (order == 0 && passed.size >= list->last.size)) {
        list->last = passed;
        list->passed = true;
    }
    return HNK_OK;
}

static hnk_status step_by_key(hnk_list *list, hnk__txn *txn)
{
    hnk__cursor *cursor = NULL;
    hnk_bytes name, row;
    hnk_status status;
    uint32_t id = list->bucket->id;
    size_t comparable = list->prefix.size < HNK_KEY_HEAD_BYTES ? list->prefix.size : HNK_KEY_HEAD_BYTES;

    if ((status = hnk__cursor_open(txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, &list->last, &name, &row);
    if (status == HNK_OK && list->passed && name.size == list->last.size &&
        memcmp(name.data, list->last.bytes, name.size) == 0)
        status = hnk__cursor_next(cursor, &name, &row);
    while (status == HNK_OK && list->count < HNK_LIST_STEP) {
        hnk__record record;
        if (!hnk__key_is(name, HNK_TABLE_RECORD, id) || name.size - HNK_PREFIX_BYTES < comparable ||
            memcmp((const char *)name.data + HNK_PREFIX_BYTES, list->prefix.data, comparable) != 0) {
            status = HNK_NOT_FOUND;
            break;
        }
        list->passed = true;
        list->last.size = (uint16_t)name.size;
        memcpy(list->last.bytes, name.data, name.size);
        if (hnk__record_parse(&record, name, row) && has_prefix(list, record.key) &&
            (status = keep(list, &record, name.size, row.size)) != HNK_OK)
            break;
        status = hnk__cursor_next(cursor, &name, &row);
    }
    hnk__cursor_close(&cursor);
    if (status != HNK_NOT_FOUND)
        return status;
    list->done = true;
    return HNK_OK;
}

static hnk_status step_by_access(hnk_list *list, hnk__txn *txn)
{
    hnk_status status = HNK_OK;

    while (status == HNK_OK && list->count < HNK_LIST_STEP && list->slot_at < list->slot_count) {
        uint32_t slot = list->slots[list->slot_at++].slot;
        hnk__record record;
        hnk__key key;
        hnk_bytes row;
        if (!hnk__cell_key(&list->bucket->file, list->bucket->id, slot, &key))
            continue;
        status = hnk__row_get(txn, &key, &row);
        if (status == HNK_OK && hnk__record_parse(&record, (hnk_bytes){ key.bytes, key.size }, row) &&
            record.header.slot == slot && has_prefix(list, record.key))
            status = keep(list, &record, key.size, row.size);
        if (status == HNK_NOT_FOUND)
            status = HNK_OK;
    }
    list->done = list->slot_at == list->slot_count;
    return status;
}

static hnk_status step(hnk_list *list)
{
    hnk__txn *txn = NULL;
    hnk_status status;

    list->count = list->at = list->keys_used = 0;
    if ((status = hnk__store_check(list->bucket->store)) != HNK_OK ||
        (status = hnk__read_begin(list->bucket->store->environment, &txn)) != HNK_OK)
        return status;
    status = list->order == HNK_LIST_BY_KEY ? step_by_key(list, txn) : step_by_access(list, txn);
    hnk__read_end(&txn);
    for (size_t i = 0; i < list->count; i++)
        list->entries[i].key.data = list->keys + (uintptr_t)list->entries[i].key.data;
    return status;
}

/* Notes every slot that may be in use with its access time, oldest first. */
static hnk_status sort_slots(hnk_list *list, uint32_t slots)
{
    if ((list->slots = malloc((slots > 0 ? slots : 1) * sizeof *list->slots)) == NULL)
        return HNK_ERROR_MEMORY;
    for (uint32_t slot = 0; slot < slots; slot++) {
        /* Without a time it is free, or in use with its time lost: the cell will tell. */
        uint64_t stamp = hnk__slots_stamp_of(&list->bucket->file, slot);
        list->slots[list->slot_count++] = (struct aged){ stamp, slot };
    }
    qsort(list->slots, list->slot_count, sizeof *list->slots, by_age);
    return HNK_OK;
}

hnk_status hnk_list_open(hnk_bucket *bucket, const hnk_list_options *options, hnk_list **out_list)
{
    hnk_list_options resolved = HNK_LIST_OPTIONS_INIT;
    hnk_list *list = NULL;
    hnk__bucket_row row;
    hnk__tally tally;
    hnk_status status;

    assert(bucket != NULL);
    *out_list = NULL;
    if (!hnk__options_resolve(&resolved, sizeof resolved, sizeof resolved, options) ||
        resolved.order > HNK_LIST_BY_ACCESS)
        return HNK_ERROR_ARGUMENT;
    if (resolved.order == HNK_LIST_BY_ACCESS && resolved.after.size > 0)
        return HNK_ERROR_ARGUMENT;
    if (resolved.prefix.size > HNK_KEY_MAX_BYTES || resolved.after.size > HNK_KEY_MAX_BYTES)
        return HNK_ERROR_KEY_SIZE;
    if ((status = hnk__bucket_read(bucket, &row, &tally)) != HNK_OK)
        return status;
    if ((list = calloc(1, sizeof *list)) == NULL)
        return HNK_ERROR_MEMORY;
    list->bucket = bucket;
    list->order = (hnk_list_order)resolved.order;
    char *prefix = malloc(resolved.prefix.size + 1);
    list->entries = malloc(HNK_LIST_STEP * sizeof *list->entries);
    hnk__bucket_retain(bucket);
    if (prefix == NULL || list->entries == NULL)
        status = HNK_ERROR_MEMORY;
    if (prefix != NULL && resolved.prefix.size > 0)
        memcpy(prefix, resolved.prefix.data, resolved.prefix.size);
    list->prefix = (hnk_bytes){ prefix, resolved.prefix.size };
    if (status == HNK_OK)
        status = list->order == HNK_LIST_BY_ACCESS ? sort_slots(list, tally.slots)
                                                   : begin_by_key(list, resolved.after);
    if (status != HNK_OK) {
        hnk_list_close(list);
        return status;
    }
    *out_list = list;
    return HNK_OK;
}

hnk_status hnk_list_next(hnk_list *list, hnk_entry *out_entry)
{
    hnk_status status;
    while (list->at == list->count) {
        if (list->done)
            return HNK_NOT_FOUND;
        if ((status = step(list)) != HNK_OK)
            return status;
    }
    hnk__options_give(out_entry, &list->entries[list->at++], sizeof *list->entries);
    return HNK_OK;
}

void hnk_list_close(hnk_list *list)
{
    if (list == NULL)
        return;
    hnk_bucket_close(list->bucket);
    free((void *)(uintptr_t)list->prefix.data);
    free(list->entries);
    free(list->keys);
    free(list->slots);
    free(list);
}
