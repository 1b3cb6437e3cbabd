/* model.c: the versions that each key may have. */
#include "model.h"

enum { VERSIONS_MAX = 16 };

typedef struct possible { uint64_t versions[VERSIONS_MAX]; uint32_t count; } possible;

static possible keys[BUCKETS][KEYS];
static uint64_t version_last;
static bool losses; /* also from the bucket without limits */

void model_empty(void)
{
    losses = false;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
        for (uint32_t key = 0; key < KEYS; key++)
            keys[bucket][key] = (possible){ { 0 }, 1 };
}

hnk_bytes key_name(uint32_t key)
{
    static char names[KEYS][8];
    int size = snprintf(names[key], sizeof names[key], "key-%02u", key);
    return (hnk_bytes){ names[key], (size_t)size };
}

uint64_t key_mark(uint32_t bucket, uint32_t key)
{
    return (uint64_t)bucket << 32 | key;
}

hnk_bytes model_value(uint32_t bucket, uint32_t key, unsigned char out[VALUE_MAX], uint64_t *out_version)
{
    static const size_t sizes[] = { 60, VALUE_MAX, 3000, 200 }; /* rows, blobs, overflow pages */
    size_t size = sizes[key % 4];
    value_write(out, key_mark(bucket, key), *out_version = ++version_last, size);
    return (hnk_bytes){ out, size };
}

static bool syncs(const injection *fault)
{
    return fault->function == INJECT_fsync || fault->function == INJECT_fdatasync || fault->function == INJECT_msync;
}

void model_note(uint32_t bucket, uint32_t key, uint64_t version, hnk_status status, const injection *fault)
{
    possible *of = &keys[bucket][key];
    if (status >= HNK_OK) {
        *of = (possible){ { version }, 1 };
    } else if (syncs(fault)) {
        EXPECT(of->count < VERSIONS_MAX);
        of->versions[of->count++] = version;
    }
}

void model_allow_loss(void)
{
    losses = true;
}

bool model_allows(uint32_t bucket, uint32_t key, uint64_t version)
{
    const possible *of = &keys[bucket][key];
    for (uint32_t i = 0; i < of->count; i++)
        if (of->versions[i] == version)
            return true;
    return version == 0 && (bucket == LIMITED || losses); /* it may have been evicted */
}
