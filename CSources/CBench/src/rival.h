/* rival.h: what the rivals share. */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bench_rival bench_haneke, bench_haneke_copying, bench_lmdb, bench_files;
#ifdef HANEKE_BENCH_PEERS
extern const bench_rival bench_rocksdb, bench_leveldb, bench_sqlite, bench_tkrzw;
#endif

#define BENCH_PATH_MAX 4096

/* Reads a value as a caller would. */
static inline void bench_consume(const void *data, size_t size, bench_reading reading, bench_seen *out)
{
    const uint8_t *bytes = data;
    size_t words = reading == BENCH_READ_WHOLE ? size / 8 : size >= 8;
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, 8);
        sum += word;
    }
    out->size = size;
    out->sum += sum;
}

/* FNV-1a: names for files. */
static inline uint64_t bench_hash(bench_bytes bytes)
{
    const uint8_t *data = bytes.data;
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ data[i]) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

#endif
