/* rival_rocksdb.c: RocksDB; with a capacity by FIFO compaction, which drops the oldest files. The log is written and
 * not synced, as all rivals do: a killed process loses nothing. */
#ifdef HANEKE_BENCH_PEERS
#include "rival.h"

#include <dlfcn.h>
#include <rocksdb/c.h>

enum { BLOCK_CACHE_BYTES = 512 << 20, BITS_PER_KEY = 10 };

typedef struct rocks {
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
} rocks;

static bool fine(char *message)
{
    if (message == NULL)
        return true;
    fprintf(stderr, "RocksDB: %s\n", message);
    rocksdb_free(message);
    return false;
}

static void close_store(void *store)
{
    rocks *rocks = store;
    if (rocks->database != NULL)
        rocksdb_close(rocks->database);
    rocksdb_readoptions_destroy(rocks->read);
    rocksdb_writeoptions_destroy(rocks->write);
    rocksdb_options_destroy(rocks->options);
    free(rocks);
}

static void *open_store(const char *directory, const bench_settings *settings)
{
    rocks *rocks = calloc(1, sizeof *rocks);
    char *message = NULL;
    if (rocks == NULL)
        return NULL;
    rocks->options = rocksdb_options_create();
    rocks->read = rocksdb_readoptions_create();
    rocks->write = rocksdb_writeoptions_create();
    rocksdb_options_set_create_if_missing(rocks->options, 1);
    rocksdb_options_set_compression(rocks->options, rocksdb_no_compression);
    rocksdb_options_increase_parallelism(rocks->options, 2);

    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(BLOCK_CACHE_BYTES);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(BITS_PER_KEY));
    rocksdb_options_set_block_based_table_factory(rocks->options, table);
    rocksdb_block_based_options_destroy(table);
    rocksdb_cache_destroy(cache);

    if (settings->capacity_bytes > 0) {
        rocksdb_fifo_compaction_options_t *fifo = rocksdb_fifo_compaction_options_create();
        rocksdb_fifo_compaction_options_set_max_table_files_size(fifo, settings->capacity_bytes);
        rocksdb_options_set_compaction_style(rocks->options, rocksdb_fifo_compaction);
        rocksdb_options_set_fifo_compaction_options(rocks->options, fifo);
        rocksdb_options_set_write_buffer_size(rocks->options, settings->capacity_bytes / 16);
        rocksdb_options_set_max_write_buffer_number(rocks->options, 4);
        /* All files are of level 0 here: their number is no reason to slow the writer. */
        rocksdb_options_set_level0_slowdown_writes_trigger(rocks->options, 1000);
        rocksdb_options_set_level0_stop_writes_trigger(rocks->options, 2000);
        rocksdb_fifo_compaction_options_destroy(fifo);
    }
    rocks->database = rocksdb_open(rocks->options, directory, &message);
    if (!fine(message)) {
        close_store(rocks);
        return NULL;
    }
    return rocks;
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
    rocks *rocks = session;
    char *message = NULL;
    size_t size;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(rocks->database, rocks->read, key.data, key.size, &message);
    if (slice != NULL) {
        const char *value = rocksdb_pinnableslice_value(slice, &size);
        bench_consume(value, size, reading, out);
        rocksdb_pinnableslice_destroy(slice);
    }
    return fine(message);
}

static bool set(void *session, bench_bytes key, bench_bytes value)
{
    rocks *rocks = session;
    char *message = NULL;
    rocksdb_put(rocks->database, rocks->write, key.data, key.size, value.data, value.size, &message);
    return fine(message);
}

static bool set_many(void *session, const bench_pair *pairs, size_t count)
{
    rocks *rocks = session;
    char *message = NULL;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < count; i++)
        rocksdb_writebatch_put(batch, pairs[i].key.data, pairs[i].key.size, pairs[i].value.data, pairs[i].value.size);
    rocksdb_write(rocks->database, rocks->write, batch, &message);
    rocksdb_writebatch_destroy(batch);
    return fine(message);
}

/* Its C header does not tell; the library's file name does: librocksdb.so.7.8.3. */
static const char *version(void)
{
    static char path[BENCH_PATH_MAX];
    Dl_info information;
    if (dladdr((void *)(uintptr_t)rocksdb_open, &information) == 0 || realpath(information.dli_fname, path) == NULL)
        return "";
    char *number = strstr(path, ".so.");
    return number != NULL ? number + 4 : "";
}

const bench_rival bench_rocksdb = {
    "RocksDB", version, open_store, close_store, session_begin, session_end,
    get, set, set_many, NULL, true,
};
#endif
