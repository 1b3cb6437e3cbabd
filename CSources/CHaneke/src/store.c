/* store.c: opening and closing a directory, and what concerns all of it. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The registry: the one global. LMDB forbids two environments on one directory in a process (closing one would drop
 * the other's file locks), so whoever opens a directory again gets the same store.
 * ------------------------------------------------------- */

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static hnk_store *registry;

static void before_fork(void)
{
    pthread_mutex_lock(&registry_lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&registry_lock);
}

/* The child's copies share the parent's places in the table of readers: they are marked dead and never closed. */
static void after_fork_in_child(void)
{
    for (hnk_store *store = registry; store != NULL; store = store->next)
        atomic_store(&store->forked, true);
    registry = NULL;
    pthread_mutex_unlock(&registry_lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Syncing ---------------------------------------------------------------------------------------------------------- */

/* Syncs the slots of a bucket, and notes that they need no repair after a crash of the system unless somebody has
 * written meanwhile. Not waited for by commits: without the note, the first write after a crash makes them anew. */
static hnk_status sync_bucket(hnk_bucket *bucket)
{
    hnk__slots_header *header = bucket->file.header;
    hnk__tally before, after;
    hnk_status status;

    if (atomic_load_explicit(&header->boot, memory_order_relaxed) == 0)
        return HNK_OK;
    bool holds = hnk__slots_tally(&bucket->file, &before);
    if ((status = hnk__slots_sync(&bucket->file)) != HNK_OK || !holds)
        return status;
    if ((status = hnk__store_hold_writers(bucket->store)) != HNK_OK)
        return status;
    if (hnk__slots_tally(&bucket->file, &after) && after.txn == before.txn &&
        atomic_load_explicit(&header->turn, memory_order_acquire) == 0)
        atomic_store_explicit(&header->boot, 0, memory_order_relaxed);
    hnk__store_let_writers(bucket->store);
    return HNK_OK;
}

/* The open buckets of the store, one after the other: a reference each time, for syncing takes long. */
static hnk_status sync_buckets(hnk_store *store)
{
    hnk_status status = HNK_OK;
    uint32_t done = 0;

    for (;;) {
        hnk_bucket *next = NULL;
        pthread_mutex_lock(&store->listing);
        for (hnk_bucket *bucket = store->buckets; bucket != NULL; bucket = bucket->next)
            if (bucket->id > done && (next == NULL || bucket->id < next->id))
                next = bucket;
        if (next != NULL)
            next->references++;
        pthread_mutex_unlock(&store->listing);
        if (next == NULL || status != HNK_OK)
            return status;
        done = next->id;
        status = sync_bucket(next);
        hnk_bucket_close(next);
    }
}

hnk_status hnk_store_sync(hnk_store *store, hnk_error *error)
{
    hnk_status status;

    assert(store != NULL);
    if ((status = hnk__store_check(store)) != HNK_OK)
        return hnk__fail(error, status, 0, "syncing");
    bool dirty = atomic_exchange(&store->dirty, false);
    uint64_t last = hnk__environment_last_txn(store->environment);
    if ((status = hnk__environment_sync(store->environment)) != HNK_OK ||
        (status = sync_buckets(store)) != HNK_OK) {
        atomic_store(&store->dirty, dirty);
        return hnk__fail(error, status, 0, "syncing %s", store->path);
    }
    atomic_store(&store->synced_txn, last);
    return HNK_OK;
}

static void *sync_now_and_then(void *context)
{
    hnk_store *store = context;
    pthread_mutex_lock(&store->syncing);
    while (!store->syncer_stops) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += store->options.sync_interval_ms / 1000;
        until.tv_nsec += (long)(store->options.sync_interval_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&store->syncer_wakes, &store->syncing, &until);
        if (!atomic_load(&store->dirty))
            continue;
        pthread_mutex_unlock(&store->syncing);
        hnk_status status = hnk_store_sync(store, NULL); /* failing, it stays dirty and is tried again */
        (void)status;
        pthread_mutex_lock(&store->syncing);
    }
    pthread_mutex_unlock(&store->syncing);
    return NULL;
}

static void stop_syncer(hnk_store *store)
{
    if (!store->syncer_runs)
        return;
    pthread_mutex_lock(&store->syncing);
    store->syncer_stops = true;
    pthread_cond_signal(&store->syncer_wakes);
    pthread_mutex_unlock(&store->syncing);
    pthread_join(store->syncer, NULL);
    store->syncer_runs = false;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static bool resolve(const hnk_store_options *given, hnk_store_options *out)
{
    *out = (hnk_store_options)HNK_STORE_OPTIONS_INIT;
    if (!hnk__options_resolve(out, sizeof *out, sizeof *out, given))
        return false;
    if ((out->flags & ~HNK_STORE_MUST_EXIST) != 0 || out->sync_mode > HNK_SYNC_COMMIT ||
        out->damage_policy > HNK_DAMAGE_REFUSE)
        return false;
    if (out->sync_interval_ms == 0)
        out->sync_interval_ms = HNK_SYNC_INTERVAL_DEFAULT_MS;
    if (out->readers_max == 0)
        out->readers_max = HNK_READERS_DEFAULT;
    if (out->blob_threshold_bytes == 0)
        out->blob_threshold_bytes = HNK_BLOB_THRESHOLD_DEFAULT_BYTES;
    if (out->map_bytes == 0)
        out->map_bytes = hnk__address_space(HNK_MAP_DEFAULT_BYTES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t page_bytes = page > 0 ? (uint64_t)page : 4096;
    out->map_bytes = out->map_bytes / page_bytes * page_bytes;
    return out->map_bytes >= 16 * page_bytes && out->map_bytes <= SIZE_MAX / 2 && out->readers_max <= 65536;
}

/* Makes the directory and its parents. */
static int make_directories(const char *path)
{
    char *partial = strdup(path);
    int os_error = 0;
    if (partial == NULL)
        return ENOMEM;
    for (char *at = partial + 1; os_error == 0; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(partial, 0700) != 0 && errno != EEXIST && errno != EISDIR)
            os_error = errno;
        *at = end;
        if (end == '\0')
            break;
    }
    free(partial);
    return os_error;
}

static hnk_status open_directory(const char *path, bool must_exist, int *out, hnk_error *error)
{
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT && must_exist)
        return hnk__fail(error, HNK_NOT_FOUND, ENOENT, "%s", path);
    if (file < 0 && errno == ENOENT) {
        int os_error = make_directories(path);
        if (os_error != 0)
            return hnk__fail(error, hnk__from_errno(os_error), os_error, "making the directory %s", path);
        file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (file < 0)
        return hnk__fail(error, hnk__from_errno(errno), errno, "opening the directory %s", path);
    if (faccessat(file, ".", R_OK | W_OK | X_OK, 0) != 0) {
        int os_error = errno;
        close(file);
        return hnk__fail(error, hnk__from_errno(os_error), os_error, "opening the directory %s", path);
    }
    *out = file;
    return HNK_OK;
}

/* Reads the store row, or writes it into a new environment. */
static hnk_status settle_store_row(hnk_store *store, hnk_error *error)
{
    hnk__txn *txn = NULL;
    hnk__write write;
    hnk__store_row row = { .format_version = HNK_FORMAT_VERSION, .next_bucket_id = 1 };
    hnk__key key;
    hnk_bytes bytes;
    hnk_status status;

    hnk__key_row(&key, HNK_TABLE_STORE, 0, (hnk_bytes){ NULL, 0 });
    if ((status = hnk__read_begin(store->environment, &txn)) != HNK_OK)
        return hnk__fail(error, status, 0, "opening %s", store->path);
    if ((status = hnk__row_get(txn, &key, &bytes)) == HNK_OK) {
        status = bytes.size == sizeof row ? HNK_OK : HNK_ERROR_NOT_A_STORE;
        if (status == HNK_OK)
            memcpy(&row, bytes.data, sizeof row);
    }
    hnk__read_end(&txn);
    if (status == HNK_NOT_FOUND) {
        hnk__environment_info info;
        if ((status = hnk__environment_info_get(store->environment, &info)) != HNK_OK ||
            (status = hnk__write_open(store, &write, error)) != HNK_OK)
            return hnk__fail(error, status, 0, "opening %s", store->path);
        if ((status = hnk__row_get(write.txn, &key, &bytes)) == HNK_OK) { /* someone was quicker */
            memcpy(&row, bytes.data, sizeof row);
        } else if (status == HNK_NOT_FOUND) {
            memcpy(row.magic, "HNKSTORE", sizeof row.magic);
            hnk__random(row.identity, sizeof row.identity);
            row.made_at_ms = write.now_ms;
            status = info.tree_pages == 0 ? hnk__row_put(write.txn, &key, (hnk_bytes){ &row, sizeof row })
                                          : HNK_ERROR_NOT_A_STORE;
        }
        status = hnk__write_close(&write, status, error);
    }
    if (status == HNK_OK && memcmp(row.magic, "HNKSTORE", sizeof row.magic) != 0)
        status = HNK_ERROR_NOT_A_STORE;
    if (status == HNK_OK && row.format_version > HNK_FORMAT_VERSION)
        status = HNK_ERROR_NEWER_FORMAT;
    if (status == HNK_OK)
        status = hnk__environment_find_map(store->environment, &key);
    if (status != HNK_OK)
        return hnk__fail(error, status, 0, "opening %s", store->path);
    memcpy(store->identity, row.identity, sizeof store->identity);
    return HNK_OK;
}

static void init_locks(hnk_store *store)
{
    pthread_mutex_init(&store->writing, NULL);
    pthread_mutex_init(&store->dooming, NULL);
    pthread_mutex_init(&store->listing, NULL);
    pthread_mutex_init(&store->syncing, NULL);
    pthread_cond_init(&store->syncer_wakes, NULL);
}

static void free_store(hnk_store *store)
{
    if (store == NULL)
        return;
    if (store->directory >= 0)
        close(store->directory);
    pthread_mutex_destroy(&store->writing);
    pthread_mutex_destroy(&store->dooming);
    pthread_mutex_destroy(&store->listing);
    pthread_mutex_destroy(&store->syncing);
    pthread_cond_destroy(&store->syncer_wakes);
    free(store->path);
    free(store);
}

/* Opens the environment and settles the store row. A file that was trusted and then proves to be none is judged after
 * all: damage on the disk's surface changes neither size nor time. */
static hnk_status open_rows(hnk_store *store, hnk__trust *trust, hnk_error *error)
{
    char path[4096 + 32];
    hnk_status status;

    snprintf(path, sizeof path, "%s/data.mdb", store->path);
    if (*trust == HNK_TRUST_CLEAN && !hnk__pages_metas_hold(path))
        *trust = HNK_TRUST_CRASHED;
    if ((status = hnk__recover(store, *trust, error)) == HNK_OK)
        status = settle_store_row(store, error);
    if (*trust == HNK_TRUST_CLEAN && (status == HNK_ERROR_NOT_A_STORE || status == HNK_ERROR_DAMAGED_STORE)) {
        hnk__environment_close(store->environment);
        store->environment = NULL;
        *trust = HNK_TRUST_CRASHED;
        if ((status = hnk__recover(store, *trust, error)) == HNK_OK)
            status = settle_store_row(store, error);
    }
    return status;
}

/* Opens a directory that this process does not have open. The registry's lock is held. */
static hnk_status open_store(
    const char *directory, int file, const struct stat *stat, const hnk_store_options *options, hnk_store **out,
    hnk_error *error)
{
    hnk_store *store = NULL;
    hnk__trust trust;
    hnk_status status;
    struct stat data;

    if (posix_memalign((void **)&store, _Alignof(max_align_t) > 64 ? _Alignof(max_align_t) : 64, sizeof *store) != 0) {
        close(file);
        return hnk__fail(error, HNK_ERROR_MEMORY, 0, "opening %s", directory);
    }
    memset(store, 0, sizeof *store);
    atomic_init(&store->references, 1);
    store->device = stat->st_dev;
    store->inode = stat->st_ino;
    store->directory = file;
    store->options = *options;
    store->state.file = -1;
    store->turn.file = -1;
    store->boot = hnk__boot_digest();
    init_locks(store);
    hnk__random(&store->random, sizeof store->random);
    store->swell = HNK_SWELL_NONE;
    store->random |= 1; /* xorshift never leaves zero */

    if ((store->path = realpath(directory, NULL)) == NULL) {
        status = hnk__fail(error, hnk__from_errno(errno), errno, "finding the path of %s", directory);
        goto failed;
    }
    if ((options->flags & HNK_STORE_MUST_EXIST) != 0 && fstatat(file, "data.mdb", &data, 0) != 0 &&
        fstatat(file, HNK_SALVAGING_NAME, &data, 0) != 0) {
        status = hnk__fail(error, HNK_NOT_FOUND, 0, "%s holds no store", store->path);
        goto failed;
    }
    if ((status = hnk__state_open(&store->state, file, &trust, error)) != HNK_OK)
        goto failed;
    if ((status = hnk__turn_open(&store->turn, file, trust != HNK_TRUST_SHARED)) != HNK_OK) {
        hnk__fail(error, status, errno, "opening the file \"turn\" in %s", store->path);
        goto failed;
    }
    if ((status = open_rows(store, &trust, error)) != HNK_OK ||
        (status = hnk__recover_buckets(store, trust, error)) != HNK_OK)
        goto failed;
    if ((status = hnk__state_mark_open(&store->state)) != HNK_OK) {
        hnk__fail(error, status, errno, "writing the file \"state\" in %s", store->path);
        goto failed;
    }
    hnk__recover_forget(store);
    if (trust == HNK_TRUST_CLEAN && store->state.synced)
        atomic_store(&store->synced_txn, hnk__environment_last_txn(store->environment));
    if (options->sync_mode == HNK_SYNC_INTERVAL) {
        store->syncer_runs = pthread_create(&store->syncer, NULL, sync_now_and_then, store) == 0;
        if (!store->syncer_runs) {
            status = hnk__fail(error, HNK_ERROR_MEMORY, 0, "starting the syncing thread");
            goto failed;
        }
    }
    *out = store;
    return HNK_OK;
failed:
    hnk__environment_close(store->environment);
    hnk__turn_close(&store->turn);
    if (store->state.made && store->state.exclusive)
        unlinkat(file, "turn", 0);
    hnk__state_undo(&store->state, file);
    free_store(store);
    return status;
}

hnk_status hnk_store_open(
    const char *directory, const hnk_store_options *options, hnk_store **out_store, hnk_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    hnk_store_options resolved;
    struct stat stat;
    hnk_store *store;
    hnk_status status;
    int file = -1;

    *out_store = NULL;
    if (directory == NULL || directory[0] == '\0' || !resolve(options, &resolved))
        return hnk__fail(error, HNK_ERROR_ARGUMENT, 0, "opening \"%s\"", directory != NULL ? directory : "");
    pthread_once(&once, watch_forks);
    if ((status = open_directory(directory, (resolved.flags & HNK_STORE_MUST_EXIST) != 0, &file, error)) != HNK_OK)
        return status;
    if (fstat(file, &stat) != 0) {
        int os_error = errno;
        close(file);
        return hnk__fail(error, hnk__from_errno(os_error), os_error, "opening %s", directory);
    }

    pthread_mutex_lock(&registry_lock);
    for (store = registry; store != NULL; store = store->next)
        if (store->device == stat.st_dev && store->inode == stat.st_ino)
            break;
    if (store != NULL) {
        close(file);
        atomic_fetch_add(&store->references, 1);
        atomic_store(&store->closing, false);
    } else if ((status = open_store(directory, file, &stat, &resolved, &store, error)) == HNK_OK) {
        store->next = registry;
        registry = store;
    }
    pthread_mutex_unlock(&registry_lock);
    if (status == HNK_OK)
        *out_store = store;
    return status;
}

/* Closing ---------------------------------------------------------------------------------------------------------- */

void hnk__store_retain(hnk_store *store)
{
    unsigned before = atomic_fetch_add(&store->references, 1);
    assert(before > 0); /* the caller has a reference, so the store can't be closing */
    (void)before;
}

/* Gives back a reference that is not the last one; only the last needs the registry's lock. */
static bool give_back_one_of_many(hnk_store *store)
{
    unsigned references = atomic_load(&store->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&store->references, &references, references - 1))
            return true;
    return false;
}

/* Closes the files. No reference is left and no lease is out; the registry's lock is held, so that nobody opens it
 * meanwhile. */
static void close_store(hnk_store *store)
{
    hnk_store **link = &registry;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;

    stop_syncer(store);
    /* Not `dirty`: what another process or an earlier session has written may not be synced either. */
    uint64_t synced_txn = atomic_load(&store->synced_txn);
    bool synced = synced_txn != 0 && synced_txn == hnk__environment_last_txn(store->environment);
    hnk__environment_close(store->environment);
    hnk__turn_close(&store->turn);
    if (atomic_load(&store->suspect))
        hnk__state_forget(&store->state);
    else
        hnk__state_close(&store->state, store->directory, synced, atomic_load(&store->litter));
    free_store(store);
}

/* Whether a lease of the pool is still held, of a store that is closing. One that is just being released is waited for:
 * it may have looked at `closing` before we set it, and would not come to close the store. */
static bool leases_are_out(hnk_store *store)
{
    for (unsigned i = 0; i < HNK_POOL_READERS; i++)
        while (hnk__reader_is_out(store->environment, i)) {
            if (atomic_load(&store->leases[i].since_ns) != 0)
                return true;
            sched_yield();
        }
    return false;
}

void hnk_store_close(hnk_store *store)
{
    if (store == NULL || hnk__store_check(store) != HNK_OK || give_back_one_of_many(store))
        return;
    pthread_mutex_lock(&registry_lock);
    if (atomic_fetch_sub(&store->references, 1) == 1) {
        atomic_store(&store->closing, true);
        if (!leases_are_out(store))
            close_store(store);
    }
    pthread_mutex_unlock(&registry_lock);
}

void hnk__store_end_last(hnk_store *store, hnk_lease *lease)
{
    hnk__txn *txn = lease->found.txn;
    /* Still out, for a closer who has the lock: he must not wait for us while we wait for him. */
    atomic_store(&lease->since_ns, 1);
    pthread_mutex_lock(&registry_lock); /* while our reader is out, nobody closes the store */
    atomic_store(&lease->since_ns, 0);
    hnk__read_end(&txn);
    if (atomic_load(&store->closing) && !leases_are_out(store))
        close_store(store);
    pthread_mutex_unlock(&registry_lock);
}

const char *hnk_store_directory(hnk_store *store)
{
    return store->path;
}

/* Damaged records -------------------------------------------------------------------------------------------------- */

bool hnk__store_doom(hnk_store *store, const hnk__key *key, uint64_t generation)
{
    bool added = false;
    pthread_mutex_lock(&store->dooming);
    unsigned count = atomic_load_explicit(&store->doomed_count, memory_order_relaxed);
    unsigned i = 0;
    while (i < count && (store->doomed[i].key.size != key->size || store->doomed[i].generation != generation ||
                         memcmp(store->doomed[i].key.bytes, key->bytes, key->size) != 0))
        i++;
    if (i == count && count < HNK_DOOMED_MAX) {
        store->doomed[count] = (hnk__doomed){ generation, *key };
        atomic_store_explicit(&store->doomed_count, count + 1, memory_order_relaxed);
        added = true;
    }
    pthread_mutex_unlock(&store->dooming);
    return added;
}

unsigned hnk__store_doomed_in(hnk_store *store, uint32_t bucket_id)
{
    unsigned found = 0;
    pthread_mutex_lock(&store->dooming);
    for (unsigned i = 0; i < atomic_load_explicit(&store->doomed_count, memory_order_relaxed); i++)
        found += hnk__key_bucket_id(store->doomed[i].key.bytes) == bucket_id &&
                 store->doomed[i].key.bytes[0] == HNK_TABLE_RECORD;
    pthread_mutex_unlock(&store->dooming);
    return found;
}

/* The whole directory ---------------------------------------------------------------------------------------------- */

/* Adds up the blocks of all files under a folder, two levels deep: as deep as a store goes. */
static uint64_t blocks_under(int directory, const char *name, int depth)
{
    uint64_t bytes = 0;
    int file = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    struct dirent *entry;

    if (folder == NULL) {
        if (file >= 0)
            close(file);
        return 0;
    }
    while ((entry = readdir(folder)) != NULL) {
        struct stat stat;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bytes += (uint64_t)stat.st_blocks * HNK_STAT_BLOCK_BYTES;
        if (S_ISDIR(stat.st_mode) && depth > 0)
            bytes += blocks_under(dirfd(folder), entry->d_name, depth - 1);
    }
    closedir(folder);
    return bytes;
}

static uint64_t add_up_to_unlimited(uint64_t left, uint64_t right)
{
    return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

static void count_leases(hnk_store *store, hnk_statistics *filled)
{
    uint64_t oldest_ns = UINT64_MAX, now_ns = hnk__now_ns(false);
    pthread_mutex_lock(&store->listing);
    for (size_t i = 0; i < HNK_POOL_READERS; i++) {
        uint64_t since_ns = atomic_load_explicit(&store->leases[i].since_ns, memory_order_relaxed);
        filled->leases += since_ns != 0;
        if (since_ns != 0 && since_ns < oldest_ns)
            oldest_ns = since_ns;
    }
    for (hnk_lease *lease = store->separate; lease != NULL; lease = lease->next) {
        uint64_t since_ns = atomic_load_explicit(&lease->since_ns, memory_order_relaxed);
        filled->leases++;
        if (since_ns != 0 && since_ns < oldest_ns)
            oldest_ns = since_ns;
    }
    pthread_mutex_unlock(&store->listing);
    filled->oldest_lease_ms = oldest_ns < now_ns ? (now_ns - oldest_ns) / 1000000u : 0;
}

hnk_status hnk_store_statistics(hnk_store *store, hnk_statistics *out_statistics)
{
    hnk_statistics filled = HNK_STATISTICS_INIT;
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_bucket_name name;
    hnk_status status;

    assert(store != NULL);
    options.fields = HNK_FIELD_MUST_EXIST;
    for (status = hnk_store_next_bucket(store, NULL, &name); status == HNK_OK;
         status = hnk_store_next_bucket(store, &name, &name)) {
        hnk_statistics one = HNK_STATISTICS_INIT;
        hnk_bucket *bucket;
        status = hnk_bucket_open(store, (hnk_bytes){ name.bytes, name.size }, &options, &bucket, NULL);
        if (status == HNK_OK) {
            status = hnk_bucket_statistics(bucket, &one);
            hnk_bucket_close(bucket);
        }
        if (status == HNK_NOT_FOUND) /* dropped meanwhile */
            continue;
        if (status != HNK_OK)
            return status;
        filled.buckets++;
        filled.entries += one.entries;
        filled.bytes += one.bytes;
        filled.payload_bytes += one.payload_bytes;
        filled.capacity_bytes = add_up_to_unlimited(filled.capacity_bytes, one.capacity_bytes);
        filled.hits += one.hits;
        filled.misses += one.misses;
        filled.writes += one.writes;
        filled.evictions += one.evictions;
        filled.expirations += one.expirations;
        filled.corruptions += one.corruptions;
        filled.refused += one.refused;
    }
    if (status != HNK_NOT_FOUND)
        return status;
    filled.disk_bytes = blocks_under(store->directory, ".", 2);
    count_leases(store, &filled);
    hnk__options_give(out_statistics, &filled, sizeof filled);
    return HNK_OK;
}

/* Compacting ------------------------------------------------------------------------------------------------------- */

struct punching { int file; size_t page_bytes; };

static hnk_status punch(void *context, uint64_t first_page, uint64_t pages)
{
    const struct punching *punching = context;
    if (hnk__punch(punching->file, first_page * punching->page_bytes, pages * punching->page_bytes))
        return HNK_OK;
    return errno == EOPNOTSUPP || errno == ENOSYS ? HNK_ERROR_CANCELLED : hnk__from_errno(errno);
}

hnk_status hnk_store_compact(hnk_store *store, uint64_t *out_freed_bytes, hnk_error *error)
{
    hnk__write write;
    hnk_status status;

    assert(store != NULL);
    uint64_t before = hnk__store_check(store) == HNK_OK ? blocks_under(store->directory, ".", 2) : 0;
    if ((status = hnk__write_open(store, &write, error)) != HNK_OK)
        return status;
    /* Synced first: after a crash of the system the meta page that comes back must not be one to which these pages
     * belonged. */
    if ((status = hnk__environment_sync(store->environment)) == HNK_OK) {
        struct punching punching = {
            hnk__environment_file(store->environment), hnk__environment_page_bytes(store->environment)
        };
        uint64_t after = 0;
        status = hnk__free_pages(write.txn, &after, UINT64_MAX, punch, &punching);
        if (status == HNK_ERROR_CANCELLED) /* a file system without holes */
            status = HNK_OK;
    }
    /* Nothing was written: only the turn was needed. */
    hnk_status ended = hnk__write_close(&write, HNK_ERROR_CANCELLED, NULL);
    (void)ended;
    if (status != HNK_OK)
        return hnk__fail(error, status, 0, "compacting %s", store->path);
    unlinkat(store->directory, HNK_DAMAGED_NAME, 0);
    uint64_t after = blocks_under(store->directory, ".", 2);
    if (out_freed_bytes != NULL)
        *out_freed_bytes = before > after ? before - after : 0;
    return HNK_OK;
}
