/* rival_haneke.c: this package's store, everything on: access times, a lifetime, checksums on the first read. */
#include "rival.h"

#include <haneke.h>

enum { MANY = 4096 }; /* operations handed over at once */

typedef struct haneke {
    hnk_store *store;
    hnk_bucket *bucket;
} haneke;

static void close_store(void *store)
{
    haneke *haneke = store;
    hnk_bucket_close(haneke->bucket);
    hnk_store_close(haneke->store);
    free(haneke);
}

static void *open_store(const char *directory, const bench_settings *settings)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    haneke *haneke = calloc(1, sizeof *haneke);
    hnk_error error;

    if (haneke == NULL)
        return NULL;
    options.fields = HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES | HNK_FIELD_LIFETIME | HNK_FIELD_EVICTION;
    options.capacity_bytes = settings->capacity_bytes > 0 ? settings->capacity_bytes : (uint64_t)16 << 30;
    options.entries_max = settings->entries_max;
    options.eviction = settings->sieve ? HNK_EVICTION_SIEVE : HNK_EVICTION_LRU;
    options.lifetime_ms = (int64_t)7 * 24 * 3600 * 1000;
    if (hnk_store_open(directory, NULL, &haneke->store, &error) != HNK_OK ||
        hnk_bucket_open(haneke->store, HNK_TEXT("bench"), &options, &haneke->bucket, &error) != HNK_OK) {
        fprintf(stderr, "haneke: %s\n", error.message);
        close_store(haneke);
        return NULL;
    }
    return haneke;
}

/* Handles are for any thread. */
static void *session_begin(void *store)
{
    return store;
}

static void session_end(void *session)
{
    (void)session;
}

static bool get_leased(void *session, bench_bytes key, bench_reading reading, bench_seen *out)
{
    haneke *haneke = session;
    hnk_lease *lease;
    hnk_status status = hnk_bucket_get(haneke->bucket, (hnk_bytes){ key.data, key.size }, 0, &lease);
    if (status == HNK_OK) {
        hnk_bytes value = hnk_lease_value(lease);
        bench_consume(value.data, value.size, reading, out);
        hnk_lease_release(lease);
    }
    return status == HNK_OK || status == HNK_NOT_FOUND;
}

static bool get_copied(void *session, bench_bytes key, bench_reading reading, bench_seen *out)
{
    static _Thread_local char buffer[1 << 20];
    haneke *haneke = session;
    size_t size;
    hnk_status status =
        hnk_bucket_read(haneke->bucket, (hnk_bytes){ key.data, key.size }, 0, buffer, sizeof buffer, &size);
    if (status == HNK_OK)
        bench_consume(buffer, size, reading, out);
    return status == HNK_OK || status == HNK_NOT_FOUND;
}

static bool set(void *session, bench_bytes key, bench_bytes value)
{
    haneke *haneke = session;
    return hnk_bucket_set(haneke->bucket, (hnk_bytes){ key.data, key.size }, (hnk_bytes){ value.data, value.size },
                          NULL) == HNK_OK;
}

static bool set_many(void *session, const bench_pair *pairs, size_t count)
{
    static _Thread_local hnk_operation operations[MANY];
    haneke *haneke = session;
    for (size_t done = 0; done < count;) {
        size_t step = count - done < MANY ? count - done : MANY;
        for (size_t i = 0; i < step; i++) {
            const bench_pair *pair = &pairs[done + i];
            operations[i] = (hnk_operation){
                .bucket = haneke->bucket,
                .kind = HNK_OPERATION_SET,
                .key = { pair->key.data, pair->key.size },
                .value = { pair->value.data, pair->value.size },
            };
        }
        if (hnk_store_apply(haneke->store, operations, step, NULL, NULL) != HNK_OK)
            return false;
        done += step;
    }
    return true;
}

static uint64_t accounted(void *session)
{
    haneke *haneke = session;
    hnk_statistics statistics = HNK_STATISTICS_INIT;
    return hnk_bucket_statistics(haneke->bucket, &statistics) == HNK_OK ? statistics.bytes : UINT64_MAX;
}

const bench_rival bench_haneke = {
    "haneke", hnk_build_information, open_store, close_store, session_begin, session_end,
    get_leased, set, set_many, accounted, true,
};

const bench_rival bench_haneke_copying = {
    "haneke, copying", hnk_build_information, open_store, close_store, session_begin, session_end,
    get_copied, set, set_many, accounted, true,
};
