/* turn.c: the writers' lock, over all processes. It goes around LMDB's own, because what a writer notes in the files of
 * slots after its commit has to be there before the next one begins. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__APPLE__)
#  define HAS_ROBUST_MUTEXES 0 /* a lock on the file then: it ends with its process as well, and costs a system call */
#else
#  define HAS_ROBUST_MUTEXES 1
#endif

static const char magic[8] = { 'H', 'N', 'K', 'T', 'U', 'R', 'N', '1' };

typedef struct shared_turn {
    char magic[8];
    uint64_t mutex_bytes; /* of the C library that made it */
    _Alignas(64) pthread_mutex_t mutex;
} shared_turn;

enum { FILE_BYTES = 4096 };

static_assert(sizeof(shared_turn) <= FILE_BYTES, "DISK_FORMAT.md, turn");

static int open_file(int directory, bool alone)
{
    enum { FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    if (!alone)
        return openat(directory, "turn", FLAGS);
    /* Whatever a process before us left in it. Not truncated: a forked child may still have it mapped. */
    if (unlinkat(directory, "turn", 0) != 0 && errno != ENOENT)
        return -1;
    return openat(directory, "turn", FLAGS | O_CREAT | O_EXCL, 0600);
}

#if HAS_ROBUST_MUTEXES

static int make_mutex(shared_turn *shared)
{
    pthread_mutexattr_t attributes;
    int code = pthread_mutexattr_init(&attributes);
    if (code != 0)
        return code;
    if ((code = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED)) == 0 &&
        (code = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST)) == 0)
        code = pthread_mutex_init(&shared->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return code;
}

static hnk_status map_mutex(hnk__turn *turn, bool alone)
{
    struct stat stat;
    if (alone && !hnk__reserve(turn->file, 0, FILE_BYTES))
        return hnk__from_errno(errno);
    if (fstat(turn->file, &stat) != 0)
        return hnk__from_errno(errno);
    if (!S_ISREG(stat.st_mode) || stat.st_size < FILE_BYTES)
        return HNK_ERROR_DAMAGED_STORE;
    void *mapping = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, turn->file, 0);
    if (mapping == MAP_FAILED)
        return hnk__from_errno(errno);
    turn->shared = mapping;
    shared_turn *shared = turn->shared;
    if (alone) {
        int code = make_mutex(shared);
        if (code != 0)
            return hnk__from_errno(code);
        shared->mutex_bytes = sizeof shared->mutex;
        memcpy(shared->magic, magic, sizeof magic);
    }
    bool ours = memcmp(shared->magic, magic, sizeof magic) == 0 && shared->mutex_bytes == sizeof shared->mutex;
    return ours ? HNK_OK : HNK_ERROR_DAMAGED_STORE;
}

hnk_status hnk__turn_take(hnk__turn *turn)
{
    shared_turn *shared = turn->shared;
    int code = pthread_mutex_lock(&shared->mutex);
    if (code == EOWNERDEAD)
        code = pthread_mutex_consistent(&shared->mutex);
    return code == 0 ? HNK_OK : HNK_ERROR_INTERNAL;
}

void hnk__turn_give(hnk__turn *turn)
{
    shared_turn *shared = turn->shared;
    int code = pthread_mutex_unlock(&shared->mutex);
    assert(code == 0);
    (void)code;
}

#else

static hnk_status map_mutex(hnk__turn *turn, bool alone)
{
    (void)turn, (void)alone;
    return HNK_OK;
}

hnk_status hnk__turn_take(hnk__turn *turn)
{
    int result;
    do
        result = flock(turn->file, LOCK_EX);
    while (result != 0 && errno == EINTR);
    return result == 0 ? HNK_OK : hnk__from_errno(errno);
}

void hnk__turn_give(hnk__turn *turn)
{
    flock(turn->file, LOCK_UN);
}

#endif

hnk_status hnk__turn_open(hnk__turn *turn, int directory, bool alone)
{
    *turn = (hnk__turn){ .file = open_file(directory, alone) };
    hnk_status status = turn->file < 0 ? hnk__from_errno(errno) : map_mutex(turn, alone);
    if (status != HNK_OK)
        hnk__turn_close(turn);
    return status;
}

void hnk__turn_close(hnk__turn *turn)
{
    if (turn->shared != NULL)
        munmap(turn->shared, FILE_BYTES);
    if (turn->file >= 0)
        close(turn->file);
    *turn = (hnk__turn){ .file = -1 };
}
