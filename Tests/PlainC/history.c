/* history.c: steps from a seed, and carrying them out on a store. */
#include "history.h"

enum { LONG_KEY_BYTES = 700, PREFIX_BYTES = 5 /* "key-7" */, CAPACITY_BYTES = 160 * 1024, ENTRIES_MAX = 40, ENTRIES_MAX_LOW = 30 };

opened history_open(const char *directory)
{
    static const char *const names[BUCKETS] = { "keeps", "bytes", "entries" };
    opened opened = { NULL, { NULL } };
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    hnk_error error;

    options.blob_threshold_bytes = BLOB_THRESHOLD;
    if (hnk_store_open(directory, &options, &opened.store, &error) != HNK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    for (int i = 0; i < BUCKETS; i++) {
        hnk_bucket_options limits = HNK_BUCKET_OPTIONS_INIT;
        hnk_bytes name = { names[i], strlen(names[i]) };
        limits.fields = HNK_FIELD_MUST_EXIST;
        hnk_status status = hnk_bucket_open(opened.store, name, &limits, &opened.buckets[i], &error);
        if (status == HNK_NOT_FOUND) {
            limits.fields = i == BYTES ? HNK_FIELD_CAPACITY : i == ENTRIES ? HNK_FIELD_ENTRIES : 0;
            limits.capacity_bytes = CAPACITY_BYTES;
            limits.entries_max = ENTRIES_MAX;
            if (i == KEEPS) { /* it evicts nothing, but its list has to hold */
                limits.fields |= HNK_FIELD_EVICTION;
                limits.eviction = HNK_EVICTION_SIEVE;
            }
            status = hnk_bucket_open(opened.store, name, &limits, &opened.buckets[i], &error);
        }
        if (status != HNK_OK) {
            fprintf(stderr, "%s\n", error.message);
            exit(1);
        }
    }
    return opened;
}

void history_close(opened *opened)
{
    for (int i = 0; i < BUCKETS; i++)
        hnk_bucket_close(opened->buckets[i]);
    hnk_store_close(opened->store);
}

/* Keys and values -------------------------------------------------------------------------------------------------- */

hnk_bytes key_name(uint32_t key)
{
    static _Thread_local char name[LONG_KEY_BYTES];
    int size = snprintf(name, sizeof name, "key-%02u", key);
    if (key % 12 != 7)
        return (hnk_bytes){ name, (size_t)size };
    memset(name + size, 'x', sizeof name - (size_t)size);
    return (hnk_bytes){ name, sizeof name };
}

uint32_t key_number(hnk_bytes name)
{
    const char *digits = (const char *)name.data + 4;
    return (uint32_t)(digits[0] - '0') * 10 + (uint32_t)(digits[1] - '0');
}

uint64_t key_mark(uint32_t bucket, uint32_t key)
{
    return (uint64_t)bucket << 32 | key;
}

/* Mostly small; some in pages of their own, some in files. */
static uint64_t drawn_size(uint64_t *seed)
{
    uint32_t class = drawn_below(seed, 16);
    if (class < 10)
        return VALUE_HEAD_BYTES + drawn_below(seed, 1200);
    if (class < 13)
        return 2000 + drawn_below(seed, BLOB_THRESHOLD - 2000);
    return BLOB_THRESHOLD + 1 + drawn_below(seed, 30000);
}

static hnk_bytes value_of(const change *change, unsigned char *out)
{
    value_write(out, key_mark(change->bucket, change->key), change->version, change->size);
    return (hnk_bytes){ out, change->size };
}

/* Steps ------------------------------------------------------------------------------------------------------------ */

static change drawn_change(uint64_t *seed, change_kind kind, uint64_t version, uint32_t lane, uint32_t lanes)
{
    change change = { .kind = kind, .bucket = drawn_below(seed, BUCKETS), .version = version };
    change.key = drawn_below(seed, KEYS / lanes) * lanes + lane;
    if (kind == CHANGE_SET)
        change.size = drawn_size(seed);
    return change;
}

step step_of(uint64_t seed, uint64_t n, uint32_t lane, uint32_t lanes)
{
    uint64_t own = mixed(seed) ^ mixed(n * lanes + lane);
    uint64_t version = n * CHANGES_MAX + 1;
    uint32_t choice = drawn_below(&own, 100);
    bool alone = lanes == 1;
    step made = { .way = BY_ITSELF, .count = 1 };

    if (choice < 40 || (!alone && choice >= 88 && choice < 93)) {
        made.changes[0] = drawn_change(&own, CHANGE_SET, version, lane, lanes);
    } else if (choice < 50) {
        made.changes[0] = drawn_change(&own, CHANGE_REMOVE, 0, lane, lanes);
    } else if (choice < 65) {
        made.way = AS_BATCH;
        made.count = 2 + drawn_below(&own, CHANGES_MAX - 1);
        for (uint32_t i = 0; i < made.count; i++)
            made.changes[i] = drawn_change(&own, drawn_below(&own, 5) == 0 ? CHANGE_REMOVE : CHANGE_SET, version + i,
                                           lane, lanes);
    } else if (choice < 75) {
        made.changes[0] = drawn_change(&own, CHANGE_SET, version, lane, lanes);
        made.way = drawn_below(&own, 5) == 0 ? BY_ABORTED_WRITER : BY_WRITER;
    } else if (choice < 88) {
        made.changes[0] = drawn_change(&own, CHANGE_USE, 0, lane, lanes);
        made.way = drawn_below(&own, 2) == 0 ? BY_TOUCH : BY_GET;
    } else if (choice < 90) {
        made.changes[0] = drawn_change(&own, CHANGE_REMOVE_TENTH, 0, lane, lanes);
    } else if (choice == 90) {
        made.changes[0] = drawn_change(&own, CHANGE_REMOVE_ALL, 0, lane, lanes);
    } else if (choice < 93) {
        made.changes[0] = (change){
            .kind = CHANGE_LIMIT, .bucket = ENTRIES, .size = drawn_below(&own, 2) == 0 ? ENTRIES_MAX : ENTRIES_MAX_LOW
        };
    } else if (choice < 96) { /* over the capacity */
        made.changes[0] = drawn_change(&own, CHANGE_SET, version, lane, lanes);
        made.changes[0].bucket = BYTES;
        made.changes[0].size = CAPACITY_BYTES + drawn_below(&own, VALUE_MAX - CAPACITY_BYTES);
    } else {
        made.changes[0].kind = CHANGE_NONE;
        made.way = choice < 98 ? BY_COMPACT : BY_SYNC;
    }
    return made;
}

static hnk_status perform_by_itself(hnk_bucket *bucket, const change *change)
{
    static unsigned char value[VALUE_MAX];
    hnk_bucket_options limits = HNK_BUCKET_OPTIONS_INIT;

    switch (change->kind) {
    case CHANGE_SET:
        return hnk_bucket_set(bucket, key_name(change->key), value_of(change, value), NULL);
    case CHANGE_REMOVE:
        return hnk_bucket_remove(bucket, key_name(change->key));
    case CHANGE_REMOVE_TENTH:
        return hnk_bucket_remove_prefix(bucket, (hnk_bytes){ key_name(change->key).data, PREFIX_BYTES }, NULL);
    case CHANGE_REMOVE_ALL:
        return hnk_bucket_remove_all(bucket);
    default:
        limits.fields = HNK_FIELD_ENTRIES;
        limits.entries_max = change->size;
        return hnk_bucket_configure(bucket, &limits, NULL);
    }
}

static hnk_status perform_as_batch(const opened *opened, const step *step)
{
    static unsigned char values[CHANGES_MAX][VALUE_MAX];
    static char keys[CHANGES_MAX][LONG_KEY_BYTES];
    hnk_operation operations[CHANGES_MAX] = { { .kind = 0 } };

    for (uint32_t i = 0; i < step->count; i++) {
        const change *change = &step->changes[i];
        hnk_bytes name = key_name(change->key);
        memcpy(keys[i], name.data, name.size);
        operations[i].bucket = opened->buckets[change->bucket];
        operations[i].key = (hnk_bytes){ keys[i], name.size };
        operations[i].kind = change->kind == CHANGE_SET ? HNK_OPERATION_SET : HNK_OPERATION_REMOVE;
        if (change->kind == CHANGE_SET)
            operations[i].value = value_of(change, values[i]);
    }
    return hnk_store_apply(opened->store, operations, step->count, NULL, NULL);
}

static hnk_status perform_by_writer(hnk_bucket *bucket, const change *change, bool aborts)
{
    static unsigned char bytes[VALUE_MAX];
    hnk_bytes value = value_of(change, bytes);
    hnk_writer *writer;
    hnk_status status;

    if ((status = hnk_writer_begin(bucket, key_name(change->key), NULL, &writer)) != HNK_OK)
        return status;
    for (size_t at = 0, piece = value.size / 3 + 1; at < value.size && status == HNK_OK; at += piece)
        status = hnk_writer_append(
            writer, (hnk_bytes){ bytes + at, value.size - at < piece ? value.size - at : piece });
    if (status == HNK_OK && !aborts)
        return hnk_writer_commit(writer);
    hnk_writer_abort(writer);
    return status;
}

hnk_status step_perform(const opened *opened, const step *step)
{
    const change *change = &step->changes[0];
    hnk_bucket *bucket = opened->buckets[change->bucket];
    hnk_lease *lease;
    hnk_status status;

    switch (step->way) {
    case AS_BATCH: return perform_as_batch(opened, step);
    case BY_WRITER: return perform_by_writer(bucket, change, false);
    case BY_ABORTED_WRITER: return perform_by_writer(bucket, change, true);
    case BY_TOUCH: return hnk_bucket_touch(bucket, key_name(change->key));
    case BY_COMPACT: return hnk_store_compact(opened->store, NULL, NULL);
    case BY_SYNC: return hnk_store_sync(opened->store, NULL);
    case BY_GET:
        if ((status = hnk_bucket_get(bucket, key_name(change->key), 0, &lease)) == HNK_OK) {
            EXPECT(value_is_of(hnk_lease_value(lease), key_mark(change->bucket, change->key)));
            hnk_lease_release(lease);
        }
        return status;
    default: return perform_by_itself(bucket, change);
    }
}
