/* run.c: the loops that are timed. */
#include "rival.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

enum { CHUNK = 256 }; /* requests between two looks at the clock */

uint64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}

static bench_bytes key_of(const bench_corpus *corpus, uint32_t number)
{
    uint64_t offset = corpus->key_offsets[number];
    return (bench_bytes){ corpus->keys + offset, (size_t)(corpus->key_offsets[number + 1] - offset) };
}

static bench_bytes value_of(const bench_corpus *corpus, uint32_t number)
{
    size_t size = corpus->value_sizes != NULL ? corpus->value_sizes[number] : corpus->value_bytes;
    return (bench_bytes){ corpus->payload + (uint64_t)number * 4099u % (corpus->payload_bytes - size), size };
}

typedef struct part {
    bench_slice *slice;
    pthread_t thread;
    bool started;
    _Atomic unsigned *missing; /* threads that are not there yet */
    void *session;
    size_t position;
    bool first; /* it alone notes latencies and the accounting */
    bench_pair *pending;
    size_t pending_count;
    uint64_t done, elapsed_ns, busy_ns, misses, failures, accounted_max, bytes_written, sum;
    size_t latencies_count;
} part;

static void write_pending(part *part)
{
    if (part->pending_count > 0 &&
        !part->slice->rival->set_many(part->session, part->pending, part->pending_count))
        part->failures++;
    part->pending_count = 0;
}

static void get(part *part, uint32_t number)
{
    const bench_corpus *corpus = part->slice->corpus;
    bench_seen seen = { SIZE_MAX, 0 };
    if (!part->slice->rival->get(part->session, key_of(corpus, number), part->slice->reading, &seen))
        part->failures++;
    else if (seen.size == SIZE_MAX)
        part->misses++;
    else if (seen.size != value_of(corpus, number).size)
        part->failures++;
    part->sum += seen.sum;
}

static void set(part *part, uint32_t number)
{
    bench_bytes key = key_of(part->slice->corpus, number);
    bench_bytes value = value_of(part->slice->corpus, number);
    part->bytes_written += value.size;
    if (part->slice->group > 1)
        part->pending[part->pending_count++] = (bench_pair){ key, value };
    else if (!part->slice->rival->set(part->session, key, value))
        part->failures++;
}

static void request(part *part, uint32_t request)
{
    if ((request & BENCH_SET_BIT) != 0)
        set(part, request & ~BENCH_SET_BIT);
    else
        get(part, request);
}

static void request_timed(part *part, uint32_t number)
{
    bench_slice *slice = part->slice;
    uint64_t before = bench_now_ns();
    request(part, number);
    uint64_t took = bench_now_ns() - before;
    part->busy_ns += took;
    if (part->latencies_count < slice->latencies_max)
        slice->latencies[part->latencies_count++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    if (slice->watch_accounting && slice->rival->accounted != NULL) {
        uint64_t accounted = slice->rival->accounted(part->session);
        if (accounted > part->accounted_max)
            part->accounted_max = accounted;
    }
}

static void *run_part(void *argument)
{
    part *part = argument;
    bench_slice *slice = part->slice;
    size_t chunk = slice->group > 1 ? slice->group : CHUNK;
    uint64_t timing = part->first && slice->latencies != NULL ? slice->sample_every : 0;

    atomic_fetch_sub(part->missing, 1);
    while (atomic_load(part->missing) > 0)
        sched_yield();
    uint64_t start = bench_now_ns(), now = start;
    while ((slice->most == 0 || part->done < slice->most) && (slice->most_ns == 0 || now - start < slice->most_ns)) {
        size_t count = slice->most != 0 && slice->most - part->done < chunk ? slice->most - part->done : chunk;
        for (size_t i = 0; i < count; i++) {
            uint32_t number = slice->requests[part->position];
            part->position = part->position + 1 < slice->requests_count ? part->position + 1 : 0;
            if (timing != 0 && (part->done + i) % timing == 0)
                request_timed(part, number);
            else
                request(part, number);
        }
        write_pending(part);
        part->done += count;
        now = bench_now_ns();
    }
    part->elapsed_ns = now - start;
    return NULL;
}

void bench_run(bench_slice *slice)
{
    part *parts = calloc(slice->threads, sizeof *parts);
    _Atomic unsigned missing = slice->threads;
    static _Atomic uint64_t seen; /* what was read is used, so it is not left out */

    slice->failures = 1;
    if (parts == NULL)
        return;
    bool ready = true;
    for (unsigned i = 0; i < slice->threads; i++) {
        parts[i] = (part){
            .slice = slice,
            .missing = &missing,
            .session = slice->sessions[i],
            .position = (slice->start + slice->requests_count / slice->threads * i) % slice->requests_count,
            .first = i == 0,
            .pending = malloc((slice->group > 1 ? slice->group : 1) * sizeof(bench_pair)),
        };
        ready = ready && parts[i].pending != NULL;
    }
    if (!ready)
        goto done;
    uint64_t cpu = cpu_ns();
    for (unsigned i = 1; i < slice->threads; i++) {
        parts[i].started = pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0;
        if (!parts[i].started) {
            parts[i].failures = 1;
            atomic_fetch_sub(&missing, 1); /* nobody has to wait for it */
        }
    }
    run_part(&parts[0]);
    for (unsigned i = 1; i < slice->threads; i++)
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
    slice->cpu_ns = cpu_ns() - cpu;

    slice->done = slice->misses = slice->failures = slice->bytes_written = 0;
    slice->per_second = 0;
    for (unsigned i = 0; i < slice->threads; i++) {
        slice->done += parts[i].done;
        slice->misses += parts[i].misses;
        slice->failures += parts[i].failures;
        slice->bytes_written += parts[i].bytes_written;
        slice->per_second += (double)parts[i].done * 1e9 / (double)(parts[i].elapsed_ns > 0 ? parts[i].elapsed_ns : 1);
        atomic_fetch_add(&seen, parts[i].sum);
    }
    slice->busy_ns = parts[0].busy_ns;
    slice->latencies_count = parts[0].latencies_count;
    slice->accounted_max = parts[0].accounted_max;
done:
    for (unsigned i = 0; i < slice->threads; i++)
        free(parts[i].pending);
    free(parts);
}

uint64_t bench_misses(const bench_rival *rival, void *session, const bench_corpus *corpus, const uint32_t *requests,
                      size_t count)
{
    uint64_t misses = 0;
    for (size_t i = 0; i < count; i++) {
        bench_bytes key = key_of(corpus, requests[i]);
        bench_seen seen = { SIZE_MAX, 0 };
        if (!rival->get(session, key, BENCH_READ_TOUCH, &seen))
            return UINT64_MAX;
        if (seen.size != SIZE_MAX)
            continue;
        misses++;
        if (!rival->set(session, key, value_of(corpus, requests[i])))
            return UINT64_MAX;
    }
    return misses;
}

uint64_t bench_disk_bytes(const char *directory)
{
    struct stat status;
    uint64_t bytes = 0;
    if (lstat(directory, &status) != 0)
        return 0;
    bytes += (uint64_t)status.st_blocks * 512;
    if (!S_ISDIR(status.st_mode))
        return bytes;
    DIR *listing = opendir(directory);
    if (listing == NULL)
        return bytes;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[BENCH_PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= (int)sizeof path)
            continue;
        bytes += bench_disk_bytes(path);
    }
    closedir(listing);
    return bytes;
}
