/* trial.h: what all trials share: how they are named, fail, and end when a signal comes. */
#ifndef DAMAGED_TRIAL_H
#define DAMAGED_TRIAL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* For what must work in the test itself. */
#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(2); \
        } \
    } while (0)

/* Begins a trial under this name. It has some seconds; a signal or too much time ends the program, naming it. */
void trial_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells what the trial should not have done. */
void trial_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
unsigned trial_count(void);
unsigned trial_failures(void);

/* SplitMix64. */
typedef struct generator {
    uint64_t state;
} generator;

uint64_t generator_next(generator *generator);
uint64_t generator_below(generator *generator, uint64_t bound);

#endif
