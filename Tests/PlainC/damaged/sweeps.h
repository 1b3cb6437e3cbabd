/* sweeps.h: the kinds of damage that this program does. Each makes its stores below `root`. */
#ifndef DAMAGED_SWEEPS_H
#define DAMAGED_SWEEPS_H

#include "model.h"

/* flips.c: each `step`th byte of every file, from `first` on, one at a time; of long runs of zeros fewer. */
void sweep_flips(const char *root, unsigned first, unsigned step, usage *usage);
/* flips.c: each file cut at each `step`th page from `first` on, there and somewhere behind it. */
void sweep_cuts(const char *root, unsigned first, unsigned step, usage *usage);
/* flips.c: several damages at once to a store of some MiB. */
void sweep_large(const char *root, uint64_t seed, unsigned trials, usage *usage);
/* foreign.c: something else than ours under each of our names: its `thing`s count from 0. */
void sweep_foreign(const char *root, unsigned thing, usage *usage);
/* lost.c: what a crash of the operating system leaves of writes that were not synced. */
void sweep_lost(const char *root, uint64_t seed, unsigned trials, usage *usage);
/* lost.c: files beside data.mdb that are of another moment than it, though nothing tells. */
void sweep_mixed(const char *root, uint64_t seed, unsigned trials, usage *usage);

#endif
