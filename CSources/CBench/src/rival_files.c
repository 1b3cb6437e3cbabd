/* rival_files.c: a file a value in 256 folders, access times in the inodes: what the first Haneke did. Eviction goes
 * through a list of all files, oldest access first, that is made anew when it is used up. */
#include "rival.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_atim st_atimespec
#endif

enum { FOLDERS = 256, BUFFER_BYTES = 2 << 20, NAME_MAX_BYTES = 32 };

typedef struct listed {
    struct timespec accessed;
    char name[NAME_MAX_BYTES];
} listed;

typedef struct files {
    int directory;
    uint64_t capacity;
    _Atomic uint64_t total;
    listed *list;
    size_t list_count, list_next;
} files;

typedef struct session {
    files *files;
    uint8_t *buffer;
} session;

static void close_store(void *store)
{
    files *files = store;
    close(files->directory);
    free(files->list);
    free(files);
}

static uint64_t blocks(const struct stat *status)
{
    return (uint64_t)status->st_blocks * 512;
}

/* Lists all files, so that `total` and the order are known. */
static bool list_files(files *files)
{
    size_t room = 0;
    files->list_count = files->list_next = 0;
    files->total = 0;
    for (unsigned folder = 0; folder < FOLDERS; folder++) {
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%02x", folder);
        int descriptor = openat(files->directory, name, O_RDONLY | O_DIRECTORY);
        DIR *listing = descriptor >= 0 ? fdopendir(descriptor) : NULL;
        if (listing == NULL)
            return false;
        for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
            struct stat status;
            if (entry->d_name[0] == '.' || fstatat(descriptor, entry->d_name, &status, 0) != 0)
                continue;
            if (files->list_count == room) {
                room = room > 0 ? room * 2 : 1024;
                listed *larger = realloc(files->list, room * sizeof *larger);
                if (larger == NULL) {
                    closedir(listing);
                    return false;
                }
                files->list = larger;
            }
            listed *one = &files->list[files->list_count++];
            one->accessed = status.st_atim;
            snprintf(one->name, sizeof one->name, "%02x/%.16s", folder, entry->d_name);
            files->total += blocks(&status);
        }
        closedir(listing);
    }
    return true;
}

static int compare_times(const struct timespec *left, const struct timespec *right)
{
    if (left->tv_sec != right->tv_sec)
        return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

static int compare_listed(const void *left, const void *right)
{
    return compare_times(&((const listed *)left)->accessed, &((const listed *)right)->accessed);
}

static bool evict(files *files)
{
    while (files->total > files->capacity) {
        struct stat status;
        if (files->list_next == files->list_count) {
            if (!list_files(files) || files->list_count == 0)
                return false;
            qsort(files->list, files->list_count, sizeof *files->list, compare_listed);
        }
        const listed *oldest = &files->list[files->list_next++];
        if (fstatat(files->directory, oldest->name, &status, 0) != 0 ||
            compare_times(&status.st_atim, &oldest->accessed) != 0)
            continue; /* gone, or used since */
        if (unlinkat(files->directory, oldest->name, 0) != 0)
            return false;
        files->total -= blocks(&status);
    }
    return true;
}

static void *open_store(const char *directory, const bench_settings *settings)
{
    files *files = calloc(1, sizeof *files);
    if (files == NULL)
        return NULL;
    files->capacity = settings->capacity_bytes;
    files->directory = open(directory, O_RDONLY | O_DIRECTORY);
    for (unsigned folder = 0; folder < FOLDERS; folder++) {
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "%02x", folder);
        mkdirat(files->directory, name, 0700);
    }
    if (files->directory < 0 || (files->capacity > 0 && !list_files(files))) {
        close_store(files);
        return NULL;
    }
    return files;
}

static void *session_begin(void *store)
{
    session *session = calloc(1, sizeof *session);
    if (session == NULL || (session->buffer = malloc(BUFFER_BYTES)) == NULL) {
        free(session);
        return NULL;
    }
    session->files = store;
    return session;
}

static void session_end(void *opaque)
{
    session *session = opaque;
    free(session->buffer);
    free(session);
}

static void name_of(bench_bytes key, char name[NAME_MAX_BYTES])
{
    uint64_t hash = bench_hash(key);
    snprintf(name, NAME_MAX_BYTES, "%02x/%016llx", (unsigned)(hash >> 56), (unsigned long long)hash);
}

static bool get(void *opaque, bench_bytes key, bench_reading reading, bench_seen *out)
{
    session *session = opaque;
    char name[NAME_MAX_BYTES];
    struct timespec times[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };

    name_of(key, name);
    int file = openat(session->files->directory, name, O_RDONLY);
    if (file < 0)
        return true;
    ssize_t size = read(file, session->buffer, BUFFER_BYTES);
    if (size >= 0)
        bench_consume(session->buffer, (size_t)size, reading, out);
    futimens(file, times);
    close(file);
    return size >= 0;
}

static bool set(void *opaque, bench_bytes key, bench_bytes value)
{
    session *session = opaque;
    files *files = session->files;
    char name[NAME_MAX_BYTES], fresh[NAME_MAX_BYTES];
    struct stat status;

    name_of(key, name);
    snprintf(fresh, sizeof fresh, "%.2s/.new-%p", name, opaque);
    int file = openat(files->directory, fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0)
        return false;
    bool written = write(file, value.data, value.size) == (ssize_t)value.size;
    close(file);
    if (files->capacity > 0 && fstatat(files->directory, name, &status, 0) == 0)
        files->total -= blocks(&status);
    if (!written || renameat(files->directory, fresh, files->directory, name) != 0)
        return false;
    if (files->capacity == 0)
        return true;
    files->total += (value.size + 4095) / 4096 * 4096; /* its blocks are not counted yet: delayed allocation */
    return evict(files);
}

static bool set_many(void *session, const bench_pair *pairs, size_t count)
{
    bool done = true;
    for (size_t i = 0; i < count; i++)
        done = set(session, pairs[i].key, pairs[i].value) && done;
    return done;
}

static uint64_t accounted(void *opaque)
{
    return ((session *)opaque)->files->total;
}

static const char *version(void)
{
    return "";
}

const bench_rival bench_files = {
    "files", version, open_store, close_store, session_begin, session_end, get, set, set_many, accounted, true,
};
