/* operations.c: the writes that callers ask for, each one transaction, tried again once after evicting when the disk
 * is full. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static hnk_status check_set(const hnk_operation *operation)
{
    if (operation->key.size == 0 || operation->key.size > HNK_KEY_MAX_BYTES)
        return HNK_ERROR_KEY_SIZE;
    if (operation->metadata.size > HNK_METADATA_MAX_BYTES)
        return HNK_ERROR_METADATA_SIZE;
    return HNK_OK;
}

/* What is wrong with the operation itself: of the caller's making, so it fails the whole call. */
static hnk_status check_form(const hnk_store *store, const hnk_operation *operation)
{
    if (operation->bucket == NULL || operation->bucket->store != store || operation->reserved != 0 ||
        (operation->flags & ~HNK_SET_SLIDING) != 0)
        return HNK_ERROR_ARGUMENT;
    if (operation->kind < HNK_OPERATION_SET || operation->kind > HNK_OPERATION_REMOVE_ALL)
        return HNK_ERROR_ARGUMENT;
    return HNK_OK;
}

static bool wants_blob(const hnk_store *store, const hnk_operation *operation)
{
    return operation->kind == HNK_OPERATION_SET && operation->value.size > store->options.blob_threshold_bytes;
}

/* Writes the files of large values before the writers' turn is taken. */
static hnk_status write_drafts(
    hnk_store *store, const hnk_operation *operations, const hnk_status *refusals, size_t count,
    hnk__blob_draft *drafts)
{
    hnk_status status = HNK_OK;
    for (size_t i = 0; i < count && status == HNK_OK; i++) {
        if (!wants_blob(store, &operations[i]) || refusals[i] != HNK_OK)
            continue;
        if ((status = hnk__blob_begin(&drafts[i], store)) == HNK_OK)
            status = hnk__blob_append(&drafts[i], operations[i].value);
        if (status == HNK_OK && store->options.sync_mode == HNK_SYNC_COMMIT)
            status = hnk__blob_sync(&drafts[i]);
    }
    return status;
}

static void discard_drafts(hnk_store *store, hnk__blob_draft *drafts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hnk__blob_discard(&drafts[i], store);
}

static hnk_status carry_out(
    hnk__write *write, const hnk_operation *operation, hnk__blob_draft *draft, hnk_status *refusal)
{
    hnk__touched *in;
    hnk__key key;
    hnk_status status;

    if ((status = hnk__write_touch(write, operation->bucket, &in)) == HNK_OK)
        switch (operation->kind) {
        case HNK_OPERATION_SET:
            status = hnk__entry_set(write, in, operation, draft->file >= 0 ? draft : NULL, refusal);
            break;
        case HNK_OPERATION_REMOVE:
            if ((status = hnk__key_record(&key, operation->bucket->id, operation->key)) == HNK_OK)
                status = hnk__entry_remove(write, in, &key);
            break;
        default:
            status = hnk__entries_clear(write, in);
        }
    if (status == HNK_NOT_FOUND) { /* no such key, or the bucket was dropped: an answer to this step alone */
        *refusal = HNK_NOT_FOUND;
        status = HNK_OK;
    }
    return status;
}

/* Evicts `bytes` from the buckets that are written to, but for values that are going to be refused. */
static hnk_status make_room(hnk_store *store, const hnk_operation *operations, size_t count, uint64_t bytes)
{
    hnk__write write;
    hnk_status status;

    if ((status = hnk__write_open(store, &write, NULL)) != HNK_OK)
        return status;
    for (size_t i = 0; i < count && status == HNK_OK && bytes > 0; i++) {
        hnk__touched *in;
        if (operations[i].kind != HNK_OPERATION_SET ||
            (status = hnk__write_touch(&write, operations[i].bucket, &in)) != HNK_OK ||
            operations[i].value.size > in->row.capacity_bytes)
            continue;
        uint64_t before = in->tally.charged_bytes;
        status = hnk__evict_bytes(&write, in, bytes);
        uint64_t gone = before - in->tally.charged_bytes;
        bytes = bytes > gone ? bytes - gone : 0;
    }
    return hnk__write_close(&write, status == HNK_NOT_FOUND ? HNK_OK : status, NULL);
}

/* What the sets among the operations write into data.mdb. */
static uint64_t row_bytes(const hnk_store *store, const hnk_operation *operations, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (operations[i].kind == HNK_OPERATION_SET)
            bytes += hnk__record_size(operations[i].key.size, operations[i].metadata.size, operations[i].value.size,
                                      wants_blob(store, &operations[i]));
    return bytes;
}

/* What they write altogether. */
static uint64_t all_bytes(const hnk_operation *operations, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (operations[i].kind == HNK_OPERATION_SET)
            bytes += operations[i].metadata.size + operations[i].value.size;
    return bytes;
}

static hnk_status apply_once(
    hnk_store *store, const hnk_operation *operations, size_t count, hnk_status *refusals, hnk_error *error)
{
    hnk__blob_draft none = { .file = -1 };
    hnk__blob_draft *drafts = NULL;
    hnk__write write;
    hnk_status status = HNK_OK;

    for (size_t i = 0; i < count; i++) {
        refusals[i] = operations[i].kind == HNK_OPERATION_REMOVE_ALL ? HNK_OK : check_set(&operations[i]);
        if (drafts == NULL && refusals[i] == HNK_OK && wants_blob(store, &operations[i])) {
            if ((drafts = malloc(count * sizeof *drafts)) == NULL)
                return hnk__fail(error, HNK_ERROR_MEMORY, 0, "writing to %s", store->path);
            for (size_t j = 0; j < count; j++)
                drafts[j] = none;
        }
    }
    if (drafts != NULL && (status = write_drafts(store, operations, refusals, count, drafts)) != HNK_OK) {
        hnk__fail(error, status, 0, "writing a value's file in %s/blobs", store->path);
        goto done;
    }
    if ((status = hnk__write_open(store, &write, error)) != HNK_OK)
        goto done;
    for (size_t i = 0; i < count && status == HNK_OK; i++)
        if (refusals[i] == HNK_OK)
            status = carry_out(&write, &operations[i], drafts != NULL ? &drafts[i] : &none, &refusals[i]);
    status = hnk__write_close(&write, status, error);
done:
    if (drafts != NULL)
        discard_drafts(store, drafts, count);
    free(drafts);
    return status;
}

hnk_status hnk_store_apply(
    hnk_store *store, const hnk_operation *operations, size_t count, hnk_status *out_statuses, hnk_error *error)
{
    hnk_status one = HNK_OK, *refusals = count <= 1 ? &one : NULL;
    hnk_status status;
    hnk_error detail; /* the caller's stays untouched if the second attempt succeeds */

    assert(store != NULL);
    if ((status = hnk__store_check(store)) != HNK_OK)
        return hnk__fail(error, status, 0, "writing");
    if (count == 0)
        return HNK_OK;
    for (size_t i = 0; i < count; i++)
        if ((status = check_form(store, &operations[i])) != HNK_OK)
            return hnk__fail(error, status, 0, "operation %zu", i);
    if (refusals == NULL && (refusals = malloc(count * sizeof *refusals)) == NULL)
        return hnk__fail(error, HNK_ERROR_MEMORY, 0, "writing to %s", store->path);

    uint64_t written = row_bytes(store, operations, count);
    uint64_t shortage = written == 0 ? 0 : hnk__environment_shortage(store->environment, written); /* 0: no set */
    if (shortage > 0)
        (void)!make_room(store, operations, count, shortage); /* failing, the attempt itself will tell */
    status = apply_once(store, operations, count, refusals, &detail);
    if (status == HNK_ERROR_DISK_FULL &&
        make_room(store, operations, count, 2 * all_bytes(operations, count)) == HNK_OK)
        status = apply_once(store, operations, count, refusals, &detail);
    if (status != HNK_OK && error != NULL)
        *error = detail;
    if (status == HNK_OK && out_statuses != NULL)
        memcpy(out_statuses, refusals, count * sizeof *refusals);
    if (refusals != &one)
        free(refusals);
    return status;
}

hnk_status hnk_bucket_set(hnk_bucket *bucket, hnk_bytes key, hnk_bytes value, const hnk_set_options *options)
{
    hnk_set_options resolved = HNK_SET_OPTIONS_INIT;
    hnk_status refusal = HNK_OK, status;

    assert(bucket != NULL);
    if (!hnk__options_resolve(&resolved, sizeof resolved, sizeof resolved, options) || resolved.reserved != 0)
        return HNK_ERROR_ARGUMENT;
    hnk_operation operation = {
        .bucket = bucket, .kind = HNK_OPERATION_SET, .flags = resolved.flags, .key = key, .value = value,
        .metadata = resolved.metadata, .lifetime_ms = resolved.lifetime_ms, .user_flags = resolved.user_flags,
    };
    status = hnk_store_apply(bucket->store, &operation, 1, &refusal, NULL);
    return status != HNK_OK ? status : refusal;
}

static hnk_status apply_one(hnk_bucket *bucket, hnk_operation_kind kind, hnk_bytes key)
{
    hnk_operation operation = { .bucket = bucket, .kind = kind, .key = key };
    hnk_status refusal = HNK_OK;
    assert(bucket != NULL);
    hnk_status status = hnk_store_apply(bucket->store, &operation, 1, &refusal, NULL);
    return status != HNK_OK ? status : refusal;
}

hnk_status hnk_bucket_remove(hnk_bucket *bucket, hnk_bytes key)
{
    return apply_one(bucket, HNK_OPERATION_REMOVE, key);
}

hnk_status hnk_bucket_remove_all(hnk_bucket *bucket)
{
    return apply_one(bucket, HNK_OPERATION_REMOVE_ALL, (hnk_bytes){ NULL, 0 });
}

/* Removing what a test picks --------------------------------------------------------------------------------------- */

typedef bool (*picks)(const void *context, hnk_bucket *bucket, const hnk__record *record);

enum { STEP = 64 };

/* Collects up to STEP keys of records that are picked, from `from` on; *from becomes where to go on, *more whether
 * there is more. */
static hnk_status pick_some(
    hnk__write *write, hnk_bucket *bucket, hnk_bytes prefix, picks pick, const void *context, hnk__key *from,
    hnk__key *out,
    size_t *out_count, bool *more)
{
    hnk__cursor *cursor = NULL;
    hnk_bytes name, row;
    hnk_status status;

    *out_count = 0;
    *more = false;
    if ((status = hnk__cursor_open(write->txn, &cursor)) != HNK_OK)
        return status;
    status = hnk__cursor_seek(cursor, from, &name, &row);
    while (status == HNK_OK && hnk__key_is(name, HNK_TABLE_RECORD, bucket->id)) {
        const uint8_t *stored = (const uint8_t *)name.data + HNK_PREFIX_BYTES;
        size_t stored_bytes = name.size - HNK_PREFIX_BYTES;
        size_t comparable = prefix.size < HNK_KEY_HEAD_BYTES ? prefix.size : HNK_KEY_HEAD_BYTES;
        if (stored_bytes < comparable || (comparable > 0 && memcmp(stored, prefix.data, comparable) != 0))
            break;
        hnk__record record;
        bool sound = hnk__record_parse(&record, name, row);
        if (*out_count == STEP) {
            from->size = (uint16_t)name.size;
            memcpy(from->bytes, name.data, name.size);
            *more = true;
            break;
        }
        if (!sound || pick(context, bucket, &record)) {
            out[*out_count].size = (uint16_t)name.size;
            memcpy(out[(*out_count)++].bytes, name.data, name.size);
        }
        status = hnk__cursor_next(cursor, &name, &row);
    }
    hnk__cursor_close(&cursor);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

static hnk_status remove_picked(
    hnk_bucket *bucket, hnk_bytes prefix, picks pick, const void *context, uint64_t *out_removed)
{
    hnk__key *keys, from;
    hnk__touched *in;
    hnk__write write;
    uint64_t removed = 0;
    hnk_status status;
    bool more = true;

    if ((keys = malloc(STEP * sizeof *keys)) == NULL)
        return HNK_ERROR_MEMORY;
    if ((status = hnk__write_open(bucket->store, &write, NULL)) != HNK_OK) {
        free(keys);
        return status;
    }
    hnk__key_row(&from, HNK_TABLE_RECORD, bucket->id,
                 (hnk_bytes){ prefix.data, prefix.size < HNK_KEY_HEAD_BYTES ? prefix.size : HNK_KEY_HEAD_BYTES });
    status = hnk__write_touch(&write, bucket, &in);
    while (status == HNK_OK && more) {
        size_t count;
        status = pick_some(&write, bucket, prefix, pick, context, &from, keys, &count, &more);
        for (size_t i = 0; i < count && status == HNK_OK; i++) {
            status = hnk__entry_remove(&write, in, &keys[i]);
            if (status == HNK_NOT_FOUND) /* a repair on the way dropped it */
                status = HNK_OK;
            removed++;
        }
    }
    status = hnk__write_close(&write, status, NULL);
    free(keys);
    if (status == HNK_OK && out_removed != NULL)
        *out_removed = removed;
    return status;
}

static bool picks_prefix(const void *context, hnk_bucket *bucket, const hnk__record *record)
{
    const hnk_bytes *prefix = context;
    (void)bucket;
    return record->key.size >= prefix->size &&
           (prefix->size == 0 || memcmp(record->key.data, prefix->data, prefix->size) == 0);
}

hnk_status hnk_bucket_remove_prefix(hnk_bucket *bucket, hnk_bytes prefix, uint64_t *out_removed)
{
    assert(bucket != NULL);
    if (prefix.size > HNK_KEY_MAX_BYTES)
        return HNK_ERROR_KEY_SIZE;
    return remove_picked(bucket, prefix, picks_prefix, &prefix, out_removed);
}

static bool picks_expired(const void *context, hnk_bucket *bucket, const hnk__record *record)
{
    const uint64_t *now_ms = context;
    uint64_t accessed_ms = hnk__slots_stamp_of(&bucket->file, record->header.slot) / 1000000u;
    uint64_t expiry = hnk__record_expiry(&record->header, accessed_ms);
    return expiry != 0 && expiry <= *now_ms;
}

hnk_status hnk_bucket_remove_expired(hnk_bucket *bucket, uint64_t *out_removed)
{
    uint64_t now_ms = hnk__now_ms();
    assert(bucket != NULL);
    return remove_picked(bucket, (hnk_bytes){ NULL, 0 }, picks_expired, &now_ms, out_removed);
}
