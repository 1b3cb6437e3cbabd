/* digest.c: the only place that knows xxHash. The digests are part of the format: see docs/DISK_FORMAT.md. */
#include "internal.h"

#include <stdlib.h>
#include <xxhash.h>

static_assert(sizeof(XXH128_canonical_t) == HNK_KEY_DIGEST_BYTES, "DISK_FORMAT.md, Stored keys");

uint64_t hnk__digest(const void *bytes, size_t size, uint64_t seed)
{
    return seed == 0 ? XXH3_64bits(bytes, size) : XXH3_64bits_withSeed(bytes, size, seed);
}

void hnk__digest_key(const void *bytes, size_t size, uint8_t out[HNK_KEY_DIGEST_BYTES])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    for (size_t i = 0; i < HNK_KEY_DIGEST_BYTES; i++)
        out[i] = canonical.digest[i];
}

hnk__digest_state *hnk__digest_begin(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL && XXH3_64bits_reset(state) != XXH_OK) {
        XXH3_freeState(state);
        state = NULL;
    }
    return (hnk__digest_state *)state;
}

void hnk__digest_add(hnk__digest_state *state, const void *bytes, size_t size)
{
    XXH_errorcode code = XXH3_64bits_update((XXH3_state_t *)state, bytes, size);
    assert(code == XXH_OK); /* fails for a NULL state only */
    (void)code;
}

uint64_t hnk__digest_end(hnk__digest_state *state)
{
    return XXH3_64bits_digest((const XXH3_state_t *)state);
}

void hnk__digest_free(hnk__digest_state *state)
{
    if (state != NULL)
        XXH3_freeState((XXH3_state_t *)state);
}

unsigned hnk__digest_library_version(void)
{
    return XXH_versionNumber();
}
