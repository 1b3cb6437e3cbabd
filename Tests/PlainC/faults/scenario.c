/* scenario.c: making, using, recovering and salvaging a store. All of it syncs each commit, so that every call is met. */
#include "scenario.h"
#include "../files.h"
#include "model.h"

#include <errno.h>
#include <ftw.h>
#include <sys/wait.h>

enum { EXPIRES = KEYS - 1 };

typedef struct opened { hnk_store *store; hnk_bucket *buckets[BUCKETS]; } opened;

static const injection none = { INJECT_COUNT, -1, false, 0 };
static opened now;
static const injection *fault;
static bool stopped; /* LMDB has failed to write a meta page, and neither reads nor writes until it is opened anew */

/* Statuses --------------------------------------------------------------------------------------------------------- */

/* Whether an error is what the fault should come out as. */
static bool fits(hnk_status status)
{
    switch (fault->os_error) {
    case ENOMEM: return status == HNK_ERROR_MEMORY;
    case EACCES: return status == HNK_ERROR_ACCESS;
    case ENOSPC: case 0: return status == HNK_ERROR_DISK_FULL || status == HNK_ERROR_IO;
    case EAGAIN: return status == HNK_ERROR_MEMORY || status == HNK_ERROR_IO;
    default: return status == HNK_ERROR_IO;
    }
}

/* Expects success, one of the answers, or, once the fault has come, an error that fits it. */
static hnk_status told(const char *what, hnk_status status, hnk_status answer)
{
    if (inject_has_struck() && (fault->os_error == ENOSPC || fault->os_error == 0))
        model_allow_loss();
    if (status == HNK_OK || status == answer)
        return status;
    stopped = stopped || status == HNK_ERROR_DAMAGED_STORE;
    if (!inject_has_struck() || !(fits(status) || (stopped && status == HNK_ERROR_DAMAGED_STORE))) {
        fprintf(stderr, "%s: %s\n", what, hnk_status_name(status));
        exit(1);
    }
    return status;
}

#define TOLD(call) told(#call, call, HNK_OK)
#define TOLD_OR(call, answer) told(#call, call, answer)

/* Opening ---------------------------------------------------------------------------------------------------------- */

static hnk_status open_store(const char *path, hnk_store **out)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    options.blob_threshold_bytes = BLOB_THRESHOLD;
    options.sync_mode = HNK_SYNC_COMMIT;
    return hnk_store_open(path, &options, out, NULL);
}

static hnk_status open_bucket(uint32_t which)
{
    static const hnk_bytes names[BUCKETS] = { { "plain", 5 }, { "limited", 7 } };
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    options.fields = which == LIMITED ? HNK_FIELD_ENTRIES : 0;
    options.entries_max = ENTRIES_MAX;
    return hnk_bucket_open(now.store, names[which], &options, &now.buckets[which], NULL);
}

static bool open_all(const char *path)
{
    now = (opened){ NULL, { NULL } };
    if (TOLD(open_store(path, &now.store)) != HNK_OK)
        return false;
    for (uint32_t i = 0; i < BUCKETS; i++)
        if (TOLD(open_bucket(i)) != HNK_OK)
            return false;
    return true;
}

static void close_all(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        hnk_bucket_close(now.buckets[i]);
    hnk_store_close(now.store);
    now = (opened){ NULL, { NULL } };
}

/* Leaves the store as a process does that is killed. */
static void open_and_die(const char *path)
{
    int status;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        hnk_store *store;
        _exit(open_store(path, &store) == HNK_OK ? 0 : 1);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
    (void)stat, (void)kind, (void)walk;
    return remove(path);
}

static void wipe(const char *path)
{
    enum { FILES_MAX = 16 };
    EXPECT(nftw(path, remove_one, FILES_MAX, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT);
}

/* Steps ------------------------------------------------------------------------------------------------------------ */

static void set(uint32_t bucket, uint32_t key)
{
    static unsigned char bytes[VALUE_MAX];
    uint64_t version;
    hnk_bytes value = model_value(bucket, key, bytes, &version);
    hnk_status status = TOLD(hnk_bucket_set(now.buckets[bucket], key_name(key), value, NULL));
    model_note(bucket, key, version, status, fault);
}

static void take_out(uint32_t bucket, uint32_t key)
{
    hnk_status status = TOLD_OR(hnk_bucket_remove(now.buckets[bucket], key_name(key)), HNK_NOT_FOUND);
    EXPECT(status != HNK_NOT_FOUND || model_allows(bucket, key, 0));
    model_note(bucket, key, 0, status, fault);
}

/* Expects that what was read may be there. */
static void expect_allowed(const char *how, uint32_t bucket, uint32_t key, hnk_status status, hnk_bytes value)
{
    bool whole = status == HNK_OK && value_is_of(value, key_mark(bucket, key));
    uint64_t version = whole ? value_version(value) : 0;
    EXPECT(whole || status != HNK_OK);
    if ((status == HNK_OK || status == HNK_NOT_FOUND) && !model_allows(bucket, key, version)) {
        fprintf(stderr, "%s gives version %llu of key %u in bucket %u\n", how, (unsigned long long)version, key, bucket);
        exit(1);
    }
}

static void look(uint32_t bucket, uint32_t key)
{
    hnk_lease *lease = NULL;
    hnk_status status = hnk_bucket_get(now.buckets[bucket], key_name(key), 0, &lease);
    if (status == HNK_EXPIRED && key == EXPIRES)
        status = HNK_NOT_FOUND;
    (void)TOLD_OR(status, HNK_NOT_FOUND);
    expect_allowed("get", bucket, key, status, lease != NULL ? hnk_lease_value(lease) : (hnk_bytes){ NULL, 0 });
    hnk_lease_release(lease);
}

static void look_by_copy(uint32_t bucket, uint32_t key)
{
    static unsigned char bytes[VALUE_MAX];
    size_t size = 0;
    hnk_status status = TOLD_OR(
        hnk_bucket_read(now.buckets[bucket], key_name(key), 0, bytes, sizeof bytes, &size), HNK_NOT_FOUND);
    expect_allowed("read", bucket, key, status, (hnk_bytes){ bytes, size });
}

static void apply(void)
{
    enum { STEPS = 4 };
    static unsigned char bytes[STEPS][VALUE_MAX];
    hnk_operation steps[STEPS] = { { .kind = 0 } };
    hnk_status each[STEPS];
    uint64_t versions[STEPS] = { 0 };

    for (uint32_t i = 0; i < STEPS; i++) {
        steps[i].bucket = now.buckets[i % BUCKETS];
        steps[i].key = key_name(4 + i);
        steps[i].kind = i == 2 ? HNK_OPERATION_REMOVE : HNK_OPERATION_SET;
        if (i != 2)
            steps[i].value = model_value(i % BUCKETS, 4 + i, bytes[i], &versions[i]);
    }
    hnk_status status = TOLD(hnk_store_apply(now.store, steps, STEPS, each, NULL));
    for (uint32_t i = 0; i < STEPS; i++)
        model_note(i % BUCKETS, 4 + i, versions[i], status, fault);
}

static void stream(uint32_t bucket, uint32_t key, bool aborts)
{
    static unsigned char bytes[VALUE_MAX];
    uint64_t version;
    hnk_bytes value = model_value(bucket, key, bytes, &version);
    hnk_writer *writer;

    if (TOLD(hnk_writer_begin(now.buckets[bucket], key_name(key), NULL, &writer)) != HNK_OK)
        return;
    for (size_t at = 0, piece = value.size / 2 + 1; at < value.size; at += piece)
        (void)TOLD(hnk_writer_append(
            writer, (hnk_bytes){ bytes + at, value.size - at < piece ? value.size - at : piece }));
    if (aborts)
        hnk_writer_abort(writer);
    else
        model_note(bucket, key, version, TOLD(hnk_writer_commit(writer)), fault);
}

static void list(uint32_t bucket, hnk_list_order order)
{
    hnk_list_options options = HNK_LIST_OPTIONS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_list *walk;
    hnk_status status;
    bool seen[KEYS] = { false };

    options.order = order;
    if (TOLD(hnk_list_open(now.buckets[bucket], &options, &walk)) != HNK_OK)
        return;
    while ((status = TOLD_OR(hnk_list_next(walk, &entry), HNK_NOT_FOUND)) == HNK_OK)
        for (uint32_t key = 0; key < KEYS; key++)
            seen[key] |= entry.key.size == key_name(key).size &&
                         memcmp(entry.key.data, key_name(key).data, entry.key.size) == 0;
    for (uint32_t key = 0; key < KEYS; key++)
        EXPECT(status != HNK_NOT_FOUND || seen[key] || model_allows(bucket, key, 0));
    hnk_list_close(walk);
}

/* A key whose lifetime is over from the start: as good as none. */
static void expire(uint32_t bucket, uint32_t key)
{
    hnk_set_options options = HNK_SET_OPTIONS_INIT;
    uint64_t removed;

    options.lifetime_ms = -1;
    hnk_status status = TOLD(hnk_bucket_set(now.buckets[bucket], key_name(key), HNK_TEXT("over"), &options));
    model_note(bucket, key, 0, status, fault);
    look(bucket, key);
    (void)TOLD(hnk_bucket_remove_expired(now.buckets[bucket], &removed));
    take_out(bucket, key);
}

static void look_after(void)
{
    hnk_bucket_options settings = HNK_BUCKET_OPTIONS_INIT;
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_verification found = HNK_VERIFICATION_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_bucket_name name;

    (void)TOLD_OR(hnk_bucket_touch(now.buckets[PLAIN], key_name(0)), HNK_NOT_FOUND);
    (void)TOLD_OR(hnk_bucket_peek(now.buckets[PLAIN], key_name(0), &entry), HNK_NOT_FOUND);
    (void)TOLD(hnk_bucket_settings(now.buckets[LIMITED], &settings));
    (void)TOLD(hnk_bucket_statistics(now.buckets[PLAIN], &counts));
    (void)TOLD(hnk_store_statistics(now.store, &counts));
    (void)TOLD_OR(hnk_store_next_bucket(now.store, NULL, &name), HNK_NOT_FOUND);
    (void)TOLD(hnk_store_sync(now.store, NULL));
    (void)TOLD(hnk_store_compact(now.store, NULL, NULL));
    hnk_status status = TOLD_OR(hnk_store_verify(now.store, NULL, NULL, NULL, &found), HNK_DAMAGED);
    if (status == HNK_DAMAGED && (fault->function != INJECT_unlinkat || found.orphan_blobs == 0)) {
        fprintf(stderr, "verify: %s\n", found.first_fault);
        exit(1);
    }
    settings = (hnk_bucket_options)HNK_BUCKET_OPTIONS_INIT;
    settings.fields = HNK_FIELD_ENTRIES | HNK_FIELD_EVICTION;
    settings.entries_max = ENTRIES_MAX - 2;
    settings.eviction = HNK_EVICTION_SIEVE;
    (void)TOLD(hnk_bucket_configure(now.buckets[LIMITED], &settings, NULL));
}

static void run_use(const char *path, const injection *what)
{
    hnk_bucket *other;
    fault = what;
    stopped = false;
    if (!open_all(path))
        return;
    for (uint32_t key = 0; key < KEYS - 4; key++) {
        set(PLAIN, key);
        set(LIMITED, key);
    }
    set(PLAIN, 1);
    set(PLAIN, 2);
    apply();
    for (uint32_t key = 0; key < 4; key++) {
        look(PLAIN, key);
        look_by_copy(PLAIN, key + 4);
        look(LIMITED, key + 8);
    }
    stream(PLAIN, 9, false);
    stream(PLAIN, 8, false);
    stream(PLAIN, 5, true);
    list(PLAIN, HNK_LIST_BY_KEY);
    list(LIMITED, HNK_LIST_BY_ACCESS);
    take_out(PLAIN, 3);
    take_out(PLAIN, 5);
    expire(PLAIN, EXPIRES);
    look_after();
    for (uint32_t key = 0; key < 4; key++)
        set(LIMITED, key);
    hnk_status status = TOLD(hnk_bucket_remove_prefix(now.buckets[PLAIN], HNK_TEXT("key-1"), NULL));
    for (uint32_t key = 10; key < KEYS; key++)
        model_note(PLAIN, key, 0, status, what);
    status = TOLD(hnk_bucket_remove_all(now.buckets[LIMITED]));
    for (uint32_t key = 0; key < KEYS; key++)
        model_note(LIMITED, key, 0, status, what);
    set(LIMITED, 1);
    if (TOLD(hnk_bucket_open(now.store, HNK_TEXT("dropped"), NULL, &other, NULL)) == HNK_OK) {
        (void)TOLD(hnk_bucket_set(other, HNK_TEXT("key"), HNK_TEXT("value"), NULL));
        hnk_bucket_close(other);
        (void)TOLD(hnk_store_drop_bucket(now.store, HNK_TEXT("dropped"), NULL));
    }
}

/* Checking --------------------------------------------------------------------------------------------------------- */

/* What the statuses said is there, all of it holds, and writes go on. */
static void expect_model(uint64_t orphans_max)
{
    uint64_t blobs = 0;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        for (uint32_t key = 0; key < KEYS; key++)
            look(bucket, key);
        expect_counts_add_up(now.buckets[bucket], &blobs);
    }
    expect_sound(now.store, orphans_max);
    for (uint32_t key = 0; key < 4 && !stopped; key++) {
        set(PLAIN, key);
        look(PLAIN, key);
    }
}

static void check_all(const char *path, const injection *what)
{
    bool was_open = now.buckets[BUCKETS - 1] != NULL;
    uint64_t blobs = 0;
    char aside[4096];

    fault = &none;
    /* The store that met it goes on. A file that could not be removed is left until the next opening. */
    if (was_open)
        stopped = hnk_bucket_peek(now.buckets[PLAIN], key_name(0), NULL) == HNK_ERROR_DAMAGED_STORE;
    EXPECT(!stopped || what->function == INJECT_pwrite);
    if (was_open && !stopped)
        expect_model(what->function == INJECT_unlinkat ? UINT64_MAX : 0);
    close_all();
    stopped = false;
    EXPECT_STATUS(open_store(path, &now.store), HNK_OK);
    for (uint32_t i = 0; i < BUCKETS; i++)
        EXPECT_STATUS(open_bucket(i), HNK_OK);
    expect_model(0);
    for (uint32_t i = 0; i < BUCKETS; i++)
        expect_counts_add_up(now.buckets[i], &blobs);
    (void)expect_no_litter(path, blobs, 0);
    close_all();
    snprintf(aside, sizeof aside, "%s/data.mdb.damaged", path);
    /* Of a meta page that it could not write LMDB takes back the number alone: such a file is salvaged. */
    EXPECT(access(aside, F_OK) != 0 || what->function == INJECT_pwrite);
}

/* Scenarios -------------------------------------------------------------------------------------------------------- */

static void prepare_nothing(const char *path)
{
    wipe(path);
    model_empty();
}

/* A store that holds something, closed; the model knows. */
static void prepare_store(const char *path)
{
    wipe(path);
    model_empty();
    fault = &none;
    inject_disarm();
    EXPECT(open_all(path));
    for (uint32_t key = 0; key < KEYS; key++) {
        set(PLAIN, key);
        set(LIMITED, key);
    }
    close_all();
}

const scenario scenario_use = { "use", prepare_store, run_use, check_all };

static void write_file(const char *path, const char *name, off_t at, const void *bytes, size_t size)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/%s", path, name);
    int file = open(whole, O_RDWR | O_CREAT, 0600);
    EXPECT(file >= 0 && pwrite(file, bytes, size, at) == (ssize_t)size);
    close(file);
}

/* Killed in a write: files that belong to nobody, a bucket whose turn was not given back, a marker that says open. */
static void prepare_killed(const char *path)
{
    const uint64_t turn = 1;

    prepare_store(path);
    open_and_die(path);
    write_file(path, "slots-000001", 72, &turn, sizeof turn);
    write_file(path, "blobs/new-0123456789abcdef", 0, "draft", 5);
    write_file(path, "blobs/01/000001-00000001-0000000000fffff0", 0, "orphan", 6);
}

static void run_open(const char *path, const injection *what)
{
    fault = what;
    stopped = false;
    if (!open_all(path))
        return;
    set(PLAIN, 2);
    look(PLAIN, 1);
}

const scenario scenario_make = { "make", prepare_nothing, run_open, check_all };
const scenario scenario_recover = { "recover", prepare_killed, run_open, check_all };

/* The older meta page is lost: LMDB needs both, and all rows can be had. */
static void prepare_damaged(const char *path)
{
    enum { TXN_AT = 144, MAGIC_AT = 16, PAGE = 4096 };
    uint64_t txns[2] = { 0, 0 }, zeros = 0;
    char data[4096];

    prepare_store(path);
    snprintf(data, sizeof data, "%s/data.mdb", path);
    int file = open(data, O_RDONLY);
    EXPECT(file >= 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pread(file, &txns[i], sizeof txns[i], i * PAGE + TXN_AT) == (ssize_t)sizeof txns[i]);
    close(file);
    write_file(path, "data.mdb", (txns[0] < txns[1] ? 0 : PAGE) + MAGIC_AT, &zeros, sizeof zeros);
}

/* A salvage that a fault has ended is done anew by the next open, from the same file. */
static void check_salvaged(const char *path, const injection *what)
{
    char aside[4096];
    snprintf(aside, sizeof aside, "%s/data.mdb.damaged", path);
    if (now.store == NULL) { /* set aside now, if not before */
        EXPECT_STATUS(open_store(path, &now.store), HNK_OK);
        hnk_store_close(now.store);
        now.store = NULL;
    }
    EXPECT(remove(aside) == 0);
    check_all(path, what);
}

const scenario scenario_salvage = { "salvage", prepare_damaged, run_open, check_salvaged };
