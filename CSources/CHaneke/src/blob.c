/* blob.c: large values in files of their own. A draft is written under a temporary name, renamed, then its record is
 * committed. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOBS "blobs"
#define DRAFT "new-"

static void blob_path(char out[HNK_BLOB_PATH_BYTES], hnk__blob_name name)
{
    snprintf(out, HNK_BLOB_PATH_BYTES, BLOBS "/%02x/%06x-%08x-%016" PRIx64, (unsigned)(name.slot & 0xFF),
             (unsigned)(name.bucket_id & HNK_BUCKET_ID_MAX), (unsigned)name.slot, name.generation);
}

static bool parse_name(const char *text, hnk__blob_name *out)
{
    char again[HNK_BLOB_PATH_BYTES];
    unsigned bucket_id, slot;
    uint64_t generation;
    if (sscanf(text, "%6x-%8x-%16" SCNx64, &bucket_id, &slot, &generation) != 3)
        return false;
    *out = (hnk__blob_name){ bucket_id, slot, generation };
    blob_path(again, *out);
    return strcmp(strrchr(again, '/') + 1, text) == 0;
}

/* Makes a folder of the store; a store that is gone altogether has its own status. */
static hnk_status make_folder(int directory, const char *path)
{
    if (mkdirat(directory, path, 0700) == 0 || errno == EEXIST)
        return HNK_OK;
    return errno == ENOENT ? HNK_ERROR_DIRECTORY_GONE : hnk__from_errno(errno);
}

hnk_status hnk__blob_begin(hnk__blob_draft *draft, hnk_store *store)
{
    int directory = store->directory;
    uint64_t random;
    hnk_status status;

    *draft = (hnk__blob_draft){ .file = -1 };
    hnk__random(&random, sizeof random);
    snprintf(draft->path, sizeof draft->path, BLOBS "/" DRAFT "%016" PRIx64, random);
    draft->file = openat(directory, draft->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (draft->file < 0 && errno == ENOENT) {
        if ((status = make_folder(directory, BLOBS)) != HNK_OK)
            return status;
        draft->file = openat(directory, draft->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (draft->file < 0) {
        draft->path[0] = '\0';
        return hnk__from_errno(errno);
    }
    /* Held as long as we live: so a sweep knows a draft in work from an abandoned one. */
    if (flock(draft->file, LOCK_EX) != 0)
        status = hnk__from_errno(errno);
    else
        status = (draft->digest = hnk__digest_begin()) != NULL ? HNK_OK : HNK_ERROR_MEMORY;
    if (status != HNK_OK)
        hnk__blob_discard(draft, store);
    return status;
}

hnk_status hnk__blob_append(hnk__blob_draft *draft, hnk_bytes bytes)
{
    const char *at = bytes.data;
    for (size_t left = bytes.size; left > 0;) {
        ssize_t written = write(draft->file, at, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? hnk__from_errno(errno) : HNK_ERROR_DISK_FULL;
        at += written;
        left -= (size_t)written;
    }
    hnk__digest_add(draft->digest, bytes.data, bytes.size);
    draft->size += bytes.size;
    return HNK_OK;
}

hnk_status hnk__blob_sync(hnk__blob_draft *draft)
{
    return fsync(draft->file) == 0 ? HNK_OK : hnk__from_errno(errno);
}

hnk_status hnk__blob_place(hnk__blob_draft *draft, int directory, hnk__blob_name name)
{
    char path[HNK_BLOB_PATH_BYTES];
    hnk_status status;

    blob_path(path, name);
    if (renameat(directory, draft->path, directory, path) != 0) {
        if (errno != ENOENT)
            return hnk__from_errno(errno);
        char folder[HNK_BLOB_PATH_BYTES];
        snprintf(folder, sizeof folder, BLOBS "/%02x", (unsigned)(name.slot & 0xFF));
        if ((status = make_folder(directory, folder)) != HNK_OK)
            return status;
        if (renameat(directory, draft->path, directory, path) != 0)
            return errno == ENOENT ? HNK_ERROR_DIRECTORY_GONE : hnk__from_errno(errno);
    }
    draft->path[0] = '\0';
    return HNK_OK;
}

void hnk__blob_discard(hnk__blob_draft *draft, hnk_store *store)
{
    if (draft->path[0] != '\0' && unlinkat(store->directory, draft->path, 0) != 0 && errno != ENOENT)
        hnk__store_littered(store);
    if (draft->file >= 0)
        close(draft->file);
    hnk__digest_free(draft->digest);
    *draft = (hnk__blob_draft){ .file = -1 };
}

hnk_status hnk__blob_open(int directory, hnk__blob_name name, uint64_t size, int *out_file)
{
    char path[HNK_BLOB_PATH_BYTES];
    struct stat stat;

    blob_path(path, name);
    int file = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* never waits for a pipe */
    if (file < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO ? HNK_DAMAGED
                                                                                       : hnk__from_errno(errno);
    if (fstat(file, &stat) != 0) {
        int os_error = errno;
        close(file);
        return hnk__from_errno(os_error);
    }
    if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size != size) {
        close(file);
        return HNK_DAMAGED;
    }
    *out_file = file;
    return HNK_OK;
}

void hnk__blob_remove(hnk_store *store, hnk__blob_name name)
{
    char path[HNK_BLOB_PATH_BYTES];
    blob_path(path, name);
    if (unlinkat(store->directory, path, 0) != 0 && errno != ENOENT)
        hnk__store_littered(store);
}

bool hnk__blob_exists(int directory, hnk__blob_name name)
{
    char path[HNK_BLOB_PATH_BYTES];
    struct stat stat;
    blob_path(path, name);
    return fstatat(directory, path, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Listing ---------------------------------------------------------------------------------------------------------- */

static DIR *open_folder(int directory, const char *path)
{
    int file = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    if (folder == NULL && file >= 0)
        close(file);
    return folder;
}

/* Removes a draft whose writer is dead; false if it may be there still and nobody's. */
static bool sweep_draft(int folder, const char *name)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENXIO; /* gone, or none of ours */
    bool swept = flock(file, LOCK_EX | LOCK_NB) == 0 ? unlinkat(folder, name, 0) == 0 || errno == ENOENT
                                                     : errno == EWOULDBLOCK;
    close(file);
    return swept;
}

static hnk_status keep_name(hnk__blob_list *list, hnk__blob_name name)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 64 : list->room * 2;
        hnk__blob_name *moved = realloc(list->names, room * sizeof *moved);
        if (moved == NULL)
            return HNK_ERROR_MEMORY;
        list->names = moved;
        list->room = room;
    }
    list->names[list->count++] = name;
    return HNK_OK;
}

static int by_bucket(const void *left, const void *right)
{
    const hnk__blob_name *a = left, *b = right;
    if (a->bucket_id != b->bucket_id)
        return a->bucket_id < b->bucket_id ? -1 : 1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return a->generation < b->generation ? -1 : a->generation > b->generation;
}

hnk_status hnk__blob_list_make(hnk__blob_list *out, hnk_store *store, bool sweeps_drafts)
{
    hnk_status status = HNK_OK;
    struct dirent *shard;

    *out = (hnk__blob_list){ 0 };
    DIR *blobs = open_folder(store->directory, BLOBS);
    if (blobs == NULL)
        return errno == ENOENT ? HNK_OK : hnk__from_errno(errno);
    while (status == HNK_OK && (shard = readdir(blobs)) != NULL) {
        if (strncmp(shard->d_name, DRAFT, sizeof DRAFT - 1) == 0 && sweeps_drafts &&
            !sweep_draft(dirfd(blobs), shard->d_name))
            hnk__store_littered(store);
        if (strlen(shard->d_name) != 2 || shard->d_name[0] == '.')
            continue;
        DIR *folder = open_folder(dirfd(blobs), shard->d_name);
        struct dirent *entry;
        if (folder == NULL && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) /* ours, and its files unknown */
            status = hnk__from_errno(errno);
        while (folder != NULL && status == HNK_OK && (entry = readdir(folder)) != NULL) {
            hnk__blob_name name;
            if (parse_name(entry->d_name, &name))
                status = keep_name(out, name);
        }
        if (folder != NULL)
            closedir(folder);
    }
    closedir(blobs);
    if (status != HNK_OK)
        hnk__blob_list_free(out);
    else if (out->count > 0)
        qsort(out->names, out->count, sizeof *out->names, by_bucket);
    return status;
}

const hnk__blob_name *hnk__blob_list_of(const hnk__blob_list *list, uint32_t bucket_id, size_t *out_count)
{
    size_t low = 0, high = list->count, end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->names[middle].bucket_id < bucket_id)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < list->count && list->names[end].bucket_id == bucket_id;)
        end++;
    *out_count = end - low;
    return list->names + low;
}

void hnk__blob_list_free(hnk__blob_list *list)
{
    free(list->names);
    *list = (hnk__blob_list){ 0 };
}
