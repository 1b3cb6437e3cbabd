/* directory.c: reads and writes whole directories of a store. */
#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trial.h"

enum { PATH_BYTES = 1024 };

static int by_path(const void *a, const void *b)
{
    return strcmp(((const kept_file *)a)->path, ((const kept_file *)b)->path);
}

static void read_file(kept_directory *out, int folder, const char *name, const char *path, const struct stat *known)
{
    out->files = realloc(out->files, (out->count + 1) * sizeof *out->files);
    MUST(out->files != NULL);
    kept_file *file = &out->files[out->count++];
    *file = (kept_file){ .size = (size_t)known->st_size };
#if defined(__APPLE__)
    file->changed_at = known->st_mtimespec;
#else
    file->changed_at = known->st_mtim;
#endif
    MUST(snprintf(file->path, sizeof file->path, "%s", path) < (int)sizeof file->path);
    file->bytes = malloc(file->size > 0 ? file->size : 1);
    int from = openat(folder, name, O_RDONLY | O_CLOEXEC);
    MUST(file->bytes != NULL && from >= 0);
    MUST(pread(from, file->bytes, file->size, 0) == (ssize_t)file->size);
    close(from);
}

static void read_folder(kept_directory *out, const char *path, const char *inside, int with_lock)
{
    char whole[PATH_BYTES], below[PATH_BYTES];
    struct dirent *entry;

    MUST(snprintf(whole, sizeof whole, "%s/%s", path, inside) < (int)sizeof whole);
    DIR *folder = opendir(whole);
    MUST(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        struct stat known;
        if (entry->d_name[0] == '.' || (!with_lock && strcmp(entry->d_name, "lock.mdb") == 0))
            continue;
        MUST(snprintf(below, sizeof below, "%s%s%s", inside, inside[0] != '\0' ? "/" : "", entry->d_name) <
             (int)sizeof below);
        MUST(fstatat(dirfd(folder), entry->d_name, &known, AT_SYMLINK_NOFOLLOW) == 0);
        if (S_ISDIR(known.st_mode))
            read_folder(out, path, below, with_lock);
        else
            read_file(out, dirfd(folder), entry->d_name, below, &known);
    }
    closedir(folder);
}

void directory_read(kept_directory *out, const char *path, int with_lock)
{
    *out = (kept_directory){ NULL, 0 };
    read_folder(out, path, "", with_lock);
    if (out->count > 0)
        qsort(out->files, out->count, sizeof *out->files, by_path);
}

void directory_free(kept_directory *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        free(kept->files[i].bytes);
    free(kept->files);
}

void directory_empty(const char *path)
{
    struct dirent *entry;

    DIR *folder = opendir(path);
    if (folder == NULL) {
        MUST(errno == ENOENT && mkdir(path, 0700) == 0);
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        char below[PATH_BYTES];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) == 0)
            continue;
        MUST(snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below);
        directory_empty(below);
        MUST(rmdir(below) == 0);
    }
    closedir(folder);
}

const kept_file *directory_find(const kept_directory *kept, const char *path)
{
    for (size_t i = 0; i < kept->count; i++)
        if (strcmp(kept->files[i].path, path) == 0)
            return &kept->files[i];
    return NULL;
}

static void whole_path(char out[PATH_BYTES], const char *directory, const char *path)
{
    MUST(snprintf(out, PATH_BYTES, "%s/%s", directory, path) < PATH_BYTES);
}

void file_put(const char *directory, const char *path, const void *bytes, size_t size)
{
    char whole[PATH_BYTES];

    whole_path(whole, directory, path);
    int file = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (char *at = whole + strlen(directory) + 1; file < 0 && (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        MUST(mkdir(whole, 0700) == 0 || errno == EEXIST);
        *at = '/';
        file = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    MUST(file >= 0 && pwrite(file, bytes, size, 0) == (ssize_t)size);
    close(file);
}

void directory_write(const kept_directory *kept, const char *path)
{
    directory_empty(path);
    for (size_t i = 0; i < kept->count; i++) {
        file_put(path, kept->files[i].path, kept->files[i].bytes, kept->files[i].size);
        file_silence(path, &kept->files[i]);
    }
}

void file_patch(const char *directory, const char *path, size_t at, const void *bytes, size_t size)
{
    char whole[PATH_BYTES];

    whole_path(whole, directory, path);
    int file = open(whole, O_WRONLY | O_CLOEXEC);
    MUST(file >= 0 && pwrite(file, bytes, size, (off_t)at) == (ssize_t)size);
    close(file);
}

void file_change(const char *directory, const char *path, size_t at, uint8_t byte)
{
    file_patch(directory, path, at, &byte, 1);
}

void file_cut(const char *directory, const char *path, size_t size)
{
    char whole[PATH_BYTES];

    whole_path(whole, directory, path);
    MUST(truncate(whole, (off_t)size) == 0);
}

void file_silence(const char *directory, const kept_file *as)
{
    char whole[PATH_BYTES];
    struct timespec times[2] = { as->changed_at, as->changed_at };

    whole_path(whole, directory, as->path);
    MUST(utimensat(AT_FDCWD, whole, times, 0) == 0);
}
