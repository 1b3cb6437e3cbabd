/* model.c: values that tell what they are, and the use of a damaged store. */
#include "model.h"

#include <string.h>

#include "trial.h"

enum { VERSION_AFTER = 60000, WRITES = 24 }; /* versions given after the damage are above any that was there before */

static uint64_t mix(uint64_t number)
{
    generator generator = { number };
    return generator_next(&generator);
}

hnk_bytes model_key(unsigned number)
{
    enum { LONG = 600, LONG_EVERY = 7 };
    static uint8_t key[LONG];
    size_t size = number % LONG_EVERY == 3 ? LONG : 4 + number % 40;

    memset(key, 'k', size);
    for (size_t i = 0; i < 4; i++)
        key[i] = (uint8_t)(mix(number) >> 8 * i);
    memcpy(key + size - 4, &number, 4); /* of an over-long key only the digest tells it */
    return (hnk_bytes){ key, size };
}

static size_t value_size(unsigned bucket, unsigned number, unsigned version)
{
    uint64_t mixed = mix((uint64_t)bucket << 40 | (uint64_t)number << 20 | version);
    switch (number % 8) {
    case 1: return BLOB_THRESHOLD + 1 + (size_t)(mixed % 3000);
    case 2: return 2100 + (size_t)(mixed % 3000);
    default: return 8 + (size_t)(mixed % 300);
    }
}

hnk_bytes model_value(unsigned bucket, unsigned number, unsigned version)
{
    static uint8_t value[BLOB_THRESHOLD + 4096];
    size_t size = value_size(bucket, number, version);
    uint64_t word = (uint64_t)bucket << 56 | (uint64_t)number << 32 | version;

    for (size_t at = 0; at < size; at += sizeof word)
        memcpy(value + at, &word, sizeof word);
    return (hnk_bytes){ value, size };
}

unsigned model_version_of(unsigned bucket, unsigned number, hnk_bytes bytes)
{
    uint64_t word;

    if (bytes.size < sizeof word)
        return 0;
    memcpy(&word, bytes.data, sizeof word);
    unsigned version = (unsigned)(word & 0xFFFF);
    hnk_bytes expected = model_value(bucket, number, version);
    return expected.size == bytes.size && memcmp(expected.data, bytes.data, bytes.size) == 0 ? version : 0;
}

hnk_status model_open(const char *directory, hnk_damage_policy policy, hnk_store **out)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    hnk_error error = { .status = HNK_OK };

    options.blob_threshold_bytes = BLOB_THRESHOLD;
    options.damage_policy = policy;
    options.map_bytes = (uint64_t)1 << 30;
    options.readers_max = 16; /* a small lock file */
    hnk_status status = hnk_store_open(directory, &options, out, &error);
    if (status != HNK_OK && (*out != NULL || error.status != status || error.message[0] == '\0'))
        trial_failed("the opening failed with %s, but says %s, \"%s\"", hnk_status_name(status),
                     hnk_status_name(error.status), error.message);
    return status;
}

hnk_status model_bucket(hnk_store *store, unsigned bucket, hnk_bucket **out)
{
    hnk_error error;
    hnk_status status = hnk_bucket_open(store, bucket == 0 ? HNK_TEXT("first") : HNK_TEXT("second"), NULL, out, &error);
    if (status != HNK_OK)
        trial_failed("opening bucket %u: %s, %s", bucket, hnk_status_name(status), error.message);
    return status;
}

void model_set(model *model, hnk_bucket *handle, unsigned bucket, unsigned number)
{
    unsigned version = ++model->highest[bucket][number];
    MUST(version < VERSION_AFTER);
    MUST(hnk_bucket_set(handle, model_key(number), model_value(bucket, number, version), NULL) == HNK_OK);
    model->now[bucket][number] = (uint16_t)version;
}

void model_remove(model *model, hnk_bucket *handle, unsigned bucket, unsigned number)
{
    hnk_status status = hnk_bucket_remove(handle, model_key(number));
    MUST(status == (model->now[bucket][number] != 0 ? HNK_OK : HNK_NOT_FOUND));
    model->now[bucket][number] = 0;
}

/* Using a damaged store -------------------------------------------------------------------------------------------- */

typedef struct use {
    const model *model;
    served allowed;
    usage *usage;
    hnk_store *store;
    hnk_bucket *buckets[BUCKETS];
    uint8_t written[BUCKETS][KEYS_MAX]; /* by this use */
} use;

static void read_one(use *use, unsigned bucket, unsigned number, bool counts)
{
    hnk_lease *lease = NULL;
    hnk_status status = hnk_bucket_get(use->buckets[bucket], model_key(number), 0, &lease);
    unsigned now = use->model->now[bucket][number], version = 0;

    if (use->written[bucket][number] != 0)
        now = VERSION_AFTER;
    if (status == HNK_OK) {
        version = model_version_of(bucket, number, hnk_lease_value(lease));
        bool right = version != 0 && (version == now ||
            (now != VERSION_AFTER && use->allowed == SERVED_EVER && version <= use->model->highest[bucket][number]));
        if (!right || (use->allowed == SERVED_NOTHING && now != VERSION_AFTER))
            trial_failed("key %u of bucket %u: a wrong value, of version %u, not %u", number, bucket, version, now);
        hnk_lease_release(lease);
    } else if (now == VERSION_AFTER || (status != HNK_NOT_FOUND && status != HNK_DAMAGED)) {
        trial_failed("key %u of bucket %u: %s", number, bucket, hnk_status_name(status));
    }
    if (!counts)
        return;
    use->usage->right += status == HNK_OK && version == now;
    use->usage->older += status == HNK_OK && version != now;
    use->usage->missed += status == HNK_NOT_FOUND && now != 0;
    use->usage->damaged += status == HNK_DAMAGED;
}

static void read_all(use *use, bool counts)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        for (unsigned number = 0; number < use->model->keys; number++)
            read_one(use, bucket, number, counts);
}

/* A list ends, and, once what is damaged has been removed, gives keys of ours only. */
static void list_all(use *use, unsigned bucket, hnk_list_order order, bool is_whole)
{
    hnk_list_options options = HNK_LIST_OPTIONS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_list *list = NULL;
    hnk_status status;
    unsigned listed = 0;

    options.order = order;
    if ((status = hnk_list_open(use->buckets[bucket], &options, &list)) == HNK_OK) {
        while ((status = hnk_list_next(list, &entry)) == HNK_OK && listed <= use->model->keys) {
            unsigned number = UINT32_MAX;
            if (entry.key.size >= 4)
                memcpy(&number, (const uint8_t *)entry.key.data + entry.key.size - 4, sizeof number);
            hnk_bytes key = model_key(number);
            if (is_whole && (number >= use->model->keys || key.size != entry.key.size ||
                             memcmp(key.data, entry.key.data, key.size) != 0))
                trial_failed("bucket %u lists a key that was never set", bucket);
            listed++;
        }
    }
    if (status != HNK_NOT_FOUND || listed > use->model->keys)
        trial_failed("listing bucket %u: %s after %u entries", bucket, hnk_status_name(status), listed);
    hnk_list_close(list);
}

static void list_both_ways(use *use, bool is_whole)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        list_all(use, bucket, HNK_LIST_BY_KEY, is_whole);
        list_all(use, bucket, HNK_LIST_BY_ACCESS, is_whole);
    }
}

static void write_some(use *use)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        for (unsigned number = 0; number < WRITES && number < use->model->keys; number++) {
            hnk_status status = hnk_bucket_set(
                use->buckets[bucket], model_key(number), model_value(bucket, number, VERSION_AFTER), NULL);
            if (status != HNK_OK)
                trial_failed("setting key %u of bucket %u: %s", number, bucket, hnk_status_name(status));
            else
                use->written[bucket][number] = 1;
        }
}

static bool verify(use *use, bool must_hold)
{
    hnk_verification found = HNK_VERIFICATION_INIT;
    hnk_status status = hnk_store_verify(use->store, NULL, NULL, NULL, &found);
    if ((status != HNK_OK && status != HNK_DAMAGED) || (must_hold && status != HNK_OK))
        trial_failed("verify: %s, %s", hnk_status_name(status), found.first_fault);
    return status == HNK_OK;
}

static hnk_status open_all(use *use, const char *directory, hnk_damage_policy policy)
{
    hnk_status status = model_open(directory, policy, &use->store);
    for (unsigned bucket = 0; bucket < BUCKETS && status == HNK_OK; bucket++)
        status = model_bucket(use->store, bucket, &use->buckets[bucket]);
    return status;
}

static void close_all(use *use)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        hnk_bucket_close(use->buckets[bucket]);
        use->buckets[bucket] = NULL;
    }
    hnk_store_close(use->store);
    use->store = NULL;
}

static void empty_all(use *use)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        hnk_statistics statistics = HNK_STATISTICS_INIT;
        hnk_status status = bucket == 0 ? hnk_bucket_remove_all(use->buckets[bucket])
                                        : hnk_bucket_remove_prefix(use->buckets[bucket], (hnk_bytes){ NULL, 0 }, NULL);
        if (status != HNK_OK || hnk_bucket_statistics(use->buckets[bucket], &statistics) != HNK_OK ||
            statistics.entries != 0 || statistics.bytes != 0)
            trial_failed("emptying bucket %u: %s, %u entries are left", bucket, hnk_status_name(status),
                         (unsigned)statistics.entries);
    }
}

hnk_status model_use(const char *directory, hnk_damage_policy policy, const model *model, served allowed, usage *usage)
{
    static use use;
    hnk_status status;

    use = (struct use){ .model = model, .allowed = allowed, .usage = usage };
    if ((status = open_all(&use, directory, policy)) != HNK_OK) {
        usage->refused++;
        close_all(&use);
        return status;
    }
    usage->opened++;
    usage->verified_at_once += verify(&use, false);
    read_all(&use, true);
    list_both_ways(&use, false);
    write_some(&use);
    read_all(&use, false);
    if (!verify(&use, false)) { /* it tells the next write what to repair */
        write_some(&use);
        verify(&use, true);
    }
    close_all(&use);
    if ((status = open_all(&use, directory, policy)) == HNK_OK) {
        read_all(&use, false);
        verify(&use, true);
        list_both_ways(&use, true);
        empty_all(&use);
        verify(&use, true);
    } else {
        trial_failed("opening it again: %s", hnk_status_name(status));
    }
    close_all(&use);
    return HNK_OK;
}

void model_make(model *model, const char *directory, unsigned keys, unsigned versions)
{
    hnk_store *store = NULL;
    hnk_bucket *handle = NULL;

    *model = (struct model){ .keys = keys };
    MUST(keys <= KEYS_MAX && model_open(directory, HNK_DAMAGE_SALVAGE, &store) == HNK_OK);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        MUST(model_bucket(store, bucket, &handle) == HNK_OK);
        for (unsigned version = 0; version < versions; version++)
            for (unsigned number = 0; number < keys; number++)
                model_set(model, handle, bucket, number);
        for (unsigned number = 5; number < keys; number += 11)
            model_remove(model, handle, bucket, number);
        hnk_bucket_close(handle);
    }
    hnk_store_close(store);
}
