/* rivals.c: who takes part. */
#include "rival.h"

const bench_rival *const *bench_rivals(void)
{
    static const bench_rival *const all[] = {
        &bench_haneke, &bench_haneke_copying, &bench_lmdb,
#ifdef HANEKE_BENCH_PEERS
        &bench_rocksdb, &bench_leveldb, &bench_sqlite, &bench_tkrzw,
#endif
        &bench_files, NULL,
    };
    return all;
}
