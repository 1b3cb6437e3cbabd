/* source.h: where choices come from: a seed, for a campaign that can be repeated, or the bytes of a fuzzer. */
#ifndef FUZZ_SOURCE_H
#define FUZZ_SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct source {
    uint64_t state;       /* of xorshift64*; never 0 */
    const uint8_t *bytes; /* NULL: the state decides */
    size_t left;
} source;

static inline source source_of_seed(uint64_t seed)
{
    return (source){ .state = seed * 2 + 1 };
}

static inline source source_of_bytes(const uint8_t *bytes, size_t size)
{
    return (source){ .bytes = bytes, .left = size };
}

/* All 64 bits. A fuzzer's bytes are little-endian, and zeros when none are left. */
static inline uint64_t draw_bits(source *from, size_t bytes)
{
    uint64_t bits = 0;

    if (from->bytes == NULL) {
        from->state ^= from->state << 13;
        from->state ^= from->state >> 7;
        from->state ^= from->state << 17;
        return from->state * UINT64_C(0x2545F4914F6CDD1D);
    }
    for (size_t i = 0; i < bytes && from->left > 0; i++, from->left--)
        bits |= (uint64_t)*from->bytes++ << 8 * i;
    return bits;
}

/* Below `bound`, which is not 0. */
static inline uint64_t draw(source *from, uint64_t bound)
{
    if (from->bytes == NULL)
        return (draw_bits(from, 8) >> 11) % bound;
    return draw_bits(from, bound <= 0x100 ? 1 : bound <= 0x10000 ? 2 : 8) % bound;
}

#endif
