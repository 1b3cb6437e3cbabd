/* files.h: what stands in a store's directory, as tests count it. */
#ifndef HNK_TESTS_FILES_H
#define HNK_TESTS_FILES_H

#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Regular files under a folder, however deep; 0 if there is no such folder. */
static inline uint64_t files_under(int parent, const char *name)
{
    uint64_t files = 0;
    struct dirent *entry;
    int file = openat(parent, name, O_RDONLY | O_DIRECTORY);
    DIR *folder = file < 0 ? NULL : fdopendir(file);

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct stat stat;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (fstatat(file, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
            files += S_ISDIR(stat.st_mode) ? files_under(file, entry->d_name) : 1;
    }
    if (folder != NULL)
        closedir(folder);
    return files;
}

static inline uint64_t files_of_blobs(const char *directory)
{
    int folder = open(directory, O_RDONLY | O_DIRECTORY);
    EXPECT(folder >= 0);
    uint64_t files = files_under(folder, "blobs");
    close(folder);
    return files;
}

/* Expects that no file is left that belongs to nobody: as many blobs as entries have, and beside them no more files
 * than there were (0: not known yet). Gives the files beside the blobs. */
static inline uint64_t expect_no_litter(const char *directory, uint64_t blobs, uint64_t others)
{
    uint64_t in_blobs = files_of_blobs(directory), all = files_under(AT_FDCWD, directory);
    if (in_blobs != blobs || (others != 0 && all - in_blobs > others)) {
        fprintf(stderr, "%llu files of blobs for %llu entries; %llu other files, once %llu\n",
                (unsigned long long)in_blobs, (unsigned long long)blobs, (unsigned long long)(all - in_blobs),
                (unsigned long long)others);
        exit(1);
    }
    return all - in_blobs;
}

#endif
