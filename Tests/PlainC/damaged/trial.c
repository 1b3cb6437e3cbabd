/* trial.c: names trials, and tells the name when a signal ends the program. */
#include "trial.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 15, FAILURES_TOLD = 40 };

static char name[256];
static unsigned trials, failures;

static void tell(int signal)
{
    static const char said[] = " ended by a signal: ";
    char digits[4] = { (char)('0' + signal / 10), (char)('0' + signal % 10), '\n', '\0' };
    /* What can't be written is lost: the status tells all the same. */
    (void)!write(2, name, strlen(name));
    (void)!write(2, said, sizeof said - 1);
    (void)!write(2, digits, sizeof digits - 1);
    _exit(3);
}

void trial_begin(const char *format, ...)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM };
    va_list arguments;

    if (trials++ == 0) {
        sigset_t all; /* whoever started this program from a thread that blocks signals has passed that on */
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], tell);
    }
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    alarm(SECONDS);
}

void trial_failed(const char *format, ...)
{
    va_list arguments;

    if (++failures > FAILURES_TOLD)
        return;
    fprintf(stderr, "%s: ", name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

unsigned trial_count(void) { return trials; }
unsigned trial_failures(void) { return failures; }

uint64_t generator_next(generator *generator)
{
    uint64_t mixed = generator->state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

uint64_t generator_below(generator *generator, uint64_t bound)
{
    return generator_next(generator) % bound;
}
