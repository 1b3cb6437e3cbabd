/* torture.c: many threads of several processes do everything at once to one directory, a fixed number of times.
 *
 *     torture DIRECTORY PROCESSES THREADS OPERATIONS [SEED]    operations of each thread; the seed is 1
 *
 * Prints how many operations there were and how many of them read a value. What fails names the seed. With one process
 * nothing is forked, so the thread sanitizer sees it all.
 */
#include "files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES, ENTRIES, FREE, BUCKETS };
enum { KEYS = 300, HELD = 3, VALUE_MAX = 40000, BLOB_THRESHOLD = 6000, PROCESSES_MAX = 16 };
enum { CAPACITY_BYTES = 400 * 1024, CAPACITY_LOW_BYTES = 300 * 1024, ENTRIES_MAX = 120 };

typedef struct counts { _Atomic uint64_t hits, misses, sets, listed, told, drops, anew; } counts;

static counts *all; /* shared by all processes */
static const char *directory;
static uint64_t operations, seed = 1;
static uint32_t number; /* of this process */
static bool done;
static hnk_store *store;
static hnk_bucket *buckets[BUCKETS];

typedef struct worker {
    pthread_t thread;
    uint64_t random;
    bool drops;
    hnk_bucket *free; /* its own handle: of a bucket that comes and goes */
    struct { hnk_lease *lease; uint64_t mark; } held[HELD];
    unsigned char *value;
} worker;

static void tell(void)
{
    if (!done)
        fprintf(stderr, "torture: seed %llu, process %u\n", (unsigned long long)seed, number);
}

/* The first is bounded in bytes and changes its order of eviction now and then, the second is bounded in entries and
 * evicts by SIEVE; the last has no bound, is emptied by prefix, and one thread of all drops it now and then. */
static hnk_bucket *open_bucket(uint32_t which)
{
    static const char *const names[BUCKETS] = { "bytes", "entries", "free" };
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_bucket *bucket;
    options.fields = which == BYTES     ? HNK_FIELD_CAPACITY
                     : which == ENTRIES ? HNK_FIELD_ENTRIES | HNK_FIELD_EVICTION
                                        : 0;
    options.capacity_bytes = CAPACITY_BYTES;
    options.entries_max = ENTRIES_MAX;
    options.eviction = HNK_EVICTION_SIEVE;
    EXPECT_STATUS(hnk_bucket_open(store, (hnk_bytes){ names[which], strlen(names[which]) }, &options, &bucket, NULL),
                  HNK_OK);
    return bucket;
}

static hnk_bucket *bucket_of(const worker *worker, uint32_t which)
{
    return which == FREE ? worker->free : buckets[which];
}

/* A drop leaves the handles of a bucket without one, which writes and lists answer: then there is a new bucket to
 * open. Anything but that and success is wrong, and that too of the others. */
static bool is_done(worker *worker, uint32_t bucket, hnk_status status)
{
    if (status == HNK_NOT_FOUND && bucket == FREE) {
        hnk_bucket_close(worker->free);
        worker->free = open_bucket(FREE);
        atomic_fetch_add(&all->anew, 1);
        return false;
    }
    EXPECT_STATUS(status, HNK_OK);
    return true;
}

static void open_all(void)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    options.blob_threshold_bytes = BLOB_THRESHOLD;
    EXPECT_STATUS(hnk_store_open(directory, &options, &store, NULL), HNK_OK);
    for (uint32_t i = 0; i < BUCKETS; i++)
        buckets[i] = open_bucket(i);
}

static void close_all(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        hnk_bucket_close(buckets[i]);
    hnk_store_close(store);
}

static hnk_bytes name_of(char out[16], uint32_t key)
{
    int size = snprintf(out, 16, "%03u", key);
    return (hnk_bytes){ out, (size_t)size };
}

static uint64_t mark_of(uint32_t bucket, uint32_t key)
{
    return (uint64_t)bucket << 32 | key;
}

static hnk_bytes new_value(worker *worker, uint32_t bucket, uint32_t key, unsigned char *out)
{
    uint32_t class = drawn_below(&worker->random, 20);
    size_t size = VALUE_HEAD_BYTES + drawn_below(&worker->random, class < 15 ? 1500 : class < 18 ? 5000 : 30000);
    value_write(out, mark_of(bucket, key), drawn(&worker->random), size);
    atomic_fetch_add(&all->sets, 1);
    return (hnk_bytes){ out, size };
}

/* Holds a lease for a while, whatever happens to its entry; looks at the value when it is taken and when it goes. */
static void lease(worker *worker, uint32_t bucket, uint32_t key)
{
    uint32_t place = drawn_below(&worker->random, HELD);
    hnk_lease **held = &worker->held[place].lease;
    char name[16];

    if (*held != NULL)
        EXPECT(value_is_of(hnk_lease_value(*held), worker->held[place].mark));
    hnk_lease_release(*held);
    hnk_status status = hnk_bucket_get(bucket_of(worker, bucket), name_of(name, key), 0, held);
    EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
    atomic_fetch_add(status == HNK_OK ? &all->hits : &all->misses, 1);
    worker->held[place].mark = mark_of(bucket, key);
    if (status == HNK_OK)
        EXPECT(value_is_of(hnk_lease_value(*held), worker->held[place].mark));
}

static void copy(worker *worker, uint32_t bucket, uint32_t key)
{
    size_t size;
    char name[16];
    hnk_status status = hnk_bucket_read(
        bucket_of(worker, bucket), name_of(name, key), 0, worker->value, VALUE_MAX, &size);
    EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
    atomic_fetch_add(status == HNK_OK ? &all->hits : &all->misses, 1);
    if (status == HNK_OK)
        EXPECT(value_is_of((hnk_bytes){ worker->value, size }, mark_of(bucket, key)));
}

static void apply(worker *worker, uint32_t key)
{
    enum { STEPS = 5 };
    hnk_operation steps[STEPS] = { { .kind = 0 } };
    hnk_status statuses[STEPS];
    char names[STEPS][16];
    bool gone = false;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t bucket = i % BUCKETS;
        steps[i].bucket = bucket_of(worker, bucket);
        steps[i].key = name_of(names[i], (key + i) % KEYS);
        steps[i].kind = i >= BUCKETS ? HNK_OPERATION_REMOVE : HNK_OPERATION_SET;
        if (i < BUCKETS)
            steps[i].value = new_value(worker, bucket, (key + i) % KEYS, worker->value + i * VALUE_MAX);
    }
    EXPECT_STATUS(hnk_store_apply(store, steps, STEPS, statuses, NULL), HNK_OK);
    for (uint32_t i = 0; i < STEPS; i++) {
        bool may_miss = i % BUCKETS == FREE || i >= BUCKETS;
        EXPECT(statuses[i] == HNK_OK || (statuses[i] == HNK_NOT_FOUND && may_miss));
        gone |= statuses[i] == HNK_NOT_FOUND && i == FREE;
    }
    (void)is_done(worker, FREE, gone ? HNK_NOT_FOUND : HNK_OK);
}

static void stream(worker *worker, uint32_t bucket, uint32_t key)
{
    hnk_bytes value = new_value(worker, bucket, key, worker->value);
    hnk_writer *writer;
    char name[16];
    EXPECT_STATUS(hnk_writer_begin(bucket_of(worker, bucket), name_of(name, key), NULL, &writer), HNK_OK);
    EXPECT_STATUS(hnk_writer_append(writer, (hnk_bytes){ value.data, value.size / 2 }), HNK_OK);
    EXPECT_STATUS(hnk_writer_append(writer, (hnk_bytes){ (const char *)value.data + value.size / 2,
                                                         value.size - value.size / 2 }), HNK_OK);
    if (key % 7 == 0)
        hnk_writer_abort(writer);
    else
        (void)is_done(worker, bucket, hnk_writer_commit(writer));
}

/* Lists, and expects each key once and, by key, in order. */
static void list(worker *worker, uint32_t bucket)
{
    hnk_list_options options = HNK_LIST_OPTIONS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    bool seen[KEYS] = { false };
    hnk_list *list;
    int last = -1;

    options.order = drawn_below(&worker->random, 2) == 0 ? HNK_LIST_BY_KEY : HNK_LIST_BY_ACCESS;
    hnk_status status = hnk_list_open(bucket_of(worker, bucket), &options, &list);
    if (!is_done(worker, bucket, status))
        return;
    while ((status = hnk_list_next(list, &entry)) == HNK_OK) {
        char text[4] = { 0 };
        EXPECT(entry.key.size == 3);
        memcpy(text, entry.key.data, 3);
        int key = atoi(text);
        EXPECT(key >= 0 && key < KEYS && !(options.order == HNK_LIST_BY_KEY && key <= last));
        /* By access an entry that moves during the walk may be met again in its new slot. */
        EXPECT(options.order == HNK_LIST_BY_ACCESS || !seen[key]);
        seen[key] = true;
        last = key;
        atomic_fetch_add(&all->listed, 1);
    }
    EXPECT_STATUS(status, HNK_NOT_FOUND);
    hnk_list_close(list);
}

static void look_at_counts(worker *worker, uint32_t bucket)
{
    hnk_statistics counts = HNK_STATISTICS_INIT;
    if (!is_done(worker, bucket, hnk_bucket_statistics(bucket_of(worker, bucket), &counts)))
        return;
    EXPECT(counts.bytes <= counts.capacity_bytes && counts.entries <= KEYS && counts.payload_bytes <= counts.bytes);
    EXPECT(bucket != BYTES || counts.capacity_bytes <= CAPACITY_BYTES);
    EXPECT(bucket != ENTRIES || counts.entries <= ENTRIES_MAX);
    atomic_fetch_add(&all->told, 1);
}

/* What is rare: looking after the store while all others go on. */
static void look_after(worker *worker)
{
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_store *again;
    uint64_t removed;

    switch (drawn_below(&worker->random, 8)) {
    case 0: expect_sound(store, UINT64_MAX); break; /* a file may be about to be named, or to go */
    case 1: EXPECT_STATUS(hnk_store_compact(store, &removed, NULL), HNK_OK); break;
    case 2: EXPECT_STATUS(hnk_store_sync(store, NULL), HNK_OK); break;
    case 3: EXPECT_STATUS(hnk_store_statistics(store, &counts), HNK_OK); break;
    case 4: EXPECT_STATUS(hnk_bucket_remove_expired(buckets[drawn_below(&worker->random, 2)], &removed), HNK_OK); break;
    case 5: EXPECT_STATUS(hnk_bucket_remove_all(buckets[drawn_below(&worker->random, 2)]), HNK_OK); break;
    case 6: /* the capacity goes down and up */
        options.fields = HNK_FIELD_CAPACITY | HNK_FIELD_EVICTION;
        options.eviction = drawn_below(&worker->random, 2) == 0 ? HNK_EVICTION_LRU : HNK_EVICTION_SIEVE;
        options.capacity_bytes = drawn_below(&worker->random, 2) == 0 ? CAPACITY_BYTES : CAPACITY_LOW_BYTES;
        EXPECT_STATUS(hnk_bucket_configure(buckets[0], &options, NULL), HNK_OK);
        break;
    default:
        EXPECT_STATUS(hnk_store_open(directory, NULL, &again, NULL), HNK_OK);
        EXPECT(again == store);
        hnk_store_close(again);
        hnk_bucket_close(open_bucket(drawn_below(&worker->random, 2)));
    }
}

/* Drops the bucket under all who read and write it, and makes it anew. What it takes for its own leases stays whole. */
static void drop_and_open(worker *worker)
{
    enum { LEASES = 8 };
    hnk_lease *leases[LEASES];
    uint64_t marks[LEASES];
    char name[16];

    for (int i = 0; i < LEASES; i++) {
        uint32_t key = drawn_below(&worker->random, KEYS);
        marks[i] = mark_of(FREE, key);
        hnk_status status = hnk_bucket_get(worker->free, name_of(name, key), 0, &leases[i]);
        EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
    }
    EXPECT_STATUS(hnk_store_drop_bucket(store, HNK_TEXT("free"), NULL), HNK_OK);
    atomic_fetch_add(&all->drops, 1);
    EXPECT_STATUS(hnk_bucket_peek(worker->free, name_of(name, 0), NULL), HNK_NOT_FOUND);
    hnk_bucket_close(worker->free);
    worker->free = open_bucket(FREE);
    for (int i = 0; i < LEASES; i++) {
        EXPECT(leases[i] == NULL || value_is_of(hnk_lease_value(leases[i]), marks[i]));
        hnk_lease_release(leases[i]);
    }
}

static void *work(void *context)
{
    enum { OPERATIONS_A_DROP = 40 };
    worker *worker = context;
    char name[16];
    uint64_t removed;

    for (uint64_t i = 0; i < operations; i++) {
        if (worker->drops && i % OPERATIONS_A_DROP == OPERATIONS_A_DROP - 1)
            drop_and_open(worker);
        uint32_t bucket = drawn_below(&worker->random, BUCKETS), key = drawn_below(&worker->random, KEYS);
        uint32_t choice = drawn_below(&worker->random, 200);
        hnk_status status;
        if (choice < 80) {
            lease(worker, bucket, key);
        } else if (choice < 100) {
            copy(worker, bucket, key);
        } else if (choice < 160) {
            hnk_bytes value = new_value(worker, bucket, key, worker->value);
            (void)is_done(worker, bucket, hnk_bucket_set(bucket_of(worker, bucket), name_of(name, key), value, NULL));
        } else if (choice < 170) {
            status = hnk_bucket_remove(bucket_of(worker, bucket), name_of(name, key));
            EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
        } else if (choice < 176) {
            apply(worker, key);
        } else if (choice < 182) {
            stream(worker, bucket, key);
        } else if (choice < 184) {
            name_of(name, key);
            status = hnk_bucket_remove_prefix(bucket_of(worker, bucket), (hnk_bytes){ name, 2 }, &removed);
            (void)is_done(worker, bucket, status);
        } else if (choice < 190) {
            status = hnk_bucket_touch(bucket_of(worker, bucket), name_of(name, key));
            EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
        } else if (choice < 198) {
            look_at_counts(worker, bucket);
        } else if (choice == 198) {
            list(worker, bucket);
        } else if (drawn_below(&worker->random, 3) == 0) {
            look_after(worker);
        }
    }
    for (int i = 0; i < HELD; i++) {
        EXPECT(worker->held[i].lease == NULL ||
               value_is_of(hnk_lease_value(worker->held[i].lease), worker->held[i].mark));
        hnk_lease_release(worker->held[i].lease);
    }
    hnk_bucket_close(worker->free);
    return NULL;
}

static void work_all(uint32_t threads)
{
    enum { THREADS_MAX = 64, VALUES = 3 };
    static worker workers[THREADS_MAX];

    EXPECT(threads <= THREADS_MAX);
    open_all();
    for (uint32_t i = 0; i < threads; i++) {
        workers[i].random = mixed(mixed(seed) ^ ((uint64_t)number << 32 | i));
        workers[i].drops = number == 0 && i == 0;
        workers[i].free = open_bucket(FREE);
        workers[i].value = malloc(VALUES * VALUE_MAX);
        EXPECT(workers[i].value != NULL && pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (uint32_t i = 0; i < threads; i++) {
        EXPECT(pthread_join(workers[i].thread, NULL) == 0);
        free(workers[i].value);
    }
    close_all();
}

int main(int count, char **arguments)
{
    EXPECT(count == 5 || count == 6);
    atexit(tell);
    directory = arguments[1];
    uint32_t processes = (uint32_t)atoi(arguments[2]), threads = (uint32_t)atoi(arguments[3]);
    operations = strtoull(arguments[4], NULL, 10);
    seed = count > 5 ? strtoull(arguments[5], NULL, 10) : seed;
    EXPECT(processes >= 1 && processes <= PROCESSES_MAX);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(all != MAP_FAILED);

    pid_t children[PROCESSES_MAX];
    for (number = 0; number + 1 < processes; number++)
        if ((children[number] = fork()) == 0) {
            work_all(threads);
            done = true;
            return 0;
        }
    work_all(threads);
    for (uint32_t i = 0; i + 1 < processes; i++) {
        int status;
        EXPECT(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }

    uint64_t blobs = 0;
    hnk_statistics found = HNK_STATISTICS_INIT;
    open_all();
    expect_sound(store, 0);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        expect_counts_add_up(buckets[i], &blobs);
        EXPECT_STATUS(hnk_bucket_statistics(buckets[i], &found), HNK_OK);
        EXPECT(found.corruptions == 0);
    }
    EXPECT_STATUS(hnk_store_statistics(store, &found), HNK_OK);
    EXPECT(found.leases == 0 && found.oldest_lease_ms == 0);
    close_all();
    EXPECT(files_of_slots(directory) == BUCKETS);
    printf("%llu operations, %llu hits, %llu misses, %llu sets, %llu listed, %llu looks at the counts, %llu drops met by "
           "%llu\n",
           (unsigned long long)(processes * threads * operations), (unsigned long long)all->hits,
           (unsigned long long)all->misses, (unsigned long long)all->sets, (unsigned long long)all->listed,
           (unsigned long long)all->told, (unsigned long long)all->drops, (unsigned long long)all->anew);
    done = true;
    return 0;
}
