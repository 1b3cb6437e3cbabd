/* unwritable.c: stores whose files may not be written, or not even read.
 *
 *     unwritable open DIRECTORY      the whole directory becomes read-only while it is open
 *     unwritable closed DIRECTORY    it, or one of its files, is so before the opening
 *
 * Permissions don't bind root, so as root all is done as another user. Prints what is tried.
 */
#include "files.h"

#include <grp.h>
#include <sys/wait.h>

enum { NOBODY = 65534, BLOB_THRESHOLD = 5000, BLOB_BYTES = 9000, ROW_BYTES = 700 };

static unsigned char bytes[BLOB_BYTES];

static hnk_bytes key_of(const char *text)
{
    return (hnk_bytes){ text, strlen(text) };
}

static hnk_status open_store(const char *path, hnk_store **out)
{
    hnk_store_options options = HNK_STORE_OPTIONS_INIT;
    options.blob_threshold_bytes = BLOB_THRESHOLD;
    return hnk_store_open(path, &options, out, NULL);
}

static hnk_status set(hnk_bucket *bucket, const char *key, size_t size)
{
    return hnk_bucket_set(bucket, key_of(key), (hnk_bytes){ bytes, size }, NULL);
}

static void expect_value(hnk_bucket *bucket, const char *key, size_t size)
{
    hnk_lease *lease;
    EXPECT_STATUS(hnk_bucket_get(bucket, key_of(key), 0, &lease), HNK_OK);
    EXPECT(hnk_lease_value(lease).size == size && memcmp(hnk_lease_value(lease).data, bytes, size) == 0);
    hnk_lease_release(lease);
}

/* Changes the permissions of a path below the store, or of the store itself with "". */
static void allow(const char *store, const char *name, mode_t mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", store, name);
    EXPECT(chmod(path, mode) == 0);
}

/* The permissions of the directory and all in it. */
static void allow_all(const char *store, bool writes)
{
    static const char *const files[] = { "data.mdb", "lock.mdb", "state", "turn", "slots-000001" };
    char path[4096];
    DIR *blobs;
    struct dirent *entry;

    allow(store, "", 0700);
    allow(store, "blobs", 0700);
    snprintf(path, sizeof path, "%s/blobs", store);
    EXPECT((blobs = opendir(path)) != NULL);
    while ((entry = readdir(blobs)) != NULL) {
        snprintf(path, sizeof path, "blobs/%s", entry->d_name);
        if (entry->d_name[0] != '.')
            allow(store, path, writes ? 0700 : 0500);
    }
    closedir(blobs);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        allow(store, files[i], writes ? 0600 : 0400);
    allow(store, "blobs", writes ? 0700 : 0500);
    allow(store, "", writes ? 0700 : 0500);
}

/* A closed store with a row and a blob. */
static void make_store(const char *path)
{
    hnk_store *store;
    hnk_bucket *bucket;
    EXPECT_STATUS(open_store(path, &store), HNK_OK);
    EXPECT_STATUS(hnk_bucket_open(store, HNK_TEXT("test"), NULL, &bucket, NULL), HNK_OK);
    EXPECT_STATUS(set(bucket, "row", ROW_BYTES), HNK_OK);
    EXPECT_STATUS(set(bucket, "blob", BLOB_BYTES), HNK_OK);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
}

/* Expects what make_store() set, `more` beside it, no file too many, none set aside, and that
 * writing goes on. */
static void expect_all(const char *path, const char *more)
{
    hnk_store *store;
    hnk_bucket *bucket;
    uint64_t blobs = 0;
    char aside[4096];
    EXPECT_STATUS(open_store(path, &store), HNK_OK);
    EXPECT_STATUS(hnk_bucket_open(store, HNK_TEXT("test"), NULL, &bucket, NULL), HNK_OK);
    expect_value(bucket, "row", ROW_BYTES);
    expect_value(bucket, "blob", BLOB_BYTES);
    if (more != NULL)
        expect_value(bucket, more, ROW_BYTES);
    EXPECT_STATUS(set(bucket, "blob after", BLOB_BYTES), HNK_OK);
    EXPECT_STATUS(hnk_bucket_remove(bucket, key_of("blob after")), HNK_OK);
    expect_sound(store, 0);
    expect_counts_add_up(bucket, &blobs);
    EXPECT(files_of_blobs(path) == blobs);
    snprintf(aside, sizeof aside, "%s/data.mdb.damaged", path);
    EXPECT(access(aside, F_OK) != 0);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
}

static void while_open(const char *path)
{
    hnk_store *store, *again;
    hnk_bucket *bucket, *other;
    hnk_writer *writer;
    hnk_lease *lease;
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_bucket_name name;

    make_store(path);
    EXPECT_STATUS(open_store(path, &store), HNK_OK);
    EXPECT_STATUS(hnk_bucket_open(store, HNK_TEXT("test"), NULL, &bucket, NULL), HNK_OK);
    EXPECT_STATUS(set(bucket, "blob that goes", BLOB_BYTES), HNK_OK);
    EXPECT_STATUS(hnk_bucket_get(bucket, key_of("blob"), 0, &lease), HNK_OK);
    allow_all(path, false);

    /* What is open stays so: rows are read and written. */
    for (int round = 0; round < 40; round++) {
        expect_value(bucket, "row", ROW_BYTES);
        expect_value(bucket, "blob", BLOB_BYTES);
        EXPECT_STATUS(set(bucket, "more", ROW_BYTES), HNK_OK);
    }
    EXPECT_STATUS(hnk_store_sync(store, NULL), HNK_OK);
    EXPECT_STATUS(hnk_store_compact(store, NULL, NULL), HNK_OK);
    EXPECT_STATUS(hnk_store_statistics(store, &counts), HNK_OK);
    EXPECT_STATUS(open_store(path, &again), HNK_ERROR_ACCESS);

    /* What needs a new file is refused, and nothing is changed by it. */
    EXPECT_STATUS(set(bucket, "new blob", BLOB_BYTES), HNK_ERROR_ACCESS);
    EXPECT_STATUS(set(bucket, "blob", BLOB_BYTES), HNK_ERROR_ACCESS);
    EXPECT_STATUS(hnk_writer_begin(bucket, key_of("streamed"), NULL, &writer), HNK_ERROR_ACCESS);
    EXPECT_STATUS(hnk_bucket_open(store, HNK_TEXT("new"), NULL, &other, NULL), HNK_ERROR_ACCESS);
    EXPECT_STATUS(hnk_bucket_peek(bucket, key_of("new blob"), NULL), HNK_NOT_FOUND);
    EXPECT_STATUS(hnk_bucket_peek(bucket, key_of("streamed"), NULL), HNK_NOT_FOUND);
    expect_value(bucket, "blob", BLOB_BYTES);
    expect_sound(store, 0);

    /* A file that can't be removed is left behind, until the next opening. */
    EXPECT_STATUS(hnk_bucket_remove(bucket, key_of("blob that goes")), HNK_OK);
    EXPECT_STATUS(hnk_bucket_peek(bucket, key_of("blob that goes"), NULL), HNK_NOT_FOUND);
    expect_sound(store, 1);
    EXPECT(hnk_lease_value(lease).size == BLOB_BYTES && memcmp(hnk_lease_value(lease).data, bytes, BLOB_BYTES) == 0);
    hnk_lease_release(lease);

    /* A bucket that was refused is not half there. */
    EXPECT_STATUS(hnk_store_next_bucket(store, NULL, &name), HNK_OK);
    EXPECT_STATUS(hnk_store_next_bucket(store, &name, &name), HNK_NOT_FOUND);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
    allow_all(path, true);
    expect_all(path, "more");
}

/* Marks the store as one whose process was killed, so that the next open looks at the pages. */
static void kill_store(const char *path)
{
    pid_t child = fork();
    int status;
    EXPECT(child >= 0);
    if (child == 0) {
        hnk_store *store;
        EXPECT_STATUS(open_store(path, &store), HNK_OK);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What is forbidden, and what then answers what. Opening tries all that it needs itself, and after a kill what it has to
 * put in order. The file of the writers' lock is made anew by whoever is alone. */
typedef struct lock_out { const char *name; mode_t forbidden; hnk_status clean, killed, bucket, row, blob; } lock_out;

static void at_open(const char *path)
{
    enum { OK = HNK_OK, NO = HNK_ERROR_ACCESS, TURNS = 2 };
    static const lock_out things[] = {
        { "", 0500, NO, NO, NO, NO, NO },         { "", 0000, NO, NO, NO, NO, NO },
        { "data.mdb", 0400, NO, NO, NO, NO, NO }, { "data.mdb", 0000, NO, NO, NO, NO, NO },
        { "lock.mdb", 0400, NO, NO, NO, NO, NO }, { "lock.mdb", 0000, NO, NO, NO, NO, NO },
        { "state", 0400, NO, NO, NO, NO, NO },    { "state", 0000, NO, NO, NO, NO, NO },
        { "turn", 0400, OK, OK, OK, OK, OK },     { "turn", 0000, OK, OK, OK, OK, OK },
        { "slots-000001", 0400, OK, NO, NO, NO, NO }, { "slots-000001", 0000, OK, NO, NO, NO, NO },
        { "blobs", 0500, OK, OK, OK, OK, NO },    { "blobs", 0000, OK, NO, OK, OK, NO },
    };
    hnk_store *store;
    hnk_bucket *bucket;

    make_store(path);
    for (size_t i = 0; i < TURNS * sizeof things / sizeof *things; i++) {
        const lock_out *thing = &things[i / TURNS];
        bool killed = i % TURNS != 0, is_folder = thing->name[0] == '\0' || strcmp(thing->name, "blobs") == 0;
        if (killed)
            kill_store(path);
        allow(path, thing->name, thing->forbidden);
        printf("%s %o%s\n", thing->name, (unsigned)thing->forbidden, killed ? ", after a kill" : "");
        fflush(stdout);
        hnk_status status = open_store(path, &store);
        EXPECT_STATUS(status, killed ? thing->killed : thing->clean);
        if (status == HNK_OK) {
            status = hnk_bucket_open(store, HNK_TEXT("test"), NULL, &bucket, NULL);
            EXPECT_STATUS(status, thing->bucket);
            if (status == HNK_OK) {
                EXPECT_STATUS(set(bucket, "row", ROW_BYTES), thing->row);
                EXPECT_STATUS(set(bucket, "blob", BLOB_BYTES), thing->blob);
                expect_value(bucket, "row", ROW_BYTES);
                hnk_bucket_close(bucket);
            }
            hnk_store_close(store);
        }
        allow(path, thing->name, is_folder ? 0700 : 0600);
        expect_all(path, NULL);
    }
}

int main(int count, char **arguments)
{
    char path[4000];

    EXPECT(count == 3);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 31 >> 3);
    if (geteuid() == 0) {
        EXPECT(chown(arguments[2], NOBODY, NOBODY) == 0);
        EXPECT(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    }
    snprintf(path, sizeof path, "%s/store", arguments[2]);
    if (strcmp(arguments[1], "open") == 0) {
        while_open(path);
    } else {
        EXPECT(strcmp(arguments[1], "closed") == 0);
        at_open(path);
    }
    return 0;
}
