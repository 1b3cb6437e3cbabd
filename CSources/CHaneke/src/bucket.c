/* bucket.c: opening, configuring, naming and dropping buckets, and their counts. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rows ------------------------------------------------------------------------------------------------------------- */

static uint64_t row_digest(const hnk__bucket_row *row, hnk_bytes name)
{
    return hnk__digest(row, offsetof(hnk__bucket_row, digest), hnk__digest(name.data, name.size, 0));
}

static bool row_parse(hnk_bytes bytes, hnk__bucket_row *out, hnk_bytes *out_name)
{
    if (bytes.size < sizeof *out || bytes.size - sizeof *out > HNK_BUCKET_NAME_MAX_BYTES)
        return false;
    memcpy(out, bytes.data, sizeof *out);
    *out_name = (hnk_bytes){ (const char *)bytes.data + sizeof *out, bytes.size - sizeof *out };
    return out->digest == row_digest(out, *out_name);
}

static hnk_status row_get(hnk__txn *txn, uint32_t bucket_id, hnk__bucket_row *out, hnk_bytes *out_name)
{
    hnk__key key;
    hnk_bytes bytes;
    hnk_status status;

    hnk__key_row(&key, HNK_TABLE_BUCKET, bucket_id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__row_get(txn, &key, &bytes)) != HNK_OK)
        return status;
    return row_parse(bytes, out, out_name) ? HNK_OK : HNK_ERROR_DAMAGED_STORE;
}

void hnk__bucket_row_begin(hnk__bucket_row *out, uint64_t made_at_ms)
{
    *out = (hnk__bucket_row){ .capacity_bytes = HNK_CAPACITY_UNLIMITED, .made_at_ms = made_at_ms };
}

bool hnk__bucket_row_holds(hnk_bytes bytes)
{
    hnk__bucket_row row;
    hnk_bytes name;
    return row_parse(bytes, &row, &name);
}

hnk_bytes hnk__bucket_row_name(hnk_bytes bytes)
{
    hnk__bucket_row row;
    hnk_bytes name = { NULL, 0 };
    row_parse(bytes, &row, &name);
    return name;
}

hnk_status hnk__bucket_row_get(hnk__txn *txn, uint32_t bucket_id, hnk__bucket_row *out)
{
    hnk_bytes name;
    return row_get(txn, bucket_id, out, &name);
}

hnk_status hnk__bucket_row_make(hnk__txn *txn, uint32_t bucket_id, hnk_bytes name, const hnk__bucket_row *row)
{
    hnk__bucket_row stored = *row;
    hnk__key key;
    void *out;
    hnk_status status;

    stored.digest = row_digest(&stored, name);
    hnk__key_row(&key, HNK_TABLE_BUCKET, bucket_id, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__row_reserve(txn, &key, sizeof stored + name.size, &out)) != HNK_OK)
        return status;
    memcpy(out, &stored, sizeof stored);
    if (name.size > 0)
        memcpy((char *)out + sizeof stored, name.data, name.size);
    return HNK_OK;
}

hnk_status hnk__bucket_row_put(hnk__txn *txn, const hnk_bucket *bucket, const hnk__bucket_row *row)
{
    return hnk__bucket_row_make(txn, bucket->id, (hnk_bytes){ bucket->name, bucket->name_bytes }, row);
}

static hnk_status id_of_name(hnk__txn *txn, hnk_bytes name, uint32_t *out_id)
{
    hnk__key key;
    hnk_bytes row;
    hnk_status status;

    hnk__key_row(&key, HNK_TABLE_NAME, 0, name);
    if ((status = hnk__row_get(txn, &key, &row)) != HNK_OK)
        return status;
    if (row.size != sizeof *out_id)
        return HNK_ERROR_DAMAGED_STORE;
    memcpy(out_id, row.data, sizeof *out_id);
    return *out_id <= HNK_BUCKET_ID_MAX ? HNK_OK : HNK_ERROR_DAMAGED_STORE;
}

/* Handles ---------------------------------------------------------------------------------------------------------- */

/* Reserves address space for the notes of what was proven; memory is made usable as slots come. */
static void reserve_proven(hnk_bucket *bucket)
{
    void *space = mmap(NULL, (size_t)bucket->file.slots_max * sizeof(uint32_t), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bucket->proven = space == MAP_FAILED ? NULL : space; /* without it each read proves anew: slower, not wrong */
}

static void destroy(hnk_bucket *bucket)
{
    if (bucket->proven != NULL)
        munmap((void *)bucket->proven, (size_t)bucket->file.slots_max * sizeof(uint32_t));
    hnk__slots_close(&bucket->file);
    free(bucket);
}

/* What this process has counted and not yet shared. `listing` is held. */
static hnk__counts unshared(const hnk_bucket *bucket)
{
    hnk__counts sum = { 0 };
    for (size_t i = 0; i <= HNK_POOL_READERS; i++) {
        const hnk__counters *counters = &bucket->counters[i];
        sum.hits += atomic_load_explicit(&counters->hits, memory_order_relaxed);
        sum.misses += atomic_load_explicit(&counters->misses, memory_order_relaxed);
        sum.expirations += atomic_load_explicit(&counters->expirations, memory_order_relaxed);
    }
    sum.hits -= bucket->shared.hits;
    sum.misses -= bucket->shared.misses;
    sum.expirations -= bucket->shared.expirations;
    return sum;
}

/* Adds it to the counts that all processes share. The counters themselves go on: their readers own them. */
static void share_counts(hnk_bucket *bucket)
{
    hnk__slots_header *header = bucket->file.header;
    hnk__counts fresh = unshared(bucket);
    if (fresh.hits + fresh.misses == 0)
        return;
    atomic_fetch_add_explicit(&header->hits, fresh.hits, memory_order_relaxed);
    atomic_fetch_add_explicit(&header->misses, fresh.misses, memory_order_relaxed);
    atomic_fetch_add_explicit(&header->expirations, fresh.expirations, memory_order_relaxed);
    bucket->shared.hits += fresh.hits;
    bucket->shared.misses += fresh.misses;
    bucket->shared.expirations += fresh.expirations;
}

void hnk__bucket_share_counts(hnk_bucket *bucket)
{
    pthread_mutex_lock(&bucket->store->listing);
    share_counts(bucket);
    pthread_mutex_unlock(&bucket->store->listing);
}

void hnk__bucket_saw(hnk_bucket *bucket, const hnk__bucket_row *row, uint32_t slots)
{
    atomic_store_explicit(&bucket->check_mode, row->check_mode, memory_order_relaxed);
    atomic_store_explicit(&bucket->slots, slots, memory_order_relaxed);
}

/* Gives a further reference to an open bucket; NULL if it isn't open. `listing` is held. */
static hnk_bucket *find_open(hnk_store *store, uint32_t id)
{
    for (hnk_bucket *bucket = store->buckets; bucket != NULL; bucket = bucket->next)
        if (bucket->id == id) {
            bucket->references++;
            return bucket;
        }
    return NULL;
}

hnk_status hnk__bucket_attach(
    hnk_store *store, uint32_t id, hnk_bytes name, const hnk__bucket_row *row, hnk_bucket **out)
{
    hnk_bucket *bucket = NULL;
    hnk_status status = HNK_OK;

    pthread_mutex_lock(&store->listing);
    if ((bucket = find_open(store, id)) != NULL)
        goto done;
    if (posix_memalign((void **)&bucket, _Alignof(hnk_bucket), sizeof *bucket) != 0) {
        status = HNK_ERROR_MEMORY;
        goto done;
    }
    memset(bucket, 0, sizeof *bucket);
    bucket->store = store;
    bucket->references = 1;
    bucket->id = id;
    bucket->name_bytes = name.size;
    if (name.size > 0)
        memcpy(bucket->name, name.data, name.size);
    status = hnk__slots_open(&bucket->file, store->directory, id, store->identity, store->options.map_bytes);
    if (status != HNK_OK) {
        destroy(bucket);
        goto done;
    }
    hnk__tally tally;
    hnk__bucket_saw(bucket, row, hnk__slots_tally(&bucket->file, &tally) ? tally.slots : 0);
    reserve_proven(bucket);
    hnk__store_retain(store);
    bucket->next = store->buckets;
    store->buckets = bucket;
done:
    pthread_mutex_unlock(&store->listing);
    *out = status == HNK_OK ? bucket : NULL;
    return status;
}

hnk_bucket *hnk__bucket_find_open(hnk_store *store, uint32_t id)
{
    pthread_mutex_lock(&store->listing);
    hnk_bucket *bucket = find_open(store, id);
    pthread_mutex_unlock(&store->listing);
    return bucket;
}

void hnk__bucket_retain(hnk_bucket *bucket)
{
    pthread_mutex_lock(&bucket->store->listing);
    bucket->references++;
    pthread_mutex_unlock(&bucket->store->listing);
}

/* What this process found damaged goes with its next write, or here: the next process would only find it again. */
static void remove_doomed_of(hnk_bucket *bucket)
{
    hnk_store *store = bucket->store;
    hnk__write write;

    pthread_mutex_lock(&store->listing);
    bool last = bucket->references == 1;
    pthread_mutex_unlock(&store->listing);
    if (!last || hnk__store_doomed_in(store, bucket->id) == 0 || hnk__write_open(store, &write, NULL) != HNK_OK)
        return;
    hnk_status status = hnk__write_close(&write, HNK_OK, NULL);
    (void)status; /* failing, it is found and counted again */
}

void hnk_bucket_close(hnk_bucket *bucket)
{
    if (bucket == NULL || hnk__store_check(bucket->store) != HNK_OK)
        return;
    hnk_store *store = bucket->store;
    remove_doomed_of(bucket);
    pthread_mutex_lock(&store->listing);
    share_counts(bucket); /* not with the last handle only: a process may end before its other threads let go */
    bool last = --bucket->references == 0;
    if (last) {
        hnk_bucket **link = &store->buckets;
        while (*link != bucket)
            link = &(*link)->next;
        *link = bucket->next;
    }
    pthread_mutex_unlock(&store->listing);
    if (!last)
        return;
    destroy(bucket);
    hnk_store_close(store);
}

bool hnk__bucket_proven(const hnk_bucket *bucket, uint32_t slot, uint64_t generation)
{
    uint32_t low = (uint32_t)generation;
    return low != 0 && slot < atomic_load_explicit(&bucket->proven_slots, memory_order_acquire) &&
           atomic_load_explicit(&bucket->proven[slot], memory_order_relaxed) == low;
}

void hnk__bucket_prove(hnk_bucket *bucket, uint32_t slot, uint64_t generation)
{
    if (bucket->proven == NULL || slot >= bucket->file.slots_max)
        return;
    if (slot >= atomic_load_explicit(&bucket->proven_slots, memory_order_acquire)) {
        uint32_t slots = (slot / HNK_PROVEN_CHUNK_SLOTS + 1) * HNK_PROVEN_CHUNK_SLOTS;
        if (slots > bucket->file.slots_max)
            slots = bucket->file.slots_max;
        pthread_mutex_lock(&bucket->file.growing);
        if (slots > atomic_load_explicit(&bucket->proven_slots, memory_order_relaxed) &&
            mprotect((void *)bucket->proven, (size_t)slots * sizeof(uint32_t), PROT_READ | PROT_WRITE) == 0)
            atomic_store_explicit(&bucket->proven_slots, slots, memory_order_release);
        pthread_mutex_unlock(&bucket->file.growing);
        if (slot >= atomic_load_explicit(&bucket->proven_slots, memory_order_acquire))
            return;
    }
    atomic_store_explicit(&bucket->proven[slot], (uint32_t)generation, memory_order_relaxed);
}

/* Settings --------------------------------------------------------------------------------------------------------- */

enum {
    FIELDS_KNOWN =
        HNK_FIELD_CAPACITY | HNK_FIELD_ENTRIES | HNK_FIELD_LIFETIME | HNK_FIELD_CHECK | HNK_FIELD_EVICTION |
        HNK_FIELD_MUST_EXIST
};

static bool resolve(const hnk_bucket_options *given, hnk_bucket_options *out)
{
    *out = (hnk_bucket_options)HNK_BUCKET_OPTIONS_INIT;
    if (!hnk__options_resolve(out, sizeof *out, sizeof *out, given))
        return false;
    return (out->fields & ~(uint32_t)FIELDS_KNOWN) == 0 &&
           ((out->fields & HNK_FIELD_EVICTION) == 0 || out->eviction <= HNK_EVICTION_SIEVE) &&
           ((out->fields & HNK_FIELD_CHECK) == 0 || out->check_mode <= HNK_CHECK_NEVER) &&
           ((out->fields & HNK_FIELD_LIFETIME) == 0 || out->lifetime_ms > 0);
}

/* Sets the row's fields; whether any changed. */
static bool set_fields(hnk__bucket_row *row, const hnk_bucket_options *options)
{
    hnk__bucket_row before = *row;
    if ((options->fields & HNK_FIELD_CAPACITY) != 0)
        row->capacity_bytes = options->capacity_bytes;
    if ((options->fields & HNK_FIELD_ENTRIES) != 0)
        row->entries_max = options->entries_max;
    if ((options->fields & HNK_FIELD_LIFETIME) != 0)
        row->lifetime_ms = options->lifetime_ms == HNK_LIFETIME_FOREVER ? 0 : (uint64_t)options->lifetime_ms;
    if ((options->fields & HNK_FIELD_CHECK) != 0)
        row->check_mode = options->check_mode;
    if ((options->fields & HNK_FIELD_EVICTION) != 0)
        row->eviction = options->eviction;
    return memcmp(&before, row, sizeof before) != 0;
}

static hnk_status configure(hnk_bucket *bucket, const hnk_bucket_options *options, hnk_error *error)
{
    hnk__write write;
    hnk__touched *in;
    hnk_status status;

    if ((status = hnk__write_open(bucket->store, &write, error)) != HNK_OK)
        return status;
    if ((status = hnk__write_touch(&write, bucket, &in)) == HNK_OK) {
        uint32_t eviction = in->row.eviction;
        if (set_fields(&in->row, options)) {
            in->row_changed = true;
            if (in->row.capacity_bytes == 0)
                status = hnk__entries_clear(&write, in);
            else if (in->row.eviction == HNK_EVICTION_SIEVE && eviction != in->row.eviction)
                status = hnk__bucket_repair(&write, in); /* whose list was not kept so far */
            if (status == HNK_OK)
                status = hnk__evict_for(&write, in, 0, 0, UINT32_MAX);
        }
    }
    return hnk__write_close(&write, status, error);
}

/* Makes the bucket's rows in a transaction of its own, unless someone else has meanwhile. */
static hnk_status create(hnk_store *store, hnk_bytes name, const hnk_bucket_options *options, hnk_error *error)
{
    hnk__bucket_row row;
    hnk__store_row store_row;
    hnk__write write;
    hnk__key key;
    hnk_bytes bytes;
    uint32_t id;
    hnk_status status;

    if ((status = hnk__write_open(store, &write, error)) != HNK_OK)
        return status;
    if ((status = id_of_name(write.txn, name, &id)) != HNK_NOT_FOUND)
        goto done;
    hnk__key_row(&key, HNK_TABLE_STORE, 0, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__row_get(write.txn, &key, &bytes)) != HNK_OK)
        goto done;
    memcpy(&store_row, bytes.data, sizeof store_row); /* its size was checked at the open */
    id = store_row.next_bucket_id;
    if (id > HNK_BUCKET_ID_MAX) {
        status = HNK_ERROR_BUCKETS_FULL;
        goto done;
    }
    store_row.next_bucket_id++;
    hnk__bucket_row_begin(&row, write.now_ms);
    set_fields(&row, options);
    if ((status = hnk__row_put(write.txn, &key, (hnk_bytes){ &store_row, sizeof store_row })) != HNK_OK)
        goto done;
    hnk__key_row(&key, HNK_TABLE_NAME, 0, name);
    if ((status = hnk__row_put(write.txn, &key, (hnk_bytes){ &id, sizeof id })) == HNK_OK)
        status = hnk__bucket_row_make(write.txn, id, name, &row);
done:
    return hnk__write_close(&write, status, error);
}

static bool is_name(hnk_bytes stored, hnk_bytes name)
{
    return stored.size == name.size && (name.size == 0 || memcmp(stored.data, name.data, name.size) == 0);
}

hnk_status hnk__bucket_open_sound(hnk_store *store, hnk_bytes name, hnk_bucket **out, uint32_t *out_id)
{
    hnk__txn *txn = NULL;
    hnk__bucket_row row;
    hnk_status status;

    if ((status = hnk__read_begin(store->environment, &txn)) != HNK_OK)
        return status;
    if ((status = id_of_name(txn, name, out_id)) == HNK_OK &&
        (status = hnk__bucket_row_get(txn, *out_id, &row)) == HNK_OK)
        status = hnk__bucket_attach(store, *out_id, name, &row, out);
    hnk__read_end(&txn);
    return status;
}

/* Opens what is there. HNK_NOT_FOUND if it isn't; *out_differs tells whether the options would change it. */
static hnk_status open_existing(
    hnk_store *store, hnk_bytes name, const hnk_bucket_options *options, hnk_bucket **out, bool *out_differs)
{
    hnk__txn *txn = NULL;
    hnk__bucket_row row;
    hnk_bytes stored_name;
    uint32_t id;
    hnk_status status;

    if ((status = hnk__read_begin(store->environment, &txn)) != HNK_OK)
        return status;
    bool damaged = false;
    if ((status = id_of_name(txn, name, &id)) == HNK_OK) {
        status = row_get(txn, id, &row, &stored_name);
        damaged = status == HNK_ERROR_DAMAGED_STORE && store->options.damage_policy != HNK_DAMAGE_REFUSE;
        if (damaged) { /* the write that follows makes it anew, from the records */
            hnk__bucket_row_begin(&row, 0);
            status = HNK_OK;
        } else if (status == HNK_OK && !is_name(stored_name, name)) { /* a damaged id: another's bucket */
            status = HNK_ERROR_DAMAGED_STORE;
        }
    }
    if (status == HNK_OK && (status = hnk__bucket_attach(store, id, name, &row, out)) == HNK_OK)
        *out_differs = set_fields(&row, options) || damaged;
    hnk__read_end(&txn);
    return status;
}

hnk_status hnk_bucket_open(
    hnk_store *store, hnk_bytes name, const hnk_bucket_options *options, hnk_bucket **out_bucket, hnk_error *error)
{
    hnk_bucket_options resolved;
    hnk_bucket *bucket = NULL;
    bool differs = false;
    hnk_status status;

    assert(store != NULL);
    *out_bucket = NULL;
    if ((status = hnk__store_check(store)) != HNK_OK)
        return hnk__fail(error, status, 0, "opening a bucket");
    if (name.size > HNK_BUCKET_NAME_MAX_BYTES)
        return hnk__fail(error, HNK_ERROR_NAME_SIZE, 0, "opening a bucket");
    if (!resolve(options, &resolved))
        return hnk__fail(error, HNK_ERROR_ARGUMENT, 0, "opening bucket \"%.*s\"", (int)name.size,
                         name.size > 0 ? (const char *)name.data : "");

    status = open_existing(store, name, &resolved, &bucket, &differs);
    if (status == HNK_NOT_FOUND && (resolved.fields & HNK_FIELD_MUST_EXIST) == 0) {
        if ((status = create(store, name, &resolved, error)) != HNK_OK)
            return status;
        status = open_existing(store, name, &resolved, &bucket, &differs);
    }
    if (status == HNK_OK && differs && (status = configure(bucket, &resolved, error)) != HNK_OK) {
        hnk_bucket_close(bucket);
        return status;
    }
    if (status != HNK_OK)
        return hnk__fail(error, status, 0, "bucket \"%.*s\" in %s", (int)name.size,
                         name.size > 0 ? (const char *)name.data : "", store->path);
    *out_bucket = bucket;
    return HNK_OK;
}

hnk_status hnk_bucket_configure(hnk_bucket *bucket, const hnk_bucket_options *options, hnk_error *error)
{
    hnk_bucket_options resolved;

    assert(bucket != NULL);
    if (!resolve(options, &resolved))
        return hnk__fail(error, HNK_ERROR_ARGUMENT, 0, "configuring a bucket");
    return configure(bucket, &resolved, error);
}

/* Reads the bucket's row in a snapshot of its own. */
static hnk_status read_row(hnk_bucket *bucket, hnk__bucket_row *out)
{
    hnk__txn *txn = NULL;
    hnk_status status;

    if ((status = hnk__store_check(bucket->store)) != HNK_OK ||
        (status = hnk__read_begin(bucket->store->environment, &txn)) != HNK_OK)
        return status;
    status = hnk__bucket_row_get(txn, bucket->id, out);
    hnk__read_end(&txn);
    return status;
}

hnk_status hnk__bucket_settle(hnk_bucket *bucket)
{
    hnk__write write;
    hnk__touched *in;
    hnk_status status;

    if ((status = hnk__write_open(bucket->store, &write, NULL)) != HNK_OK)
        return status;
    status = hnk__write_touch(&write, bucket, &in);
    return hnk__write_close(&write, status, NULL);
}

bool hnk__bucket_is_current(
    hnk_bucket *bucket, const hnk__bucket_row *row, uint64_t last_txn, hnk__tally *out_tally)
{
    const hnk__slots_header *header = bucket->file.header;
    uint64_t boot = atomic_load_explicit(&header->boot, memory_order_relaxed);
    return atomic_load_explicit(&header->incarnation, memory_order_relaxed) == row->incarnation &&
           atomic_load_explicit(&header->turn, memory_order_acquire) == 0 &&
           (boot == 0 || boot == bucket->store->boot) && hnk__slots_tally(&bucket->file, out_tally) &&
           out_tally->txn <= last_txn && hnk__slots_reach(&bucket->file, out_tally->slots);
}

hnk_status hnk__bucket_read(hnk_bucket *bucket, hnk__bucket_row *out_row, hnk__tally *out_tally)
{
    enum { TRIES = 64 }; /* a writer's stores take some nanoseconds; it may be scheduled away between them */
    hnk_status status;

    for (bool settled = false;; settled = true) {
        bool holds = false;
        if ((status = read_row(bucket, out_row)) != HNK_OK)
            return status;
        uint64_t incarnation = atomic_load_explicit(&bucket->file.header->incarnation, memory_order_acquire);
        for (unsigned tries = 0; tries < TRIES && !holds; tries++)
            holds = hnk__slots_tally(&bucket->file, out_tally);
        holds = holds && hnk__slots_reach(&bucket->file, out_tally->slots);
        if (holds && (incarnation == out_row->incarnation || settled))
            break;
        if (settled)
            return HNK_ERROR_INTERNAL;
        if ((status = hnk__bucket_settle(bucket)) != HNK_OK)
            return status;
    }
    hnk__bucket_saw(bucket, out_row, out_tally->slots);
    return HNK_OK;
}

hnk_status hnk_bucket_settings(hnk_bucket *bucket, hnk_bucket_options *out_options)
{
    hnk__bucket_row row;
    hnk_status status;

    assert(bucket != NULL);
    if ((status = read_row(bucket, &row)) != HNK_OK)
        return status;
    hnk_bucket_options filled = {
        .struct_size = sizeof filled,
        .fields = FIELDS_KNOWN & ~(uint32_t)HNK_FIELD_MUST_EXIST,
        .capacity_bytes = row.capacity_bytes,
        .entries_max = row.entries_max,
        .lifetime_ms = row.lifetime_ms == 0 ? HNK_LIFETIME_FOREVER : (int64_t)row.lifetime_ms,
        .check_mode = row.check_mode,
        .eviction = row.eviction,
    };
    hnk__options_give(out_options, &filled, sizeof filled);
    return HNK_OK;
}

/* Walking and dropping --------------------------------------------------------------------------------------------- */

hnk_status hnk_store_next_bucket(hnk_store *store, const hnk_bucket_name *after, hnk_bucket_name *out_name)
{
    hnk__txn *txn = NULL;
    hnk__cursor *cursor = NULL;
    hnk__key key;
    hnk_bytes name, row;
    hnk_status status;

    assert(store != NULL);
    if ((status = hnk__store_check(store)) != HNK_OK || (status = hnk__read_begin(store->environment, &txn)) != HNK_OK)
        return status;
    if (after != NULL && after->size > HNK_BUCKET_NAME_MAX_BYTES) {
        status = HNK_ERROR_NAME_SIZE;
        goto done;
    }
    hnk__key_row(&key, HNK_TABLE_NAME, 0,
                 after != NULL ? (hnk_bytes){ after->bytes, after->size } : (hnk_bytes){ NULL, 0 });
    if ((status = hnk__cursor_open(txn, &cursor)) != HNK_OK ||
        (status = hnk__cursor_seek(cursor, &key, &name, &row)) != HNK_OK)
        goto done;
    if (after != NULL && name.size == key.size && memcmp(name.data, key.bytes, key.size) == 0 &&
        (status = hnk__cursor_next(cursor, &name, &row)) != HNK_OK)
        goto done;
    if (!hnk__key_is(name, HNK_TABLE_NAME, 0)) {
        status = HNK_NOT_FOUND;
        goto done;
    }
    out_name->size = name.size - HNK_PREFIX_BYTES;
    memcpy(out_name->bytes, (const char *)name.data + HNK_PREFIX_BYTES, out_name->size);
done:
    hnk__cursor_close(&cursor);
    hnk__read_end(&txn);
    return status;
}

hnk_status hnk_store_drop_bucket(hnk_store *store, hnk_bytes name, hnk_error *error)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_bucket *bucket = NULL;
    hnk__write write;
    hnk__touched *in;
    hnk__key key;
    char slots_name[16];
    hnk_status status;

    options.fields = HNK_FIELD_MUST_EXIST;
    if ((status = hnk_bucket_open(store, name, &options, &bucket, error)) != HNK_OK)
        return status;
    if ((status = hnk__write_open(store, &write, error)) != HNK_OK)
        goto done;
    if ((status = hnk__write_touch(&write, bucket, &in)) == HNK_OK &&
        (status = hnk__entries_clear(&write, in)) == HNK_OK) {
        hnk__key_row(&key, HNK_TABLE_NAME, 0, name);
        if ((status = hnk__row_delete(write.txn, &key)) == HNK_OK) {
            hnk__key_row(&key, HNK_TABLE_BUCKET, bucket->id, (hnk_bytes){ NULL, 0 });
            status = hnk__row_delete(write.txn, &key);
        }
        in->dropped = true;
    }
    if ((status = hnk__write_close(&write, status, error)) == HNK_OK) {
        hnk__slots_name(slots_name, bucket->id);
        unlinkat(store->directory, slots_name, 0);
    }
done:
    hnk_bucket_close(bucket);
    return status;
}

/* Counts ----------------------------------------------------------------------------------------------------------- */

hnk_status hnk_bucket_statistics(hnk_bucket *bucket, hnk_statistics *out_statistics)
{
    hnk__bucket_row row;
    hnk__tally tally;
    hnk_status status;

    assert(bucket != NULL);
    if ((status = hnk__bucket_read(bucket, &row, &tally)) != HNK_OK)
        return status;
    hnk_statistics filled = {
        .struct_size = sizeof filled,
        .buckets = 1,
        .entries = tally.entries,
        .bytes = tally.charged_bytes,
        .payload_bytes = tally.payload_bytes,
        .capacity_bytes = row.capacity_bytes,
        .writes = tally.writes,
        .evictions = tally.evictions,
        .corruptions = tally.corruptions + hnk__store_doomed_in(bucket->store, bucket->id),
        .refused = tally.refused,
    };
    pthread_mutex_lock(&bucket->store->listing);
    hnk__counts fresh = unshared(bucket);
    const hnk__slots_header *header = bucket->file.header;
    filled.hits = atomic_load_explicit(&header->hits, memory_order_relaxed) + fresh.hits;
    filled.misses = atomic_load_explicit(&header->misses, memory_order_relaxed) + fresh.misses;
    filled.expirations = atomic_load_explicit(&header->expirations, memory_order_relaxed) + fresh.expirations;
    pthread_mutex_unlock(&bucket->store->listing);
    hnk__options_give(out_statistics, &filled, sizeof filled);
    return HNK_OK;
}
