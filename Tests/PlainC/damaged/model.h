/* model.h: what is in a store, and the use that is made of a damaged one. */
#ifndef DAMAGED_MODEL_H
#define DAMAGED_MODEL_H

#include <haneke.h>
#include <stdbool.h>
#include <stdint.h>

enum { BUCKETS = 2, KEYS_MAX = 4000, BLOB_THRESHOLD = 6000 };

/* Versions count from 1; 0 is: not there. A version is never given twice. */
typedef struct model {
    unsigned keys;                         /* of each bucket */
    uint16_t now[BUCKETS][KEYS_MAX];       /* the version there is */
    uint16_t highest[BUCKETS][KEYS_MAX];   /* ever given */
} model;

/* Key `number`, and version `version` of its value: each word of it tells bucket, key and version. Valid until the next
 * call. Of each eight values one is a blob, one lies in overflow pages, six in leaf pages; each seventh key is
 * over-long. */
hnk_bytes model_key(unsigned number);
hnk_bytes model_value(unsigned bucket, unsigned number, unsigned version);
/* Which version of the value these bytes are; 0: none. */
unsigned model_version_of(unsigned bucket, unsigned number, hnk_bytes bytes);

hnk_status model_open(const char *directory, hnk_damage_policy policy, hnk_store **out);
hnk_status model_bucket(hnk_store *store, unsigned bucket, hnk_bucket **out);
/* Sets or removes in the store and in the model. */
void model_set(model *model, hnk_bucket *handle, unsigned bucket, unsigned number);
void model_remove(model *model, hnk_bucket *handle, unsigned bucket, unsigned number);
/* A new store: `versions` of each key, then some removed; closed. */
void model_make(model *model, const char *directory, unsigned keys, unsigned versions);

/* What a value may be. */
typedef enum served {
    SERVED_NOW,     /* what was there when the damage came */
    SERVED_EVER,    /* any that was ever set for its key */
    SERVED_NOTHING  /* the store must be empty */
} served;

/* Sums over all trials. */
typedef struct usage {
    unsigned opened, refused, right, older, missed, damaged, verified_at_once;
} usage;

/* Opens the store, reads all keys, lists them, verifies, writes, reads what was written, verifies again, closes; opens
 * and reads once more; empties it. Whatever is not as it should be is told with trial_failed(). Gives the status of the
 * opening: only HNK_OK, and what the caller lets pass. */
hnk_status model_use(
    const char *directory, hnk_damage_policy policy, const model *model, served allowed, usage *usage);

#endif
