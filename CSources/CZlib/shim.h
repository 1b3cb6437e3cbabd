/* zlib for Swift, which can't see the function-like macro that names the library's version. */
#ifndef HANEKE_CZLIB_SHIM_H
#define HANEKE_CZLIB_SHIM_H

#include <zlib.h>

/* `window_bits` as for inflateInit2: 31 reads gzip, 15 zlib, -15 raw deflate. */
static inline int hnk_zlib_inflate_init(z_stream *stream, int window_bits)
{
    return inflateInit2(stream, window_bits);
}

/* For tests and senders: the same numbers for `window_bits`. */
static inline int hnk_zlib_deflate_init(z_stream *stream, int level, int window_bits)
{
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

#endif
