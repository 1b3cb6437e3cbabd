/* model.h: what a store may hold after steps of which some failed. */
#ifndef HNK_TESTS_FAULTS_MODEL_H
#define HNK_TESTS_FAULTS_MODEL_H

#include "../check.h"
#include "inject.h"

enum { PLAIN, LIMITED, BUCKETS, KEYS = 16, ENTRIES_MAX = 5, VALUE_MAX = 9000, BLOB_THRESHOLD = 5000 };

/* Forgets all. */
void model_empty(void);

/* A value to be set: its bytes, of a new version. */
hnk_bytes model_value(uint32_t bucket, uint32_t key, unsigned char out[VALUE_MAX], uint64_t *out_version);

/* A change of one key has come to an end; version 0 is a removal. On an error the store is as before; but where the
 * commit stands and only the sync after it failed, nobody knows which. */
void model_note(uint32_t bucket, uint32_t key, uint64_t version, hnk_status status, const injection *fault);

/* From now on any entry may be missing: a write that meets a full disk evicts for it. */
void model_allow_loss(void);

/* Whether the version, 0 for none, may be there. */
bool model_allows(uint32_t bucket, uint32_t key, uint64_t version);

hnk_bytes key_name(uint32_t key);
uint64_t key_mark(uint32_t bucket, uint32_t key);

#endif
