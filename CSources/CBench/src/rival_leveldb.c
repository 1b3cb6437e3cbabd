/* rival_leveldb.c: LevelDB, uncompressed, with a Bloom filter and a cache that holds everything. */
#ifdef HANEKE_BENCH_PEERS
#include "rival.h"

#include <leveldb/c.h>

enum { BLOCK_CACHE_BYTES = 512 << 20, BITS_PER_KEY = 10 };

typedef struct level {
    leveldb_t *database;
    leveldb_options_t *options;
    leveldb_cache_t *cache;
    leveldb_filterpolicy_t *filter;
    leveldb_readoptions_t *read;
    leveldb_writeoptions_t *write;
} level;

static bool fine(char *message)
{
    if (message == NULL)
        return true;
    fprintf(stderr, "LevelDB: %s\n", message);
    leveldb_free(message);
    return false;
}

static void close_store(void *store)
{
    level *level = store;
    if (level->database != NULL)
        leveldb_close(level->database);
    leveldb_options_destroy(level->options);
    leveldb_cache_destroy(level->cache);
    leveldb_filterpolicy_destroy(level->filter);
    leveldb_readoptions_destroy(level->read);
    leveldb_writeoptions_destroy(level->write);
    free(level);
}

static void *open_store(const char *directory, const bench_settings *settings)
{
    level *level = calloc(1, sizeof *level);
    char *message = NULL;
    (void)settings;
    if (level == NULL)
        return NULL;
    level->options = leveldb_options_create();
    level->cache = leveldb_cache_create_lru(BLOCK_CACHE_BYTES);
    level->filter = leveldb_filterpolicy_create_bloom(BITS_PER_KEY);
    level->read = leveldb_readoptions_create();
    level->write = leveldb_writeoptions_create();
    leveldb_options_set_create_if_missing(level->options, 1);
    leveldb_options_set_compression(level->options, leveldb_no_compression);
    leveldb_options_set_cache(level->options, level->cache);
    leveldb_options_set_filter_policy(level->options, level->filter);
    level->database = leveldb_open(level->options, directory, &message);
    if (!fine(message)) {
        close_store(level);
        return NULL;
    }
    return level;
}

static void *session_begin(void *store)
{
    return store;
}

static void session_end(void *session)
{
    (void)session;
}

static bool get(void *session, bench_bytes key, bench_reading reading, bench_seen *out)
{
    level *level = session;
    char *message = NULL;
    size_t size;
    char *value = leveldb_get(level->database, level->read, key.data, key.size, &size, &message);
    if (value != NULL) {
        bench_consume(value, size, reading, out);
        leveldb_free(value);
    }
    return fine(message);
}

static bool set(void *session, bench_bytes key, bench_bytes value)
{
    level *level = session;
    char *message = NULL;
    leveldb_put(level->database, level->write, key.data, key.size, value.data, value.size, &message);
    return fine(message);
}

static bool set_many(void *session, const bench_pair *pairs, size_t count)
{
    level *level = session;
    char *message = NULL;
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    for (size_t i = 0; i < count; i++)
        leveldb_writebatch_put(batch, pairs[i].key.data, pairs[i].key.size, pairs[i].value.data, pairs[i].value.size);
    leveldb_write(level->database, level->write, batch, &message);
    leveldb_writebatch_destroy(batch);
    return fine(message);
}

static const char *version(void)
{
    static char text[32];
    snprintf(text, sizeof text, "%d.%d", leveldb_major_version(), leveldb_minor_version());
    return text;
}

const bench_rival bench_leveldb = {
    "LevelDB", version, open_store, close_store, session_begin, session_end, get, set, set_many, NULL, false,
};
#endif
