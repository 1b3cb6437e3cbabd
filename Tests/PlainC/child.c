/* child.c: what tests let another process do with a store: write until killed, use handles after fork(), fill a disk.
 *
 *     child write DIRECTORY FIRST    sets key n % 150 to a value that tells n, from FIRST on, and prints n when it is set
 *     child fork DIRECTORY           uses inherited handles in a forked child; exit status 0 if they answered as they should
 *     child limit DIRECTORY BYTES    writes under a limit of the file size, which shows as a full disk
 */
#include <haneke.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

enum { KEYS = 150, ENTRIES_MAX = 100, BLOB_THRESHOLD = 6000 };

static unsigned char value[16384];

/* The value of n: its eight bytes again and again, of a length that follows from n. */
static hnk_bytes value_of(uint64_t n)
{
    size_t words = 1 + (size_t)(n * 2654435761u % 1500);
    for (size_t i = 0; i < words; i++)
        memcpy(value + i * 8, &n, 8);
    return (hnk_bytes){ value, words * 8 };
}

static hnk_store *open_store(const char *directory)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    hnk_store *store = NULL;
    hnk_error error;
    options.blob_threshold_bytes = BLOB_THRESHOLD;
    if (hnk_store_open(directory, &options, &store, &error) != HNK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return store;
}

static hnk_bucket *open_bucket(hnk_store *store)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_bucket *bucket = NULL;
    options.fields = HNK_FIELD_ENTRIES;
    options.entries_max = ENTRIES_MAX;
    EXPECT(hnk_bucket_open(store, HNK_TEXT("test"), &options, &bucket, NULL) == HNK_OK);
    return bucket;
}

static void write_until_killed(const char *directory, uint64_t n)
{
    hnk_bucket *bucket = open_bucket(open_store(directory));
    for (;; n++) {
        char line[32];
        uint64_t key = n % KEYS;
        EXPECT(hnk_bucket_set(bucket, (hnk_bytes){ &key, sizeof key }, value_of(n), NULL) == HNK_OK);
        int size = snprintf(line, sizeof line, "%llu\n", (unsigned long long)n);
        EXPECT(write(1, line, (size_t)size) == size);
    }
}

/* In the child of fork(): every call on an inherited handle is refused, and what is the parent's is left alone. */
static void use_inherited(
    const char *directory, hnk_store *store, hnk_bucket *bucket, hnk_lease *lease, hnk_list *list, hnk_writer *writer)
{
    hnk_operation operation = { .bucket = bucket, .kind = HNK_OPERATION_REMOVE_ALL };
    hnk_statistics statistics = HNK_STATISTICS_INIT;
    hnk_bucket_options settings = HNK_BUCKET_OPTIONS_INIT;
    hnk_verification verification = HNK_VERIFICATION_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_bytes key = HNK_TEXT("key");
    hnk_bucket_name name;
    hnk_bucket *other;
    hnk_lease *leased;
    hnk_list *listed;
    hnk_writer *writing;
    uint64_t count;
    size_t size;

    EXPECT(hnk_bucket_get(bucket, key, 0, &leased) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_read(bucket, key, 0, NULL, 0, &size) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_peek(bucket, key, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_touch(bucket, key) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_set(bucket, key, key, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_remove(bucket, key) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_remove_prefix(bucket, key, &count) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_remove_all(bucket) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_remove_expired(bucket, &count) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_statistics(bucket, &statistics) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_settings(bucket, &settings) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_configure(bucket, &settings, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_bucket_open(store, key, NULL, &other, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_apply(store, &operation, 1, NULL, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_sync(store, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_compact(store, NULL, NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_statistics(store, &statistics) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_verify(store, NULL, NULL, NULL, &verification) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_next_bucket(store, NULL, &name) == HNK_ERROR_FORKED);
    EXPECT(hnk_store_drop_bucket(store, HNK_TEXT("test"), NULL) == HNK_ERROR_FORKED);
    EXPECT(hnk_list_open(bucket, NULL, &listed) == HNK_ERROR_FORKED);
    EXPECT(hnk_list_next(list, &entry) == HNK_ERROR_FORKED);
    EXPECT(hnk_writer_begin(bucket, key, NULL, &writing) == HNK_ERROR_FORKED);
    EXPECT(hnk_writer_append(writer, key) == HNK_ERROR_FORKED);
    EXPECT(hnk_writer_commit(writer) == HNK_ERROR_FORKED);
    hnk_list_close(list);
    hnk_lease_release(lease);
    hnk_bucket_close(bucket);
    hnk_store_close(store);

    hnk_store *own = open_store(directory);
    hnk_bucket *opened = open_bucket(own);
    EXPECT(own != store && hnk_bucket_get(opened, key, 0, &leased) == HNK_OK);
    hnk_lease_release(leased);
    EXPECT(hnk_bucket_set(opened, HNK_TEXT("from the child"), key, NULL) == HNK_OK);
    hnk_bucket_close(opened);
    hnk_store_close(own);
    exit(0);
}

static void fork_with_handles(const char *directory)
{
    hnk_store *store = open_store(directory);
    hnk_bucket *bucket = open_bucket(store);
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_lease *lease, *again;
    hnk_list *list;
    hnk_writer *writer;
    int status;

    EXPECT(hnk_bucket_set(bucket, HNK_TEXT("key"), HNK_TEXT("value"), NULL) == HNK_OK);
    EXPECT(hnk_bucket_get(bucket, HNK_TEXT("key"), 0, &lease) == HNK_OK);
    EXPECT(hnk_list_open(bucket, NULL, &list) == HNK_OK);
    EXPECT(hnk_writer_begin(bucket, HNK_TEXT("written"), NULL, &writer) == HNK_OK);
    EXPECT(hnk_writer_append(writer, value_of(7)) == HNK_OK);
    for (int round = 0; round < 3; round++) {
        pid_t child = fork();
        EXPECT(child >= 0);
        if (child == 0)
            use_inherited(directory, store, bucket, lease, list, writer);
        EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        EXPECT(hnk_lease_value(lease).size == 5 && memcmp(hnk_lease_value(lease).data, "value", 5) == 0);
        EXPECT(hnk_bucket_get(bucket, HNK_TEXT("from the child"), 0, &again) == HNK_OK);
        hnk_lease_release(again);
        EXPECT(hnk_bucket_remove(bucket, HNK_TEXT("from the child")) == HNK_OK);
    }
    EXPECT(hnk_list_next(list, &entry) == HNK_OK);
    EXPECT(hnk_writer_commit(writer) == HNK_OK);
    EXPECT(hnk_bucket_get(bucket, HNK_TEXT("written"), 0, &again) == HNK_OK);
    hnk_lease_release(again);
    hnk_list_close(list);
    hnk_lease_release(lease);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
}

static void write_under_a_limit(const char *directory, unsigned long long bytes)
{
    hnk_store *store = open_store(directory);
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_bucket *bucket;
    hnk_verification verification = HNK_VERIFICATION_INIT;
    struct rlimit limit, before;
    unsigned full = 0;

    EXPECT(hnk_bucket_open(store, HNK_TEXT("limited"), &options, &bucket, NULL) == HNK_OK);
    signal(SIGXFSZ, SIG_IGN);
    EXPECT(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = (struct rlimit){ bytes, before.rlim_max };
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (uint64_t n = 0; n < 3000; n++) {
        hnk_status status = hnk_bucket_set(bucket, (hnk_bytes){ &n, sizeof n }, value_of(n), NULL);
        if (status != HNK_OK && status != HNK_ERROR_DISK_FULL)
            fprintf(stderr, "%llu: %s\n", (unsigned long long)n, hnk_status_name(status));
        EXPECT(status == HNK_OK || status == HNK_ERROR_DISK_FULL);
        full += status == HNK_ERROR_DISK_FULL;
        hnk_lease *lease;
        status = hnk_bucket_get(bucket, (hnk_bytes){ &n, sizeof n }, 0, &lease);
        EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
        if (status == HNK_OK) {
            hnk_bytes expected = value_of(n), found = hnk_lease_value(lease);
            EXPECT(found.size == expected.size && memcmp(found.data, expected.data, found.size) == 0);
            hnk_lease_release(lease);
        }
    }
    hnk_status status = hnk_store_verify(store, NULL, NULL, NULL, &verification);
    if (status != HNK_OK)
        fprintf(stderr, "%s %s\n", hnk_status_name(status), verification.first_fault);
    EXPECT(status == HNK_OK);
    EXPECT(setrlimit(RLIMIT_FSIZE, &before) == 0);
    EXPECT(hnk_bucket_remove_all(bucket) == HNK_OK);
    EXPECT(hnk_bucket_set(bucket, HNK_TEXT("after"), HNK_TEXT("all"), NULL) == HNK_OK);
    printf("%u\n", full);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
}

int main(int count, char **arguments)
{
    EXPECT(count >= 3);
    if (strcmp(arguments[1], "write") == 0 && count == 4)
        write_until_killed(arguments[2], strtoull(arguments[3], NULL, 10));
    else if (strcmp(arguments[1], "fork") == 0)
        fork_with_handles(arguments[2]);
    else if (strcmp(arguments[1], "limit") == 0 && count == 4)
        write_under_a_limit(arguments[2], strtoull(arguments[3], NULL, 10));
    else
        EXPECT(!"an unknown command");
    return 0;
}
