/* damaged: damages stores in every way that its sweeps know, and uses them. A signal ends this program and no test.
 *
 *     damaged flips DIRECTORY FIRST STEP      each STEPth byte of every file of a small store
 *     damaged cuts DIRECTORY FIRST STEP       each file cut at each STEPth page, and inside it
 *     damaged large DIRECTORY SEED TRIALS     several damages at once to a store of some MiB
 *     damaged foreign DIRECTORY THING         something else than ours under our names: foreign.c counts what
 *     damaged lost DIRECTORY SEED TRIALS      what a crash of the operating system leaves of unsynced writes
 *     damaged mixed DIRECTORY SEED TRIALS     files beside data.mdb that are of another moment
 *
 * Exits 0 if nothing but statuses, misses and right bytes came of it, 1 with what went wrong, 3 after a signal or a hang;
 * each line names its trial. The last line sums up.
 */
#include <string.h>

#include "sweeps.h"
#include "trial.h"

int main(int count, char **arguments)
{
    usage usage = { 0 };

    MUST(count >= 3);
    const char *sweep = arguments[1], *root = arguments[2];
    uint64_t first = count > 3 ? strtoull(arguments[3], NULL, 10) : 0;
    unsigned second = count > 4 ? (unsigned)strtoul(arguments[4], NULL, 10) : 1;
    MUST(second > 0);
    if (strcmp(sweep, "flips") == 0)
        sweep_flips(root, (unsigned)first, second, &usage);
    else if (strcmp(sweep, "cuts") == 0)
        sweep_cuts(root, (unsigned)first, second, &usage);
    else if (strcmp(sweep, "large") == 0)
        sweep_large(root, first, second, &usage);
    else if (strcmp(sweep, "foreign") == 0)
        sweep_foreign(root, (unsigned)first, &usage);
    else if (strcmp(sweep, "lost") == 0)
        sweep_lost(root, first, second, &usage);
    else if (strcmp(sweep, "mixed") == 0)
        sweep_mixed(root, first, second, &usage);
    else
        MUST(!"a sweep of that name");
    printf("%s: %u trials, %u failures; %u opened (%u verified at once), %u refused; values: %u right, %u older, "
           "%u missed, %u damaged\n",
           sweep, trial_count(), trial_failures(), usage.opened, usage.verified_at_once, usage.refused, usage.right,
           usage.older, usage.missed, usage.damaged);
    return trial_failures() != 0;
}
