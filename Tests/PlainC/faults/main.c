/* faults: fails each call of a scenario in turn: of each function the first, then the second, and so on until a run
 * meets no fault. Each run has to end in statuses that fit the fault, and leave a sound store that holds what the
 * statuses said.
 *
 *     faults DIRECTORY SCENARIO [FUNCTION]    make, use, recover or salvage; of one function only
 *
 * Prints for each fault how many places it was tried at, then how many there were in all. What fails names scenario,
 * function, place and errno. Link with -Wl,--wrap of each function in inject.h, and LMDB statically: its calls fail too.
 */
#include "../check.h"
#include "scenario.h"

#include <signal.h>
#include <unistd.h>

static const scenario *now;
static injection fault;

/* However this program ends, it says where it was. */
static void tell(void)
{
    if (now != NULL)
        fprintf(stderr, "scenario \"%s\", call %ld of %s, %s%s\n", now->name, fault.nth, inject_name(fault.function),
                fault.os_error != 0 ? strerror(fault.os_error) : "half done", fault.lasts ? ", and all that follow" : "");
}

static void tell_signal(int number)
{
    tell();
    signal(number, SIG_DFL);
    raise(number);
}

static uint64_t try_at_each_place(const char *path)
{
    uint64_t tried = 0;
    for (fault.nth = 1;; fault.nth++, tried++) {
        now->prepare(path);
        inject_arm(&fault);
        now->run(path, &fault);
        inject_disarm();
        now->check(path, &fault);
        if (!inject_has_struck())
            return tried;
    }
}

int main(int count, char **arguments)
{
    static const scenario *const scenarios[] = { &scenario_make, &scenario_use, &scenario_recover, &scenario_salvage };
    static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGALRM };
    enum { PATIENCE_SECONDS = 300 };
    char path[4000];
    uint64_t tried = 0;

    EXPECT(count == 3 || count == 4);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(arguments[2], scenarios[i]->name) == 0)
            now = scenarios[i];
    EXPECT(now != NULL);
    atexit(tell);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], tell_signal);
    alarm(PATIENCE_SECONDS);
    snprintf(path, sizeof path, "%s/%s", arguments[1], now->name);
    for (unsigned index = 0; inject_fault(index, &fault); index++) {
        if (count == 4 && strcmp(arguments[3], inject_name(fault.function)) != 0)
            continue;
        uint64_t places = try_at_each_place(path);
        printf("%s, %s%s: %llu\n", inject_name(fault.function),
               fault.os_error != 0 ? strerror(fault.os_error) : "half done", fault.lasts ? ", lasting" : "",
               (unsigned long long)places);
        tried += places;
    }
    now = NULL;
    printf("%llu\n", (unsigned long long)tried);
    return 0;
}
