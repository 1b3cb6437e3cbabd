/* memory.c: what this process keeps in memory beside the page cache. */
#include "bench.h"

#ifdef __APPLE__
#include <malloc/malloc.h>
#endif

#ifdef __linux__
#include <malloc.h>
#include <stdio.h>
#include <string.h>

uint64_t bench_private_bytes(void)
{
    static char line[8192];
    unsigned long long kibibytes = 0, more;
    bool file = false;

    malloc_trim(0);
    FILE *maps = fopen("/proc/self/smaps", "r");
    if (maps == NULL)
        return 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        const char *space = strchr(line, ' '), *colon = strchr(line, ':');
        if (colon == NULL || (space != NULL && space < colon)) /* a mapping's first line: addresses, …, path */
            file = strchr(line, '/') != NULL;
        else if (!file && (sscanf(line, "Private_Clean: %llu", &more) == 1 ||
                           sscanf(line, "Private_Dirty: %llu", &more) == 1))
            kibibytes += more;
    }
    fclose(maps);
    return kibibytes * 1024;
}
#else
uint64_t bench_private_bytes(void)
{
    return 0;
}
#endif

uint64_t bench_allocated_bytes(void)
{
#if defined(__GLIBC__)
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
#elif defined(__APPLE__)
    malloc_statistics_t statistics;

    malloc_zone_statistics(NULL, &statistics);
    return statistics.size_in_use;
#else
    return 0;
#endif
}
