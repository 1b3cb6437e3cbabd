/* lmdb_file.h: files as LMDB writes them, and what LMDB does with one. Shared by pages_campaign.c and fuzz_pages.c. */
#ifndef FUZZ_LMDB_FILE_H
#define FUZZ_LMDB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source.h"

enum { PAGE = 4096 }; /* of the files made here: as the system's, which LMDB takes */

/* What a file is filled with. Rows look like a store's: a table, a bucket, a key; a value begins with a digest of the
 * row, so that each can be proven. */
typedef struct profile {
    const char *name;
    unsigned keys;       /* to choose from */
    unsigned rounds;     /* transactions */
    unsigned batch;      /* writes in each */
    size_t value_min;    /* bytes */
    size_t value_max;
    unsigned key_max;    /* bytes */
    bool many_small;     /* lengths fall off by powers of two */
    bool held;           /* readers come and go, so that free pages lie about */
} profile;

/* A file, an older state of it, and which pages of it are worth damaging. */
typedef struct sample {
    const profile *profile;
    uint8_t *bytes;
    size_t size;
    uint8_t *older;
    size_t older_size;
    uint32_t *tree;      /* branch and leaf pages in use */
    size_t tree_count;
    uint32_t *used;      /* all pages in use */
    size_t used_count;
} sample;

/* The place of the one file there is at a time: a folder of ours with data.mdb in it. */
void file_place_make(void);
void file_place_remove(void);
const char *file_folder(void);
const char *file_path(void);
void file_write(const uint8_t *bytes, size_t size); /* replaces it, and takes its lock file away */
uint8_t *file_read(size_t *out_size);

/* Fills a new file. Every few transactions the walk's rows are compared with a cursor's; the count of those looks. */
unsigned sample_make(sample *out, const profile *profile, source *from);
void sample_free(sample *sample);

/* Whether the row proves its own digest. */
bool row_is_proven(const void *key, size_t key_bytes, const void *row, size_t row_bytes);

/* What LMDB gives for the file: reads every row, then writes and deletes many. NULL if all went well, else what
 * failed. Without LMDB's lock: nobody else has the file. */
const char *lmdb_uses_file(const profile *profile, source *from, uint64_t *out_rows);

#endif
