/* kill.c: processes that are killed at random moments, and what must be true afterwards.
 *
 *     kill rounds DIRECTORY SEED ROUNDS     a writer and a reader; the one, the other or both are killed, also while
 *                                           they open the store
 *     kill survivor DIRECTORY SEED ROUNDS   of two writers one is killed, and the other goes on
 *
 * Prints how many steps of history had returned before the kills.
 */
#include "files.h"
#include "history.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_MAX = 120, STEPS_AFTER = 40, PATIENCE_MS = 60000 };

/* What the processes share: told to stop, and how much was read. */
typedef struct shared { _Atomic int stops; _Atomic uint64_t reads; } shared;

typedef struct report { uint64_t n; int64_t status; } report;

typedef struct child { pid_t pid; int reports; } child;

static shared *common;
static const char *directory;
static uint64_t seed;

/* A random delay, so that a kill comes at any moment of what the other process does. */
static void dally(uint64_t *random, uint32_t below_us)
{
    struct timespec start, now;
    int64_t ns = drawn_below(random, below_us * 1000);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + (now.tv_nsec - start.tv_nsec) < ns);
}

/* Writes history from step `n` on until told to stop, `steps` are done or it is killed. */
static void write_history(int reports, uint64_t n, uint64_t steps, uint32_t lane, uint32_t lanes)
{
    opened opened = history_open(directory);
    uint64_t blobs = 0;

    for (uint64_t end = n + steps; n < end && atomic_load(&common->stops) == 0; n++) {
        step step = step_of(seed, n, lane, lanes);
        report report = { n, step_perform(&opened, &step) };
        EXPECT(write(reports, &report, sizeof report) == (ssize_t)sizeof report);
    }
    /* A killed process may have left files; nothing else may be wrong, and nobody has opened the store anew. */
    expect_sound(opened.store, UINT64_MAX);
    for (int i = 0; i < BUCKETS; i++)
        expect_counts_add_up(opened.buckets[i], &blobs);
    history_close(&opened);
    exit(0);
}

/* Reads whole values until told to stop, or killed; some leases are held while others are read. */
static void read_values(uint64_t random)
{
    enum { HELD = 5 };
    opened opened = history_open(directory);
    struct { hnk_lease *lease; uint64_t mark; } held[HELD] = { { NULL, 0 } };
    pid_t parent = getppid();

    while (atomic_load(&common->stops) == 0 && getppid() == parent) {
        uint32_t bucket = drawn_below(&random, BUCKETS), key = drawn_below(&random, KEYS);
        uint32_t place = drawn_below(&random, HELD);
        if (held[place].lease != NULL)
            EXPECT(value_is_of(hnk_lease_value(held[place].lease), held[place].mark));
        hnk_lease_release(held[place].lease);
        held[place].mark = key_mark(bucket, key);
        hnk_status status =
            hnk_bucket_get(opened.buckets[bucket], key_name(key), HNK_GET_QUIET, &held[place].lease);
        EXPECT(status == HNK_OK || status == HNK_NOT_FOUND);
        if (status == HNK_OK) {
            EXPECT(value_is_of(hnk_lease_value(held[place].lease), held[place].mark));
            atomic_fetch_add(&common->reads, 1);
        }
    }
    for (int i = 0; i < HELD; i++)
        hnk_lease_release(held[i].lease);
    history_close(&opened);
    exit(0);
}

static child start_writer(uint64_t n, uint64_t steps, uint32_t lane, uint32_t lanes)
{
    int ends[2];
    EXPECT(pipe(ends) == 0);
    child writer = { fork(), ends[0] };
    EXPECT(writer.pid >= 0);
    if (writer.pid == 0) {
        close(ends[0]);
        write_history(ends[1], n, steps, lane, lanes);
    }
    close(ends[1]);
    return writer;
}

static pid_t start_reader(uint64_t random)
{
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0)
        read_values(random);
    return pid;
}

/* Kills, and expects that it was this that ended it. */
static void kill_now(pid_t pid)
{
    int status;
    EXPECT(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void expect_good_end(pid_t pid)
{
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Takes the next report; false: the writer has ended. */
static bool next_report(child *writer, report *out)
{
    struct pollfd waiting = { writer->reports, POLLIN, 0 };
    EXPECT(poll(&waiting, 1, PATIENCE_MS) > 0);
    ssize_t got = read(writer->reports, out, sizeof *out);
    EXPECT(got == 0 || got == (ssize_t)sizeof *out);
    return got != 0;
}

/* Follows a writer's reports on the model, up to `steps` of them. */
static void follow(child *writer, model *model, uint64_t *n, uint64_t steps, uint32_t lane, uint32_t lanes)
{
    report report;
    for (uint64_t done = 0; done < steps && next_report(writer, &report); done++, (*n)++) {
        step step = step_of(seed, *n, lane, lanes);
        hnk_status expected = model_perform(model, &step), found = (hnk_status)report.status;
        EXPECT(report.n == *n);
        if (!model->evicts && step.changes[0].bucket != KEEPS && found == HNK_NOT_FOUND)
            found = expected; /* it may have been evicted */
        if (found != expected)
            fprintf(stderr, "step %llu\n", (unsigned long long)*n);
        EXPECT_STATUS(found, expected);
    }
}

/* A writer that is killed between its commit and its notes takes along what it counted in each bucket. */
static void allow_lost_counts(model *after, const model *before, const model *found)
{
    for (int i = 0; i < BUCKETS; i++) {
        model_bucket *in = &after->buckets[i];
        const model_bucket *was = &before->buckets[i], *is = &found->buckets[i];
        if (is->writes != was->writes || is->evictions != was->evictions || is->refused != was->refused)
            continue;
        in->writes = was->writes;
        in->evictions = was->evictions;
        in->refused = was->refused;
    }
}

/* Checks the store against the model, with or without the step in flight; moves both on to what is there. */
static void settle(model *expected, uint64_t *n, bool in_flight, bool alone, uint64_t *others)
{
    opened opened = history_open(directory);
    model found = { .evicts = true }, after = *expected;
    step step = step_of(seed, *n, 0, 1);
    uint64_t blobs = 0;

    expect_sound(opened.store, alone ? 0 : UINT64_MAX);
    model_read(&found, &opened, &blobs);
    if (in_flight) {
        model_perform(&after, &step);
        allow_lost_counts(&after, expected, &found);
    }
    if (!model_agrees(expected, &found, in_flight ? &step : NULL, &after, false)) {
        if (!in_flight || !model_agrees(&after, &found, NULL, NULL, false)) {
            fprintf(stderr, "before step %llu:\n", (unsigned long long)*n);
            model_agrees(expected, &found, in_flight ? &step : NULL, &after, true);
            fprintf(stderr, "after it (way %d, kind %d, bucket %u, key %u):\n", (int)step.way,
                    (int)step.changes[0].kind, step.changes[0].bucket, step.changes[0].key);
            model_agrees(&after, &found, NULL, NULL, true);
            exit(1);
        }
        ++*n;
    }
    *expected = found;
    if (alone)
        *others = expect_no_litter(directory, blobs, *others);
    history_close(&opened);
}

static uint64_t run_rounds(uint64_t rounds)
{
    enum { WRITER, WRITER_BESIDE_READER, BOTH, READER, ROUNDS };
    uint64_t n = 0, random = seed, others = 0;
    model expected = { .evicts = true };
    opened opened = history_open(directory);
    model_read(&expected, &opened, &(uint64_t){ 0 });
    history_close(&opened);

    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t what = round % ROUNDS, target = drawn_below(&random, STEPS_MAX);
        pid_t reader = 0;
        atomic_store(&common->stops, 0);
        if (what != WRITER)
            reader = start_reader(drawn(&random));
        child writer = start_writer(n, what == READER ? target + STEPS_AFTER : UINT32_MAX, 0, 1);
        follow(&writer, &expected, &n, target, 0, 1);
        dally(&random, target == 0 ? 1500 : 150);
        if (what == BOTH || what == READER)
            kill_now(reader);
        if (what != READER)
            kill_now(writer.pid);
        follow(&writer, &expected, &n, UINT64_MAX, 0, 1);
        close(writer.reports);
        if (what == READER)
            expect_good_end(writer.pid);
        if (what == BOTH) { /* one that is killed while it opens and recovers */
            pid_t opener = start_reader(drawn(&random));
            dally(&random, 2500);
            kill_now(opener);
        }
        if (what == WRITER_BESIDE_READER) { /* nobody is alone: the store goes on as it is */
            uint64_t before = n;
            settle(&expected, &n, true, false, &others);
            atomic_store(&common->stops, 1);
            expect_good_end(reader);
            /* Killed between LMDB's meta page and its word to the others, a commit is seen from the next open on. */
            settle(&expected, &n, n == before, true, &others);
        } else {
            settle(&expected, &n, what != READER, true, &others);
        }
    }
    return n;
}

/* Of the model what belongs to a lane: its keys. */
static model lane_of(const model *all, uint32_t lane)
{
    model own = *all;
    own.evicts = false;
    for (int i = 0; i < BUCKETS; i++) {
        uint32_t kept = 0;
        for (uint32_t j = 0; j < all->buckets[i].count; j++)
            if (all->buckets[i].entries[j].key % 2 == lane)
                own.buckets[i].entries[kept++] = all->buckets[i].entries[j];
        own.buckets[i].count = kept;
    }
    return own;
}

/* Whether what was found of a lane is what the model says, but for what was evicted. */
static bool lane_agrees(const model *expected, const model *found)
{
    for (int i = 0; i < BUCKETS; i++) {
        const model_bucket *wanted = &expected->buckets[i], *there = &found->buckets[i];
        if (i == KEEPS && wanted->count != there->count)
            return false;
        for (uint32_t j = 0; j < there->count; j++) {
            uint32_t k = 0;
            while (k < wanted->count && wanted->entries[k].key != there->entries[j].key)
                k++;
            if (k == wanted->count || wanted->entries[k].version != there->entries[j].version)
                return false;
        }
    }
    return true;
}

static uint64_t run_survivor(uint64_t rounds)
{
    uint64_t n[2] = { 0, 0 }, random = seed, others = 0;
    opened opened = history_open(directory);
    model all = { .evicts = true }, lanes[2];
    model_read(&all, &opened, &(uint64_t){ 0 });
    history_close(&opened);

    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t killed = round % 2, other = 1 - killed;
        uint64_t target = drawn_below(&random, STEPS_MAX), blobs = 0;
        child writers[2];
        atomic_store(&common->stops, 0);
        for (uint32_t lane = 0; lane < 2; lane++) {
            lanes[lane] = lane_of(&all, lane);
            writers[lane] = start_writer(n[lane], UINT32_MAX, lane, 2);
        }
        follow(&writers[killed], &lanes[killed], &n[killed], target, killed, 2);
        dally(&random, 150);
        kill_now(writers[killed].pid);
        follow(&writers[killed], &lanes[killed], &n[killed], UINT64_MAX, killed, 2);
        follow(&writers[other], &lanes[other], &n[other], STEPS_AFTER, other, 2);
        atomic_store(&common->stops, 1);
        follow(&writers[other], &lanes[other], &n[other], UINT64_MAX, other, 2);
        expect_good_end(writers[other].pid);
        close(writers[0].reports);
        close(writers[1].reports);

        opened = history_open(directory);
        expect_sound(opened.store, 0);
        model_read(&all, &opened, &blobs);
        others = expect_no_litter(directory, blobs, others);
        history_close(&opened);
        model found = lane_of(&all, other);
        EXPECT(lane_agrees(&lanes[other], &found));
        found = lane_of(&all, killed);
        if (!lane_agrees(&lanes[killed], &found)) {
            step step = step_of(seed, n[killed]++, killed, 2);
            model_perform(&lanes[killed], &step);
            EXPECT(lane_agrees(&lanes[killed], &found));
        }
    }
    return n[0] + n[1];
}

int main(int count, char **arguments)
{
    char scratch[4096];
    EXPECT(count == 5);
    directory = arguments[2];
    seed = strtoull(arguments[3], NULL, 10);
    uint64_t rounds = strtoull(arguments[4], NULL, 10), steps;

    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(common != MAP_FAILED);
    snprintf(scratch, sizeof scratch, "%s.scratch", directory);
    charges_open(scratch);
    if (strcmp(arguments[1], "rounds") == 0) {
        steps = run_rounds(rounds);
    } else {
        EXPECT(strcmp(arguments[1], "survivor") == 0);
        steps = run_survivor(rounds);
    }
    charges_close();
    printf("%llu\n", (unsigned long long)steps);
    return 0;
}
