/* model.c: the model of history.h: the rules of sets, removals and eviction, without a store. */
#include "history.h"

/* Charges: asked of the store, so that the formula stands in one place ---------------------------------------------- */

static hnk_store *scratch_store;
static hnk_bucket *scratch_bucket;

void charges_open(const char *scratch)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    options.blob_threshold_bytes = BLOB_THRESHOLD;
    EXPECT_STATUS(hnk_store_open(scratch, &options, &scratch_store, NULL), HNK_OK);
    EXPECT_STATUS(hnk_bucket_open(scratch_store, HNK_TEXT(""), NULL, &scratch_bucket, NULL), HNK_OK);
}

void charges_close(void)
{
    hnk_bucket_close(scratch_bucket);
    hnk_store_close(scratch_store);
}

static uint64_t charge_of(const change *change)
{
    static unsigned char value[VALUE_MAX];
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_bytes name = key_name(change->key);
    EXPECT_STATUS(hnk_bucket_set(scratch_bucket, name, (hnk_bytes){ value, change->size }, NULL), HNK_OK);
    EXPECT_STATUS(hnk_bucket_peek(scratch_bucket, name, &entry), HNK_OK);
    return entry.charged_bytes;
}

/* The rules -------------------------------------------------------------------------------------------------------- */

void model_begin(model *model, bool evicts)
{
    memset(model, 0, sizeof *model);
    model->evicts = evicts;
}

static uint32_t place_of(const model_bucket *in, uint32_t key)
{
    uint32_t place = 0;
    while (place < in->count && in->entries[place].key != key)
        place++;
    return place;
}

static void take_out(model_bucket *in, uint32_t place)
{
    in->bytes -= in->entries[place].charge;
    in->count--;
    memmove(&in->entries[place], &in->entries[place + 1], (in->count - place) * sizeof in->entries[0]);
}

static void use(model_bucket *in, uint32_t place)
{
    model_entry entry = in->entries[place];
    memmove(&in->entries[place], &in->entries[place + 1], (in->count - place - 1) * sizeof entry);
    in->entries[in->count - 1] = entry;
}

static void evict(model_bucket *in, uint64_t bytes, uint32_t entries, uint32_t keep)
{
    while (in->count > 0 && (in->bytes + bytes > in->capacity || in->bytes + bytes < in->bytes ||
                             (in->entries_max != 0 && in->count + entries > in->entries_max))) {
        take_out(in, in->entries[0].key == keep ? 1 : 0);
        in->evictions++;
    }
}

static hnk_status set(model *model, const change *change)
{
    model_bucket *in = &model->buckets[change->bucket];
    uint64_t charge = charge_of(change);
    uint32_t place = place_of(in, change->key);
    bool replaces = place < in->count;
    uint64_t old = replaces ? in->entries[place].charge : 0;

    if (charge > in->capacity) {
        in->refused++;
        if (replaces)
            take_out(in, place);
        return HNK_ERROR_VALUE_TOO_LARGE;
    }
    if (model->evicts)
        evict(in, charge > old ? charge - old : 0, replaces ? 0 : 1, change->key);
    if (replaces)
        take_out(in, place_of(in, change->key));
    in->entries[in->count++] = (model_entry){ change->key, change->version, change->size, charge };
    in->bytes += charge;
    in->writes++;
    return HNK_OK;
}

static hnk_status perform(model *model, const change *change)
{
    model_bucket *in = &model->buckets[change->bucket];
    uint32_t place = place_of(in, change->key);

    switch (change->kind) {
    case CHANGE_SET:
        return set(model, change);
    case CHANGE_REMOVE:
        if (place == in->count)
            return HNK_NOT_FOUND;
        take_out(in, place);
        return HNK_OK;
    case CHANGE_USE:
        if (place == in->count)
            return HNK_NOT_FOUND;
        use(in, place);
        return HNK_OK;
    case CHANGE_REMOVE_TENTH:
        for (uint32_t i = in->count; i > 0; i--)
            if (in->entries[i - 1].key / 10 == change->key / 10)
                take_out(in, i - 1);
        return HNK_OK;
    case CHANGE_REMOVE_ALL:
        in->count = 0;
        in->bytes = 0;
        return HNK_OK;
    case CHANGE_LIMIT:
        in->entries_max = change->size;
        evict(in, 0, 0, UINT32_MAX);
        return HNK_OK;
    default:
        return HNK_OK;
    }
}

hnk_status model_perform(model *model, const step *step)
{
    hnk_status status = HNK_OK;
    if (step->way == BY_ABORTED_WRITER)
        return HNK_OK;
    for (uint32_t i = 0; i < step->count; i++)
        status = perform(model, &step->changes[i]);
    return step->way == AS_BATCH ? HNK_OK : status;
}

/* Against the store ------------------------------------------------------------------------------------------------ */

static void read_bucket(model_bucket *out, hnk_bucket *bucket, uint32_t number, uint64_t *blobs)
{
    hnk_list_options options = HNK_LIST_OPTIONS_INIT;
    hnk_bucket_options settings = HNK_BUCKET_OPTIONS_INIT;
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_list *list;
    hnk_status status;

    expect_counts_add_up(bucket, blobs);
    EXPECT_STATUS(hnk_bucket_settings(bucket, &settings), HNK_OK);
    EXPECT_STATUS(hnk_bucket_statistics(bucket, &counts), HNK_OK);
    *out = (model_bucket){
        .capacity = settings.capacity_bytes, .entries_max = settings.entries_max, .bytes = counts.bytes,
        .writes = counts.writes, .evictions = counts.evictions, .refused = counts.refused,
    };
    options.order = HNK_LIST_BY_ACCESS;
    EXPECT_STATUS(hnk_list_open(bucket, &options, &list), HNK_OK);
    while ((status = hnk_list_next(list, &entry)) == HNK_OK) {
        uint32_t key = key_number(entry.key);
        hnk_lease *lease;
        EXPECT(out->count < KEYS && key < KEYS);
        EXPECT_STATUS(hnk_bucket_get(bucket, key_name(key), HNK_GET_QUIET, &lease), HNK_OK);
        hnk_bytes value = hnk_lease_value(lease);
        EXPECT(value_is_of(value, key_mark(number, key)));
        out->entries[out->count++] = (model_entry){ key, value_version(value), value.size, entry.charged_bytes };
        hnk_lease_release(lease);
    }
    EXPECT_STATUS(status, HNK_NOT_FOUND);
    hnk_list_close(list);
}

void model_read(model *model, const opened *opened, uint64_t *blobs)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        read_bucket(&model->buckets[i], opened->buckets[i], i, blobs);
}

static bool is_moved_by(const step *step, const model_bucket *after, uint32_t bucket, uint32_t key)
{
    for (uint32_t i = 0; step != NULL && i < step->count; i++)
        if (step->changes[i].bucket == bucket && step->changes[i].key == key)
            return true;
    return after != NULL && place_of(after, key) == after->count;
}

/* The place of the next entry, from `place` on, that the step in flight can't have moved. */
static uint32_t next_settled(
    const model_bucket *in, uint32_t place, const step *step, const model_bucket *after, uint32_t bucket)
{
    while (place < in->count && is_moved_by(step, after, bucket, in->entries[place].key))
        place++;
    return place;
}

static bool bucket_agrees(
    const model_bucket *expected, const model_bucket *found, uint32_t bucket, const step *step,
    const model_bucket *after, const char **why)
{
    *why = "the counts";
    if (expected->count != found->count || expected->bytes != found->bytes || expected->writes != found->writes ||
        expected->evictions != found->evictions || expected->refused != found->refused ||
        expected->entries_max != found->entries_max)
        return false;
    *why = "the entries";
    for (uint32_t i = 0; i < expected->count; i++) {
        const model_entry *one = &expected->entries[i];
        uint32_t place = place_of(found, one->key);
        if (place == found->count || found->entries[place].version != one->version ||
            found->entries[place].size != one->size || found->entries[place].charge != one->charge)
            return false;
    }
    *why = "the order of use";
    uint32_t i = next_settled(expected, 0, step, after, bucket), j = next_settled(found, 0, step, after, bucket);
    while (i < expected->count && j < found->count) {
        if (expected->entries[i].key != found->entries[j].key)
            return false;
        i = next_settled(expected, i + 1, step, after, bucket);
        j = next_settled(found, j + 1, step, after, bucket);
    }
    return i == expected->count && j == found->count;
}

static void tell(const char *who, const model_bucket *in)
{
    fprintf(stderr, "  %s: %u entries, %llu bytes, %llu writes, %llu evictions, %llu refused, at most %llu:", who,
            in->count, (unsigned long long)in->bytes, (unsigned long long)in->writes,
            (unsigned long long)in->evictions, (unsigned long long)in->refused, (unsigned long long)in->entries_max);
    for (uint32_t i = 0; i < in->count; i++)
        fprintf(stderr, " %u@%llu", in->entries[i].key, (unsigned long long)in->entries[i].version);
    fprintf(stderr, "\n");
}

bool model_agrees(
    const model *expected, const model *found, const step *in_flight, const model *after, bool tells)
{
    const char *why;
    for (uint32_t i = 0; i < BUCKETS; i++)
        if (!bucket_agrees(&expected->buckets[i], &found->buckets[i], i, in_flight,
                           after != NULL ? &after->buckets[i] : NULL, &why)) {
            if (tells) {
                fprintf(stderr, "bucket %u: %s differ\n", i, why);
                tell("expected", &expected->buckets[i]);
                tell("found   ", &found->buckets[i]);
            }
            return false;
        }
    return true;
}
