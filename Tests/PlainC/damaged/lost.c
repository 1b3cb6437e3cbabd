/* lost.c: what a crash of the operating system leaves: of each page, each file of a value, each file beside data.mdb some
 * state that it had since the last sync. */
#include <string.h>

#include "directory.h"
#include "marker.h"
#include "sweeps.h"
#include "trial.h"

enum { PAGE = 4096, SECTOR = 512, MOMENTS = 9, PATH_BYTES = 512, DATA_MAX_BYTES = 16 << 20 };

/* A store as it lay on the disk at several moments, all but the first unsynced; the model is that of the last. */
typedef struct history {
    char live[PATH_BYTES];
    char path[PATH_BYTES]; /* of what the crash leaves */
    model model;
    kept_directory moments[MOMENTS];
} history;

static void write_some(history *history, hnk_bucket *handles[BUCKETS], generator *generator)
{
    enum { WRITES = 60, REMOVED_ONE_IN = 5 };

    for (unsigned i = 0; i < WRITES; i++) {
        unsigned bucket = (unsigned)generator_below(generator, BUCKETS);
        unsigned number = (unsigned)generator_below(generator, history->model.keys);
        if (generator_below(generator, REMOVED_ONE_IN) == 0)
            model_remove(&history->model, handles[bucket], bucket, number);
        else
            model_set(&history->model, handles[bucket], bucket, number);
    }
}

static void history_make(history *out, const char *root, uint64_t seed)
{
    enum { KEYS = 150, ROUNDS_BEFORE = 8 };
    generator generator = { seed };
    hnk_store *store = NULL;
    hnk_bucket *handles[BUCKETS];

    MUST(snprintf(out->live, sizeof out->live, "%s/live", root) < (int)sizeof out->live);
    MUST(snprintf(out->path, sizeof out->path, "%s/crashed", root) < (int)sizeof out->path);
    directory_empty(out->live);
    memset(&out->model, 0, sizeof out->model);
    out->model.keys = KEYS;
    MUST(model_open(out->live, HNK_DAMAGE_SALVAGE, &store) == HNK_OK);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        MUST(model_bucket(store, bucket, &handles[bucket]) == HNK_OK);
    for (unsigned round = 0; round < ROUNDS_BEFORE; round++)
        write_some(out, handles, &generator);
    for (unsigned moment = 0; moment < MOMENTS; moment++) {
        if (moment == 0)
            MUST(hnk_store_sync(store, NULL) == HNK_OK);
        else
            write_some(out, handles, &generator);
        directory_read(&out->moments[moment], out->live, 0);
    }
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        hnk_bucket_close(handles[bucket]);
    hnk_store_close(store);
}

static void history_free(history *history)
{
    for (unsigned moment = 0; moment < MOMENTS; moment++)
        directory_free(&history->moments[moment]);
}

/* How the pages that reached the disk are spread over the moments. */
typedef enum spread { SPREAD_EVEN, SPREAD_MOSTLY_NEW, SPREAD_MOSTLY_OLD, SPREAD_ONE_OLD, SPREADS } spread;

static unsigned moment_of(spread spread, unsigned newest, bool chosen, generator *generator)
{
    enum { FEW_ONE_IN = 30 };

    switch (spread) {
    case SPREAD_EVEN: return (unsigned)generator_below(generator, newest + 1);
    case SPREAD_MOSTLY_NEW:
        return generator_below(generator, FEW_ONE_IN) == 0 ? (unsigned)generator_below(generator, newest + 1) : newest;
    case SPREAD_MOSTLY_OLD:
        return generator_below(generator, FEW_ONE_IN) == 0 ? (unsigned)generator_below(generator, newest + 1) : 0;
    default: return chosen ? (unsigned)generator_below(generator, newest + 1) : newest;
    }
}

/* data.mdb of several moments, page by page, or torn inside of pages. What no moment has is zeros. */
static void mix_data(history *history, unsigned newest, generator *generator)
{
    static uint8_t mixed[DATA_MAX_BYTES];
    spread spread = (enum spread)generator_below(generator, SPREADS);
    size_t unit = generator_below(generator, 8) == 0 ? SECTOR : PAGE;
    const kept_file *files[MOMENTS];
    size_t size = 0;

    for (unsigned moment = 0; moment <= newest; moment++) {
        files[moment] = directory_find(&history->moments[moment], "data.mdb");
        MUST(files[moment] != NULL && files[moment]->size <= sizeof mixed);
        size = files[moment]->size > size ? files[moment]->size : size;
    }
    memset(mixed, 0, size);
    size_t chosen = (size_t)generator_below(generator, size / PAGE);
    for (size_t at = 0; at < size; at += unit) {
        const kept_file *file = files[moment_of(spread, newest, at / PAGE == chosen, generator)];
        if (at < file->size)
            memcpy(mixed + at, file->bytes + at, file->size - at < unit ? file->size - at : unit);
    }
    if (generator_below(generator, 4) == 0) /* its length is of another moment too, or in between */
        size = files[generator_below(generator, newest + 1)]->size - PAGE * (size_t)generator_below(generator, 3);
    file_put(history->path, "data.mdb", mixed, size);
}

/* Another file of a moment: there as it was, not there, empty, short, or with blocks that never came. */
static void put_suffered(history *history, const kept_file *file, generator *generator)
{
    enum { OUTCOMES = 16 };
    size_t size = file->size;
    uint8_t *bytes = malloc(size + 1);

    MUST(bytes != NULL);
    memcpy(bytes, file->bytes, size);
    switch (generator_below(generator, OUTCOMES)) {
    case 0: size = SIZE_MAX; break;
    case 1: size = 0; break;
    case 2: size = (size_t)generator_below(generator, size + 1); break;
    case 3: memset(bytes, 0, size); break;
    case 4: {
        size_t at = size > 0 ? (size_t)generator_below(generator, size) / PAGE * PAGE : 0;
        memset(bytes + at, 0, size - at < PAGE ? size - at : PAGE);
        break;
    }
    default: break;
    }
    if (size != SIZE_MAX)
        file_put(history->path, file->path, bytes, size);
    free(bytes);
}

/* Everything beside data.mdb and the marker: values' files of all moments, other files of one each. */
static void mix_others(history *history, unsigned newest, generator *generator)
{
    for (unsigned moment = 0; moment <= newest; moment++) {
        kept_directory *kept = &history->moments[moment];
        for (size_t i = 0; i < kept->count; i++) {
            const kept_file *file = &kept->files[i];
            bool is_value = strchr(file->path, '/') != NULL;
            if (strcmp(file->path, "data.mdb") == 0 || strcmp(file->path, "state") == 0)
                continue;
            if (is_value && moment > 0 && directory_find(&history->moments[moment - 1], file->path) != NULL)
                continue; /* it has had its turn */
            if (is_value || generator_below(generator, newest + 1) == 0 || moment == newest)
                put_suffered(history, file, generator);
        }
    }
}

/* Writes the marker, or what the crash has left of it. Gives whether it can be read. */
static bool mark(history *history, unsigned newest, generator *generator)
{
    const kept_file *state = directory_find(&history->moments[newest], "state");
    static const uint8_t zeros[64];

    switch (generator_below(generator, 10)) {
    case 0: return false; /* its directory entry never came */
    case 1: file_put(history->path, "state", zeros, sizeof zeros); return false;
    case 2: file_put(history->path, "state", zeros, 0); return false;
    default: marker_crash(history->path, state); return true;
    }
}

void sweep_lost(const char *root, uint64_t seed, unsigned trials, usage *usage)
{
    static const hnk_damage_policy policies[] = {
        HNK_DAMAGE_SALVAGE, HNK_DAMAGE_SALVAGE, HNK_DAMAGE_SALVAGE, HNK_DAMAGE_DISCARD,
    };
    static history history;
    generator generator = { seed ^ 0x105E };

    history_make(&history, root, seed);
    for (unsigned trial = 0; trial < trials; trial++) {
        unsigned newest = 1 + (unsigned)generator_below(&generator, MOMENTS - 1);
        hnk_damage_policy policy = policies[trial % (sizeof policies / sizeof *policies)];
        trial_begin("crash, seed %llu, trial %u%s", (unsigned long long)seed, trial,
                    policy == HNK_DAMAGE_DISCARD ? ", strict" : "");
        directory_empty(history.path);
        mix_others(&history, newest, &generator);
        mix_data(&history, newest, &generator);
        bool marked = mark(&history, newest, &generator);
        /* The highest versions are those of the last moment: a value that was set later can't be there. */
        hnk_status status = model_use(history.path, policy, &history.model,
                                      policy == HNK_DAMAGE_DISCARD ? SERVED_NOTHING : SERVED_EVER, usage);
        /* Without the marker, and with the store's row lost, nothing proves that the file is ours to begin anew. */
        if (status != HNK_OK && (marked || status != HNK_ERROR_NOT_A_STORE))
            trial_failed("the opening: %s", hnk_status_name(status));
    }
    history_free(&history);
}

void sweep_mixed(const char *root, uint64_t seed, unsigned trials, usage *usage)
{
    static history history;
    generator generator = { seed ^ 0x313D };
    kept_directory closed;

    history_make(&history, root, seed);
    directory_read(&closed, history.live, 1);
    for (unsigned trial = 0; trial < trials; trial++) {
        unsigned other = (unsigned)generator_below(&generator, MOMENTS);
        trial_begin("mixed, seed %llu, trial %u, moment %u", (unsigned long long)seed, trial, other);
        directory_write(&closed, history.path);
        for (size_t i = 0; i < history.moments[other].count; i++) {
            const kept_file *file = &history.moments[other].files[i];
            if (strchr(file->path, '/') != NULL || strcmp(file->path, "data.mdb") == 0 ||
                strcmp(file->path, "state") == 0)
                continue;
            put_suffered(&history, file, &generator);
        }
        hnk_status status = model_use(history.path, HNK_DAMAGE_SALVAGE, &history.model, SERVED_NOW, usage);
        if (status != HNK_OK)
            trial_failed("the opening: %s", hnk_status_name(status));
    }
    directory_free(&closed);
    history_free(&history);
}
