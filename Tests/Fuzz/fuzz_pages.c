/* fuzz_pages.c: damage to files of LMDB's, one kind after the other as the input says; then the walk, and LMDB.
 *
 * The input is not the file but what happens to it: a byte for the file, then for each damage a byte for its kind and
 * the bytes it chooses by. So a few bytes reach any page, and several damages can hide each other.
 *
 * What must hold: the walk survives anything; what it calls sound, LMDB reads with the same rows, writes to, and leaves
 * sound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage.h"
#include "internal.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

#define HOLDS(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

enum { SAMPLES = 4, DAMAGES_MAX = 12 };

/* Small files, so that many are tried, of keys so long that the trees are deep all the same. */
static const profile profiles[SAMPLES] = {
    { "deep", 200, 70, 8, 8, 200, 507, false, false },
    { "mixed", 80, 60, 6, 8, 9000, 100, true, false },
    { "held", 120, 76, 8, 8, 700, 60, true, true },
    { "few", 12, 60, 5, 8, 900, 60, false, false },
};

static sample samples[SAMPLES];
static uint8_t *bytes;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    size_t largest = 0;

    (void)count;
    (void)arguments;
    file_place_make();
    atexit(file_place_remove);
    for (size_t i = 0; i < SAMPLES; i++) {
        source from = source_of_seed(7 + i);
        sample_make(&samples[i], &profiles[i], &from);
        largest = samples[i].size > largest ? samples[i].size : largest;
    }
    bytes = malloc(largest);
    HOLDS(bytes != NULL);
    return 0;
}

/* Touches every byte that the walk gives. */
static hnk_status touch_row(void *context, hnk_bytes key, hnk_bytes row)
{
    uint64_t *rows = context;
    volatile uint64_t digest = hnk__digest(row.data, row.size, hnk__digest(key.data, key.size, 0));

    (void)digest;
    HOLDS(key.size >= 1 && key.size <= HNK_ROW_KEY_MAX_BYTES);
    (*rows)++;
    return HNK_OK;
}

static void damage_as_told(const sample *sample, size_t *size, source *from)
{
    memcpy(bytes, sample->bytes, sample->size);
    *size = sample->size;
    for (unsigned i = 0; i < DAMAGES_MAX && from->left > 0; i++)
        damage_do((damage)draw(from, DAMAGE_KINDS), sample, bytes, size, from);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t input_size)
{
    source from = source_of_bytes(input, input_size), writes = source_of_seed(input_size);
    hnk__pages_report quick, whole;
    uint64_t rows = 0, read = 0;
    size_t size;

    const sample *sample = &samples[draw(&from, SAMPLES)];
    damage_as_told(sample, &size, &from);
    file_write(bytes, size);
    bool metas = hnk__pages_metas_hold(file_path());
    hnk_status x = hnk__pages_walk(file_path(), NULL, NULL, &quick);
    hnk_status y = hnk__pages_walk(file_path(), touch_row, &rows, &whole);

    HOLDS(x == HNK_OK || x == HNK_ERROR_NOT_A_STORE);
    HOLDS(x == y || (x == HNK_OK && !quick.sound)); /* it may stop before it comes to what makes the file foreign */
    HOLDS(x != HNK_OK || y != HNK_OK || strcmp(quick.fault, whole.fault) == 0);
    HOLDS(quick.sound == (quick.fault[0] == '\0') && whole.sound == (whole.fault[0] == '\0'));
    HOLDS(rows == whole.rows);
    if (x != HNK_OK || !quick.sound)
        return 0;
    HOLDS(metas && whole.sound);
    const char *failed = lmdb_uses_file(sample->profile, &writes, &read);
    if (failed != NULL)
        fprintf(stderr, "sound, but LMDB failed: %s\n", failed);
    HOLDS(failed == NULL && read == rows);
    HOLDS(hnk__pages_walk(file_path(), NULL, NULL, &whole) == HNK_OK && (whole.sound || size == 0));
    return 0;
}
