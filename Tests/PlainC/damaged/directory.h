/* directory.h: a directory's files, kept in memory, to be damaged and laid out again and again. */
#ifndef DAMAGED_DIRECTORY_H
#define DAMAGED_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct kept_file {
    char path[64]; /* inside the directory */
    uint8_t *bytes;
    size_t size;
    struct timespec changed_at;
} kept_file;

typedef struct kept_directory {
    kept_file *files; /* in the order of their paths */
    size_t count;
} kept_directory;

/* Reads all files, two folders deep. Not lock.mdb while the store is open in this process: closing it again would drop
 * LMDB's locks. */
void directory_read(kept_directory *out, const char *path, int with_lock);
/* Empties `path` and writes all files into it, with their times of change. */
void directory_write(const kept_directory *kept, const char *path);
void directory_free(kept_directory *kept);
void directory_empty(const char *path);
/* NULL if there is none. */
const kept_file *directory_find(const kept_directory *kept, const char *path);

/* Writes one file in the directory, making the folder above it. */
void file_put(const char *directory, const char *path, const void *bytes, size_t size);
/* Change bytes in place, or cut the file; the time of change becomes now. */
void file_patch(const char *directory, const char *path, size_t at, const void *bytes, size_t size);
void file_change(const char *directory, const char *path, size_t at, uint8_t byte);
void file_cut(const char *directory, const char *path, size_t size);
/* Gives the file back its time of change, as if only the disk's surface had suffered. */
void file_silence(const char *directory, const kept_file *as);

#endif
