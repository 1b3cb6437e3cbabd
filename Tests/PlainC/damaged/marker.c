/* marker.c: makes a marker say that the system has crashed. */
#include "marker.h"

#include <string.h>
#include <xxhash.h>

#include "trial.h"

enum { MARKER_BYTES = 64, STATE_AT = 12, BOOT_AT = 16, BOOT_BYTES = 16, DIGEST_AT = 56, STATE_OPEN = 1 };

void marker_crash(const char *directory, const kept_file *state)
{
    uint8_t bytes[MARKER_BYTES];
    uint32_t open = STATE_OPEN;

    MUST(state != NULL && state->size == MARKER_BYTES);
    memcpy(bytes, state->bytes, sizeof bytes);
    memcpy(bytes + STATE_AT, &open, sizeof open);
    memset(bytes + BOOT_AT, 0x5B, BOOT_BYTES);
    uint64_t digest = XXH3_64bits(bytes, DIGEST_AT);
    memcpy(bytes + DIGEST_AT, &digest, sizeof digest);
    file_put(directory, "state", bytes, sizeof bytes);
}
