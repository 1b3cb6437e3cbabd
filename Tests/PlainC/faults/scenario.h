/* scenario.h: what is done to a store while a call fails, and what must be true of it afterwards. */
#ifndef HNK_TESTS_SCENARIO_H
#define HNK_TESTS_SCENARIO_H

#include "inject.h"

/* One way to use a store. */
typedef struct scenario {
    const char *name;
    void (*prepare)(const char *path);                       /* without faults: what there is before */
    void (*run)(const char *path, const injection *fault);   /* with one */
    void (*check)(const char *path, const injection *fault); /* without */
} scenario;

extern const scenario scenario_make, scenario_use, scenario_recover, scenario_salvage;

#endif
