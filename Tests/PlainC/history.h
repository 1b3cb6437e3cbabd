/* history.h: a history of writes that follows from a seed, carried out on a store by one process and on a model by
 * another, so that the second knows what must be there when the first one was killed. */
#ifndef HNK_TESTS_HISTORY_H
#define HNK_TESTS_HISTORY_H

#include "check.h"

/* The buckets: one that keeps everything, one bounded in bytes, one bounded in entries. */
enum { KEEPS, BYTES, ENTRIES, BUCKETS };
enum { KEYS = 96, CHANGES_MAX = 6, BLOB_THRESHOLD = 6000, VALUE_MAX = 200000 };

typedef struct opened {
    hnk_store *store;
    hnk_bucket *buckets[BUCKETS];
} opened;

/* Opens the store and its buckets, as they are set; makes them with their limits where they are missing. */
opened history_open(const char *directory);
void history_close(opened *opened);

/* The key number `key` of a bucket: short, or over the 506 bytes of a raw one. Valid until the next call. */
hnk_bytes key_name(uint32_t key);
uint32_t key_number(hnk_bytes name);
/* The number that values of this key carry. */
uint64_t key_mark(uint32_t bucket, uint32_t key);

/* One step: changes that are made in one transaction, or something beside the transactions. */
typedef enum change_kind {
    CHANGE_SET, CHANGE_REMOVE, CHANGE_REMOVE_TENTH, CHANGE_REMOVE_ALL, CHANGE_LIMIT, CHANGE_USE, CHANGE_NONE
} change_kind;

typedef struct change {
    change_kind kind;
    uint32_t bucket;
    uint32_t key;     /* of a set, remove or use; of CHANGE_REMOVE_TENTH the last digit's place: all keys x0-x9 */
    uint64_t version; /* of a set */
    uint64_t size;    /* of a set; of CHANGE_LIMIT the most entries */
} change;

typedef struct step {
    enum { BY_ITSELF, AS_BATCH, BY_WRITER, BY_ABORTED_WRITER, BY_TOUCH, BY_GET, BY_COMPACT, BY_SYNC } way;
    uint32_t count;
    change changes[CHANGES_MAX];
} step;

/* The step number n. Of several `lanes`, one a process, each has keys of its own and leaves the others' alone. */
step step_of(uint64_t seed, uint64_t n, uint32_t lane, uint32_t lanes);
/* Carries it out; the status that the model gives too. */
hnk_status step_perform(const opened *opened, const step *step);

/* The model: what is in each bucket, least recently used first. */
typedef struct model_entry {
    uint32_t key;
    uint64_t version, size, charge;
} model_entry;

typedef struct model_bucket {
    uint64_t capacity, entries_max, bytes, writes, evictions, refused;
    uint32_t count;
    model_entry entries[KEYS];
} model_bucket;

typedef struct model {
    bool evicts; /* false: nothing is evicted, so that an entry may be missing from the store */
    model_bucket buckets[BUCKETS];
} model;

void model_begin(model *model, bool evicts);
hnk_status model_perform(model *model, const step *step);

/* What a value of this key and size is charged, as the store itself says: of a bucket in `scratch`, a directory. */
void charges_open(const char *scratch);
void charges_close(void);

/* Fills the model from the store, which it expects to hold whole values and right counts; counts blobs. */
void model_read(model *model, const opened *opened, uint64_t *blobs);
/* Whether the store holds what the model does, the order of use included. A step that was in flight and came to nothing
 * may have moved what it would have changed, evicted or removed: `after` is the model with it. Both may be NULL. Says
 * the first difference if `tells`. */
bool model_agrees(
    const model *expected, const model *found, const step *in_flight, const model *after, bool tells);

#endif
