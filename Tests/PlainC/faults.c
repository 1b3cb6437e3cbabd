/* faults.c: fails the first allocation or system call of a scenario, then the second, and so on until one run meets no
 * fault. Each run must end in statuses, and leave a sound store with what was in it before.
 *
 *     faults DIRECTORY    prints how many calls were failed; link with -Wl,--wrap of each function below
 */
#include <haneke.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long countdown; /* 0 = no fault is to come */

static int fails(int os_error)
{
    if (countdown == 0 || --countdown > 0)
        return 0;
    errno = os_error;
    return 1;
}

#define WRAP(result, name, parameters, arguments, os_error, failure) \
    result __real_##name parameters; \
    result __wrap_##name parameters; \
    result __wrap_##name parameters { return fails(os_error) ? (failure) : __real_##name arguments; }

WRAP(void *, malloc, (size_t size), (size), ENOMEM, NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), ENOMEM, NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), ENOMEM, NULL)
WRAP(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size), 0, ENOMEM)
WRAP(int, posix_fallocate, (int file, off_t offset, off_t size), (file, offset, size), 0, ENOSPC)
WRAP(char *, strdup, (const char *text), (text), ENOMEM, NULL)
WRAP(char *, realpath, (const char *path, char *out), (path, out), EACCES, NULL)
WRAP(int, flock, (int file, int how), (file, how), ENOLCK, -1)
WRAP(int, fsync, (int file), (file), EIO, -1)
WRAP(int, fstat, (int file, struct stat *out), (file, out), EIO, -1)
WRAP(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), ENOSPC, -1)
WRAP(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), EIO, -1)
WRAP(int, renameat, (int from, const char *old, int to, const char *path), (from, old, to, path), ENOSPC, -1)
WRAP(ssize_t, pread, (int file, void *out, size_t size, off_t at), (file, out, size, at), EIO, -1)
WRAP(ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at), ENOSPC, -1)
WRAP(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size), ENOSPC, -1)
WRAP(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t offset),
     (at, size, protection, flags, file, offset), ENOMEM, MAP_FAILED)

static mode_t mode_of(int flags, va_list arguments)
{
    return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return fails(EMFILE) ? -1 : __real_openat(folder, path, flags, mode);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return fails(EMFILE) ? -1 : __real_open(path, flags, mode);
}

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "fault %ld: %s:%d: %s\n", number, __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static long number; /* of the fault in this run */
static unsigned char large[20000];

static hnk_status open_store(const char *directory, hnk_store **out)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    options.blob_threshold_bytes = 5000;
    return hnk_store_open(directory, &options, out, NULL);
}

static void use_bucket(hnk_store *store, hnk_bucket *bucket)
{
    hnk_bytes value = { large, sizeof large };
    hnk_operation operations[3] = {
        { .bucket = bucket, .kind = HNK_OPERATION_SET, .key = HNK_TEXT("one"), .value = HNK_TEXT("1") },
        { .bucket = bucket, .kind = HNK_OPERATION_SET, .key = HNK_TEXT("two"), .value = value },
        { .bucket = bucket, .kind = HNK_OPERATION_REMOVE, .key = HNK_TEXT("one") },
    };
    hnk_statistics statistics = HNK_STATISTICS_INIT;
    hnk_verification verification = HNK_VERIFICATION_INIT;
    hnk_lease *lease = NULL;
    hnk_list *list = NULL;
    hnk_writer *writer = NULL;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_status status;
    uint64_t removed;

    for (int i = 0; i < 30; i++)
        (void)!hnk_bucket_set(bucket, (hnk_bytes){ &i, sizeof i }, (hnk_bytes){ large, (size_t)i * 300 }, NULL);
    (void)!hnk_store_apply(store, operations, 3, NULL, NULL);
    (void)!hnk_bucket_get(bucket, HNK_TEXT("two"), 0, &lease);
    EXPECT(lease == NULL || (hnk_lease_value(lease).size == sizeof large &&
                             memcmp(hnk_lease_value(lease).data, large, sizeof large) == 0));
    if ((status = hnk_writer_begin(bucket, HNK_TEXT("written"), NULL, &writer)) == HNK_OK) {
        (void)!hnk_writer_append(writer, value);
        (void)!hnk_writer_commit(writer);
    }
    if ((status = hnk_list_open(bucket, NULL, &list)) == HNK_OK)
        while ((status = hnk_list_next(list, &entry)) == HNK_OK) {}
    hnk_list_close(list);
    (void)!hnk_bucket_remove_prefix(bucket, HNK_TEXT("t"), &removed);
    (void)!hnk_bucket_remove_expired(bucket, &removed);
    (void)!hnk_store_statistics(store, &statistics);
    (void)!hnk_store_sync(store, NULL);
    (void)!hnk_store_compact(store, NULL, NULL);
    (void)!hnk_store_verify(store, NULL, NULL, NULL, &verification);
    hnk_lease_release(lease);
}

/* What use_bucket() leaves out; nothing here may fail but by a status. */
static void use_the_rest(hnk_store *store, hnk_bucket *bucket)
{
    hnk_bucket_options settings = HNK_BUCKET_OPTIONS_INIT;
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_bucket_name name;
    hnk_writer *writer;
    size_t size;

    (void)!hnk_bucket_set(bucket, HNK_TEXT("rest"), HNK_TEXT("value"), NULL);
    (void)!hnk_bucket_read(bucket, HNK_TEXT("rest"), 0, NULL, 0, &size);
    (void)!hnk_bucket_peek(bucket, HNK_TEXT("rest"), &entry);
    (void)!hnk_bucket_touch(bucket, HNK_TEXT("rest"));
    (void)!hnk_bucket_settings(bucket, &settings);
    settings.fields = HNK_FIELD_ENTRIES;
    settings.entries_max = 2;
    (void)!hnk_bucket_configure(bucket, &settings, NULL);
    (void)!hnk_bucket_statistics(bucket, &counts);
    (void)!hnk_store_next_bucket(store, NULL, &name);
    if (hnk_writer_begin(bucket, HNK_TEXT("given up"), NULL, &writer) == HNK_OK)
        hnk_writer_abort(writer);
    (void)!hnk_bucket_remove(bucket, HNK_TEXT("rest"));
    (void)!hnk_bucket_remove_all(bucket);
}

static void run(const char *directory)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_store *store = NULL;
    hnk_bucket *bucket = NULL;

    options.fields = HNK_FIELD_ENTRIES;
    options.entries_max = 20;
    if (open_store(directory, &store) != HNK_OK)
        return;
    if (hnk_bucket_open(store, HNK_TEXT("used"), &options, &bucket, NULL) == HNK_OK) {
        use_bucket(store, bucket);
        use_the_rest(store, bucket);
    }
    hnk_bucket_close(bucket);
    (void)!hnk_store_drop_bucket(store, HNK_TEXT("used"), NULL);
    hnk_store_close(store);
}

/* Without faults: what was kept is there, everything holds. */
static void check(const char *directory)
{
    hnk_verification verification = HNK_VERIFICATION_INIT;
    hnk_store *store = NULL;
    hnk_bucket *bucket = NULL;
    hnk_lease *lease = NULL;

    EXPECT(open_store(directory, &store) == HNK_OK);
    hnk_status status = hnk_store_verify(store, NULL, NULL, NULL, &verification);
    if (status != HNK_OK)
        fprintf(stderr, "%s %s\n", hnk_status_name(status), verification.first_fault);
    /* A file that could not be unlinked is an orphan until the next unclean open. */
    EXPECT(status == HNK_OK || verification.orphan_blobs > 0);
    EXPECT(verification.damaged_records + verification.missing_blobs + verification.slot_faults +
               verification.accounting_faults + verification.limit_faults == 0);
    EXPECT(hnk_bucket_open(store, HNK_TEXT("kept"), NULL, &bucket, NULL) == HNK_OK);
    EXPECT(hnk_bucket_get(bucket, HNK_TEXT("row"), 0, &lease) == HNK_OK && hnk_lease_value(lease).size == 5);
    hnk_lease_release(lease);
    EXPECT(hnk_bucket_get(bucket, HNK_TEXT("blob"), 0, &lease) == HNK_OK);
    EXPECT(memcmp(hnk_lease_value(lease).data, large, sizeof large) == 0);
    hnk_lease_release(lease);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
}

int main(int count, char **arguments)
{
    hnk_store *store = NULL;
    hnk_bucket *bucket = NULL;

    EXPECT(count == 2);
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (unsigned char)(i * 31 >> 3);
    EXPECT(open_store(arguments[1], &store) == HNK_OK);
    EXPECT(hnk_bucket_open(store, HNK_TEXT("kept"), NULL, &bucket, NULL) == HNK_OK);
    EXPECT(hnk_bucket_set(bucket, HNK_TEXT("row"), HNK_TEXT("value"), NULL) == HNK_OK);
    EXPECT(hnk_bucket_set(bucket, HNK_TEXT("blob"), (hnk_bytes){ large, sizeof large }, NULL) == HNK_OK);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
    for (number = 1;; number++) {
        countdown = number;
        run(arguments[1]);
        int met = countdown == 0;
        countdown = 0;
        check(arguments[1]);
        if (!met)
            break;
    }
    printf("%ld\n", number - 1);
    return 0;
}
