/* flips.c: bytes changed, pages lost and files cut while the store is closed. */
#include <string.h>

#include "directory.h"
#include "marker.h"
#include "sweeps.h"
#include "trial.h"

enum { PAGE = 4096, PATH_BYTES = 512 };

/* A closed store in memory, and where its copies are damaged. */
typedef struct bench {
    char path[PATH_BYTES];
    model model;
    kept_directory whole;
    const kept_file *data;
    const kept_file *state;
} bench;

static void bench_make(bench *out, const char *root, unsigned keys, unsigned versions)
{
    MUST(snprintf(out->path, sizeof out->path, "%s/store", root) < (int)sizeof out->path);
    directory_empty(out->path);
    model_make(&out->model, out->path, keys, versions);
    directory_read(&out->whole, out->path, 1);
    out->data = directory_find(&out->whole, "data.mdb");
    out->state = directory_find(&out->whole, "state");
    MUST(out->data != NULL && out->state != NULL);
}

/* What of data.mdb was damaged. */
typedef enum suffered { SUFFERED_OTHERS, SUFFERED_DATA, SUFFERED_METAS } suffered;

/* The damaged store is used. In data.mdb a byte of the format version can say that a newer library wrote it; and without
 * one of its meta pages what is left is the moment before the last commit. */
static void bench_use(bench *bench, suffered suffered, usage *usage)
{
    served served = suffered == SUFFERED_METAS ? SERVED_EVER : SERVED_NOW;
    hnk_status status = model_use(bench->path, HNK_DAMAGE_SALVAGE, &bench->model, served, usage);
    if (status != HNK_OK && !(suffered != SUFFERED_OTHERS && status == HNK_ERROR_NEWER_FORMAT))
        trial_failed("the opening: %s", hnk_status_name(status));
}

static suffered suffered_at(const bench *bench, const kept_file *file, size_t at)
{
    return file != bench->data ? SUFFERED_OTHERS : at < 2 * PAGE ? SUFFERED_METAS : SUFFERED_DATA;
}

/* Whether the marker has to tell of a crash in this trial: damage to data.mdb is met after a hand from outside, whose
 * time of change tells, and after a crash, in turn. */
static bool crashes(const bench *bench, const kept_file *file, size_t turn)
{
    return file == bench->data && turn % 2 != 0;
}

/* Whether a byte lies deep in a run of zeros, most of which are unused room: of those only some are tried. */
static bool is_dull(const kept_file *file, size_t at)
{
    enum { AROUND = 32, TRIED_ONE_IN = 61 };

    if (at % TRIED_ONE_IN == 0 || at < AROUND || at + AROUND >= file->size)
        return false;
    for (size_t i = at - AROUND; i <= at + AROUND; i++)
        if (file->bytes[i] != 0)
            return false;
    return true;
}

void sweep_flips(const char *root, unsigned first, unsigned step, usage *usage)
{
    enum { KEYS = 10, VERSIONS = 2 };
    static bench bench;

    bench_make(&bench, root, KEYS, VERSIONS);
    size_t interesting = 0, turn = 0;
    for (size_t i = 0; i < bench.whole.count; i++) {
        const kept_file *file = &bench.whole.files[i];
        for (size_t at = 0; at < file->size; at++) {
            if (is_dull(file, at) || interesting++ % step != first % step)
                continue;
            generator generator = { (uint64_t)step << 40 | at };
            uint8_t mask = (uint8_t)(1 + generator_below(&generator, 255));
            bool crash = crashes(&bench, file, turn++);
            trial_begin("%s, byte %zu, mask %#x%s", file->path, at, mask, crash ? ", then a crash" : "");
            directory_write(&bench.whole, bench.path);
            file_change(bench.path, file->path, at, file->bytes[at] ^ mask);
            if (crash)
                marker_crash(bench.path, bench.state);
            bench_use(&bench, suffered_at(&bench, file, at), usage);
        }
    }
    directory_free(&bench.whole);
}

void sweep_cuts(const char *root, unsigned first, unsigned step, usage *usage)
{
    enum { KEYS = 60, VERSIONS = 2, INSIDE = 2 };
    static bench bench;

    bench_make(&bench, root, KEYS, VERSIONS);
    size_t skip = (size_t)first * PAGE, turn = 0;
    for (size_t i = 0; i < bench.whole.count; i++) {
        const kept_file *file = &bench.whole.files[i];
        for (; skip < file->size; skip += (size_t)step * PAGE) {
            for (size_t inside = 0; inside < INSIDE; inside++, turn++) {
                generator generator = { skip + inside };
                size_t size = skip + (inside > 0 ? 1 + generator_below(&generator, PAGE - 1) : 0);
                bool crash = crashes(&bench, file, turn);
                if (size >= file->size)
                    continue;
                trial_begin("%s, cut to %zu bytes%s", file->path, size, crash ? ", then a crash" : "");
                directory_write(&bench.whole, bench.path);
                file_cut(bench.path, file->path, size);
                if (crash)
                    marker_crash(bench.path, bench.state);
                bench_use(&bench, suffered_at(&bench, file, size), usage);
            }
        }
        skip -= file->size / PAGE * PAGE; /* keeps whole pages */
    }
    directory_free(&bench.whole);
}

/* One damage of several. */
static suffered damage_once(bench *bench, generator *generator)
{
    enum { SECTOR = 512, OTHER_FILE_ONE_IN = 4 };
    const kept_file *file = bench->data;
    static uint8_t block[PAGE];

    if (generator_below(generator, OTHER_FILE_ONE_IN) == 0)
        file = &bench->whole.files[generator_below(generator, bench->whole.count)];
    if (file->size == 0)
        return SUFFERED_OTHERS;
    size_t at = (size_t)generator_below(generator, file->size), size = file->size - at < PAGE ? file->size - at : PAGE;
    switch (generator_below(generator, 5)) {
    case 0: /* a bit */
        file_change(bench->path, file->path, at, file->bytes[at] ^ (uint8_t)(1u << generator_below(generator, 8)));
        return suffered_at(bench, file, at);
    case 1: /* one in the first bytes of a page */
        at = at / PAGE * PAGE + (size_t)generator_below(generator, 64);
        at = at < file->size ? at : 0;
        file_change(bench->path, file->path, at, file->bytes[at] ^ (uint8_t)(1u << generator_below(generator, 8)));
        return suffered_at(bench, file, at);
    case 2: /* a page of zeros */
        at = at / PAGE * PAGE;
        memset(block, 0, sizeof block);
        break;
    case 3: /* garbage in a sector */
        at = at / SECTOR * SECTOR;
        size = SECTOR;
        for (size_t i = 0; i < size; i++)
            block[i] = (uint8_t)generator_next(generator);
        break;
    default: { /* a page of the same file, as a misdirected write leaves it */
        size_t from = (size_t)generator_below(generator, file->size) / PAGE * PAGE;
        at = at / PAGE * PAGE;
        size = file->size - from < PAGE ? file->size - from : PAGE;
        memcpy(block, file->bytes + from, size);
        break;
    }
    }
    size = file->size - at < size ? file->size - at : size;
    file_patch(bench->path, file->path, at, block, size);
    return suffered_at(bench, file, at);
}

void sweep_large(const char *root, uint64_t seed, unsigned trials, usage *usage)
{
    enum { KEYS = 2000, VERSIONS = 2, DAMAGES_MAX = 8 };
    static bench bench;
    generator generator = { seed };

    bench_make(&bench, root, KEYS, VERSIONS);
    MUST(bench.data->size > (size_t)2 << 20);
    for (unsigned trial = 0; trial < trials; trial++) {
        suffered suffered = SUFFERED_OTHERS;
        uint64_t damages = 1 + generator_below(&generator, DAMAGES_MAX);
        trial_begin("large store, seed %llu, trial %u", (unsigned long long)seed, trial);
        directory_write(&bench.whole, bench.path);
        for (uint64_t i = 0; i < damages; i++) {
            enum suffered one = damage_once(&bench, &generator);
            suffered = one > suffered ? one : suffered;
        }
        if (suffered == SUFFERED_OTHERS) /* the disk's surface alone */
            file_silence(bench.path, bench.data);
        else if (generator_below(&generator, 2) == 0)
            marker_crash(bench.path, bench.state);
        bench_use(&bench, suffered, usage);
    }
    directory_free(&bench.whole);
}
