/* pages_campaign.c: hnk__pages_walk() against files that LMDB wrote, then against thousands of damaged ones.
 *
 *     pages_campaign [TRIALS] [SEED]    so many trials of each kind of damage on each file; default 4 and 42
 *
 * Exits 0 if each undamaged file was called sound, with all its rows; no damage harmed the walk; and LMDB, in a child,
 * read and wrote every file that the walk called sound without a signal, a hang or an error, and left it sound.
 * Another run with the same arguments does the same. PAGES_TRIAL=FILE:KIND:NUMBER in the environment does one trial,
 * and no child, for a debugger.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "damage.h"
#include "internal.h"

/* Signals are counted, not caught. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_abort=0";
}

enum { PROFILES = 5, HANG_SECONDS = 20, FOUND_TRIED_EVERY = 4 };

static const profile profiles[PROFILES] = {
    { "small", 6000, 160, 120, 20, 300, 200, false, false },
    { "mixed", 3000, 160, 40, 50, 60000, 200, true, false },
    { "large", 60, 80, 6, 3000, 200000, 40, false, false },
    { "held", 5000, 200, 90, 20, 5000, 40, true, true },
    { "few", 12, 60, 5, 8, 900, 60, false, false },
};

typedef struct tally {
    unsigned trials, sound, foreign;
    unsigned found_tried, found_crashed, found_failed; /* what LMDB did with files that the walk warned of */
    unsigned unsound;
    double kept; /* of the rows of unsound files, the share that the walk could still give; summed up */
} tally;

static unsigned failures;

static void failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void failed(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    failures++;
    fprintf(stderr, "FAILED: ");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

typedef struct rows {
    uint64_t given, proven;
} rows;

static hnk_status count_row(void *context, hnk_bytes key, hnk_bytes row)
{
    rows *counted = context;
    counted->given++;
    counted->proven += row_is_proven(key.data, key.size, row.data, row.size);
    return HNK_OK;
}

/* What LMDB does with the file: 0 fine, 1 an error, else the signal + 128. */
static int lmdb_in_child(const profile *profile, source from, bool here)
{
    uint64_t read;
    int status = 0;

    pid_t child = here ? 0 : fork();
    if (child == 0) {
        if (!here) {
            alarm(HANG_SECONDS);
            fclose(stderr); /* LMDB tells of its assertions */
        }
        const char *said = lmdb_uses_file(profile, &from, &read);
        if (here)
            return said != NULL;
        _exit(said != NULL);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The walk with and without rows says the same; gives whether the file is sound, and notes what was found. */
static bool walk(const char *what, rows *counted, tally *tally)
{
    hnk__pages_report quick, whole;
    hnk_status x = hnk__pages_walk(file_path(), NULL, NULL, &quick);
    hnk_status y = hnk__pages_walk(file_path(), count_row, counted, &whole);

    if (x != y && !(x == HNK_OK && !quick.sound)) /* it may stop before it comes to what makes the file foreign */
        failed("%s: %s without rows, %s with them", what, hnk_status_name(x), hnk_status_name(y));
    if (x == HNK_OK && y == HNK_OK && (quick.sound != whole.sound || strcmp(quick.fault, whole.fault) != 0))
        failed("%s: \"%s\" without rows, \"%s\" with them", what, quick.fault, whole.fault);
    if (quick.sound != (quick.fault[0] == '\0') || whole.rows != counted->given)
        failed("%s: the report contradicts itself", what);
    if (x != HNK_OK && x != HNK_ERROR_NOT_A_STORE)
        failed("%s: %s", what, hnk_status_name(x));
    if (x == HNK_OK && quick.sound && !hnk__pages_metas_hold(file_path()))
        failed("%s: sound, but its meta pages are not", what);
    tally->foreign += x == HNK_ERROR_NOT_A_STORE;
    return x == HNK_OK && quick.sound;
}

static void try(
    const sample *sample, damage kind, unsigned number, uint8_t *bytes, size_t size, source from, uint64_t total,
    tally *tally, bool here)
{
    hnk__pages_report after;
    rows counted = { 0, 0 };
    char what[96];

    snprintf(what, sizeof what, "%s:%d:%u (%s)", sample->profile->name, (int)kind, number, damage_name(kind));
    file_write(bytes, size);
    bool sound = walk(what, &counted, tally);
    tally->trials++;
    tally->sound += sound;
    if (!sound) {
        tally->unsound++;
        tally->kept += total > 0 ? (double)counted.proven / (double)total : 1;
        if (number % FOUND_TRIED_EVERY != 0 || here) /* LMDB itself meets some of these only: for comparison */
            return;
    }
    int code = lmdb_in_child(sample->profile, from, here);
    if (!sound) {
        tally->found_tried++;
        tally->found_crashed += code >= 128;
        tally->found_failed += code != 0 && code < 128;
    } else if (code >= 128) {
        failed("%s: sound, but LMDB ended with signal %d", what, code - 128);
    } else if (code != 0) {
        failed("%s: sound, but LMDB gave an error", what);
    } else if (size > 0 && (hnk__pages_walk(file_path(), NULL, NULL, &after) != HNK_OK || !after.sound)) {
        failed("%s: no longer sound after LMDB's use: %s", what, after.fault);
    }
}

static void run_file(size_t index, unsigned trials, uint64_t seed, tally tallies[DAMAGE_KINDS], unsigned *looks)
{
    source made_from = source_of_seed(seed + index);
    sample sample;
    rows all = { 0, 0 };
    hnk__pages_report report;
    int only_kind = 0;
    unsigned only_number = 0;
    char name[16];

    const char *only = getenv("PAGES_TRIAL");
    if (only != NULL && (sscanf(only, "%15[^:]:%d:%u", name, &only_kind, &only_number) != 3 ||
                         strcmp(name, profiles[index].name) != 0))
        return;
    *looks += sample_make(&sample, &profiles[index], &made_from);
    if (hnk__pages_walk(file_path(), count_row, &all, &report) != HNK_OK || all.given != all.proven)
        failed("%s: undamaged, but its rows are not proven", profiles[index].name);
    uint8_t *bytes = malloc(sample.size);
    if (bytes == NULL)
        abort();
    for (int kind = 0; kind < DAMAGE_KINDS; kind++)
        for (unsigned number = 0; number < trials; number++) {
            source from = source_of_seed(((seed * PROFILES + index) * DAMAGE_KINDS + (unsigned)kind) * 100000 + number);
            size_t size = sample.size;
            if (only != NULL && (kind != only_kind || number != only_number))
                continue;
            draw_bits(&from, 8); /* the first ones of near seeds are alike */
            memcpy(bytes, sample.bytes, size);
            damage_do((damage)kind, &sample, bytes, &size, &from);
            try(&sample, (damage)kind, number, bytes, size, from, all.proven, &tallies[kind], only != NULL);
        }
    free(bytes);
    sample_free(&sample);
}

int main(int count, char **arguments)
{
    unsigned trials = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 4;
    uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 42;
    tally tallies[DAMAGE_KINDS] = { { 0 } };
    unsigned looks = 0, tried = 0;

    file_place_make();
    for (size_t index = 0; index < PROFILES; index++)
        run_file(index, trials, seed, tallies, &looks);
    file_place_remove();
    printf("%-30s %7s %7s %7s   of some not sound, LMDB: %7s %7s   %s\n", "damage", "trials", "sound", "foreign",
           "crashed", "failed", "rows kept");
    for (int kind = 0; kind < DAMAGE_KINDS; kind++) {
        const tally *of = &tallies[kind];
        tried += of->trials;
        printf("%-30s %7u %7u %7u   %24u: %7u %7u   %.1f %%\n", damage_name((damage)kind), of->trials, of->sound,
               of->foreign, of->found_tried, of->found_crashed, of->found_failed,
               of->unsound > 0 ? 100 * of->kept / of->unsound : 100.0);
    }
    printf("pages_campaign: %u looks at undamaged files, %u trials, seed %llu, %u failures\n", looks, tried,
           (unsigned long long)seed, failures);
    return failures != 0;
}
