/* bench.h: rivals behind one table of functions, and the loops that are timed. Both sides of every comparison run the
 * same C loop and pay the same indirect call. */
#ifndef HANEKE_BENCH_H
#define HANEKE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_bytes {
    const void *data;
    size_t size;
} bench_bytes;

typedef struct bench_pair {
    bench_bytes key;
    bench_bytes value;
} bench_pair;

/* How much of a value a get looks at. */
typedef enum bench_reading {
    BENCH_READ_TOUCH = 0, /* its first eight bytes */
    BENCH_READ_WHOLE = 1  /* all of it */
} bench_reading;

typedef struct bench_settings {
    uint64_t capacity_bytes;   /* the rival evicts above it; 0 = no limit */
    uint64_t entries_max;      /* most entries; 0 = no limit */
    uint64_t entries_expected; /* for those that size a table in advance */
    bool sieve;                /* evict by SIEVE, where the rival knows it */
} bench_settings;

/* What a get saw: `size` is SIZE_MAX on a miss. `sum` keeps the compiler from leaving the reading out. */
typedef struct bench_seen {
    size_t size;
    uint64_t sum;
} bench_seen;

/* One way to keep values on a disk. A session is one thread's use of an open store. Functions answer false, or NULL,
 * on a failure. */
typedef struct bench_rival {
    const char *name;
    const char *(*version)(void); /* static text */
    void *(*open)(const char *directory, const bench_settings *settings);
    void (*close)(void *store);
    void *(*session_begin)(void *store);
    void (*session_end)(void *session);
    bool (*get)(void *session, bench_bytes key, bench_reading reading, bench_seen *out);
    bool (*set)(void *session, bench_bytes key, bench_bytes value);
    bool (*set_many)(void *session, const bench_pair *pairs, size_t count);
    uint64_t (*accounted)(void *session); /* bytes counted against the capacity; NULL = can't tell */
    bool bounded;                         /* keeps to capacity_bytes */
} bench_rival;

/* The rivals of this build, ended by NULL. */
const bench_rival *const *bench_rivals(void);

/* Keys and values by number. A value is a piece of `payload`, so writing one costs no generating. */
typedef struct bench_corpus {
    const uint8_t *keys;
    const uint64_t *key_offsets; /* count + 1 of them */
    const uint32_t *value_sizes; /* one a key; NULL = all are value_bytes long */
    uint32_t value_bytes;
    uint32_t count;
    const uint8_t *payload;
    size_t payload_bytes; /* larger than any value */
} bench_corpus;

#define BENCH_SET_BIT 0x80000000u /* in a request: a set; else a get of the key whose number it is */

/* A stretch of requests, and what came of it. */
typedef struct bench_slice {
    const bench_rival *rival;
    void *const *sessions; /* one a thread */
    unsigned threads;
    const bench_corpus *corpus;
    const uint32_t *requests; /* gone round and round */
    size_t requests_count;
    size_t start;     /* of thread 0; the others are spread evenly */
    size_t most;      /* requests a thread; 0 = until the time is over */
    uint64_t most_ns; /* 0 = until all are done */
    unsigned group;   /* the sets of so many requests are written together at their end; 1 = each at once */
    bench_reading reading;
    uint32_t *latencies; /* ns, of thread 0; NULL = not wanted */
    size_t latencies_max;
    unsigned sample_every; /* each n-th request is timed; 1 = all, and then busy_ns is their sum */
    bool watch_accounting; /* ask for the bytes accounted after each request, outside the timing */

    /* out */
    size_t latencies_count;
    uint64_t done; /* requests, of all threads */
    double per_second;
    uint64_t busy_ns;
    uint64_t cpu_ns; /* of the process, with every thread it has */
    uint64_t misses;
    uint64_t failures;
    uint64_t accounted_max;
    uint64_t bytes_written;
} bench_slice;

void bench_run(bench_slice *slice);

/* Gets each key and sets it on a miss, as a cache in use does. Answers the number of misses, or UINT64_MAX on a
 * failure. */
uint64_t bench_misses(const bench_rival *rival, void *session, const bench_corpus *corpus, const uint32_t *requests,
                      size_t count);

/* Bytes of the blocks that a directory and everything in it take on the disk. */
uint64_t bench_disk_bytes(const char *directory);

/* Bytes of this process's private memory that no file backs, after what is free has gone back to the system; 0 where
 * that can't be told. */
uint64_t bench_private_bytes(void);
/* The bytes that malloc has handed out and not got back, in all threads; 0 where it doesn't tell. */
uint64_t bench_allocated_bytes(void);

/* ns of a clock that only goes forward. */
uint64_t bench_now_ns(void);

#endif
