/* rival_tkrzw.c: tkrzw's hash database with as many buckets as it will need. It evicts nothing. */
#ifdef HANEKE_BENCH_PEERS
#include "rival.h"

#include <tkrzw_langc.h>

enum { STEP = 256 };

typedef struct reading {
    bench_reading reading;
    bench_seen *out;
} reading;

static void *open_store(const char *directory, const bench_settings *settings)
{
    char path[BENCH_PATH_MAX], parameters[128];
    unsigned long long buckets = settings->entries_expected > 0 ? settings->entries_expected * 2 : 1 << 20;
    snprintf(path, sizeof path, "%s/values.tkh", directory);
    snprintf(parameters, sizeof parameters, "dbm=HashDBM,num_buckets=%llu", buckets);
    return tkrzw_dbm_open(path, true, parameters);
}

static void close_store(void *store)
{
    tkrzw_dbm_close(store);
}

static void *session_begin(void *store)
{
    return store;
}

static void session_end(void *session)
{
    (void)session;
}

/* Sees the value in place, under the record's lock; NULL as it is called for a missing one. */
static const char *see(void *argument, const char *key, int32_t key_size, const char *value, int32_t value_size,
                       int32_t *new_size)
{
    reading *seen = argument;
    (void)key, (void)key_size, (void)new_size;
    if (value != NULL)
        bench_consume(value, (size_t)value_size, seen->reading, seen->out);
    return TKRZW_REC_PROC_NOOP;
}

static bool get(void *session, bench_bytes key, bench_reading how, bench_seen *out)
{
    reading argument = { how, out };
    return tkrzw_dbm_process(session, key.data, (int32_t)key.size, see, &argument, false);
}

static bool set(void *session, bench_bytes key, bench_bytes value)
{
    return tkrzw_dbm_set(session, key.data, (int32_t)key.size, value.data, (int32_t)value.size, true);
}

static bool set_many(void *session, const bench_pair *pairs, size_t count)
{
    TkrzwKeyValuePair records[STEP];
    for (size_t done = 0; done < count;) {
        size_t step = count - done < STEP ? count - done : STEP;
        for (size_t i = 0; i < step; i++) {
            const bench_pair *pair = &pairs[done + i];
            records[i] = (TkrzwKeyValuePair){
                .key_ptr = (char *)(uintptr_t)pair->key.data, .key_size = (int32_t)pair->key.size,
                .value_ptr = (char *)(uintptr_t)pair->value.data, .value_size = (int32_t)pair->value.size,
            };
        }
        if (!tkrzw_dbm_set_multi(session, records, (int32_t)step, true))
            return false;
        done += step;
    }
    return true;
}

static const char *version(void)
{
    return TKRZW_PACKAGE_VERSION;
}

const bench_rival bench_tkrzw = {
    "tkrzw HashDBM", version, open_store, close_store, session_begin, session_end, get, set, set_many, NULL, false,
};
#endif
