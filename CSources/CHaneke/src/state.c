/* state.c: the marker that tells a clean close from a kill, and a kill from a crash of the system. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct marker {
    char magic[8];
    uint32_t version;
    uint32_t state;
    uint8_t boot[16];
    uint64_t data_bytes;
    uint64_t data_changed_ns;
    uint64_t synced;
    uint64_t digest;
} marker;

static_assert(sizeof(marker) == 64, "DISK_FORMAT.md, state");
static_assert(offsetof(marker, data_bytes) == 32, "DISK_FORMAT.md, state");
static_assert(offsetof(marker, digest) == 56, "DISK_FORMAT.md, state");

static const char magic[8] = { 'H', 'N', 'K', 'S', 'T', 'A', 'T', 'E' };

/* SHARED: open, and a second process has joined; LEFT: closed by the last of several, of which one may have been
 * killed, or with files left behind. */
enum { VERSION = 1, STATE_OPEN = 1, STATE_CLOSED = 2, STATE_SHARED = 3, STATE_LEFT = 4 };

static bool read_marker(int file, marker *out)
{
    return pread(file, out, sizeof *out, 0) == (ssize_t)sizeof *out && memcmp(out->magic, magic, sizeof magic) == 0 &&
           out->version == VERSION && out->digest == hnk__digest(out, offsetof(marker, digest), 0);
}

static bool write_marker(int file, marker *marked)
{
    memcpy(marked->magic, magic, sizeof magic);
    marked->version = VERSION;
    marked->digest = hnk__digest(marked, offsetof(marker, digest), 0);
    return pwrite(file, marked, sizeof *marked, 0) == (ssize_t)sizeof *marked;
}

static bool describe_data(int directory, uint64_t *bytes, uint64_t *changed_ns)
{
    struct stat stat;
    if (fstatat(directory, "data.mdb", &stat, 0) != 0)
        return false;
    *bytes = (uint64_t)stat.st_size;
#if defined(__APPLE__)
    *changed_ns = (uint64_t)stat.st_mtimespec.tv_sec * 1000000000u + (uint64_t)stat.st_mtimespec.tv_nsec;
#else
    *changed_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000u + (uint64_t)stat.st_mtim.tv_nsec;
#endif
    return true;
}

/* What the one process that has the store to itself may believe of it. */
static hnk__trust judge(hnk__state *state, int directory)
{
    marker found;
    uint8_t boot[16];
    uint64_t bytes, changed_ns;

    state->known = read_marker(state->file, &found);
    bool closed = state->known && (found.state == STATE_CLOSED || found.state == STATE_LEFT);
    state->synced = closed && found.synced != 0;
    if (!describe_data(directory, &bytes, &changed_ns) || bytes == 0)
        return HNK_TRUST_NEW;
    if (!state->known)
        return HNK_TRUST_CRASHED;
    bool same_boot = hnk__boot_identity(boot) && memcmp(boot, found.boot, sizeof boot) == 0;
    bool as_left = closed && found.data_bytes == bytes && found.data_changed_ns == changed_ns;
    if (as_left && (same_boot || found.synced != 0))
        return found.state == STATE_LEFT ? HNK_TRUST_LEFT : HNK_TRUST_CLEAN;
    return same_boot ? HNK_TRUST_KILLED : HNK_TRUST_CRASHED;
}

static int lock(int file, int how)
{
    int result;
    do
        result = flock(file, how);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Opens the file, or makes it and notes so. -1 and errno on failure. */
static int open_file(hnk__state *state, int directory)
{
    enum { FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    state->file = openat(directory, "state", FLAGS);
    if (state->file < 0 && errno == ENOENT) {
        state->file = openat(directory, "state", FLAGS | O_CREAT | O_EXCL, 0600);
        state->made = state->file >= 0;
        if (state->file < 0 && errno == EEXIST)
            state->file = openat(directory, "state", FLAGS);
    }
    return state->file;
}

/* Whether the file has been taken away since we opened it: by whoever made it, in a directory that was not his. */
static bool is_gone(int file)
{
    struct stat stat;
    return fstat(file, &stat) == 0 && stat.st_nlink == 0;
}

hnk_status hnk__state_open(hnk__state *state, int directory, hnk__trust *out, hnk_error *error)
{
    *state = (hnk__state){ .file = -1 };
    if (open_file(state, directory) < 0)
        return hnk__fail(error, hnk__from_errno(errno), errno, "opening the file \"state\"");

    for (;;) {
        if (lock(state->file, LOCK_EX | LOCK_NB) == 0) {
            if (is_gone(state->file)) {
                hnk__state_forget(state);
                if (open_file(state, directory) < 0)
                    return hnk__fail(error, hnk__from_errno(errno), errno, "opening the file \"state\"");
                continue;
            }
            state->exclusive = true;
            *out = judge(state, directory);
            return HNK_OK;
        }
        if (errno != EWOULDBLOCK || lock(state->file, LOCK_SH) != 0) {
            int os_error = errno;
            hnk__state_forget(state);
            return hnk__fail(error, hnk__from_errno(os_error), os_error, "locking the file \"state\"");
        }
        /* Whoever had it exclusively has let go. If it is marked open, the judgement was good; else he gave up, and
         * it is ours. */
        marker found;
        if (read_marker(state->file, &found) && (found.state == STATE_OPEN || found.state == STATE_SHARED)) {
            found.state = STATE_SHARED;
            write_marker(state->file, &found); /* failing, only the sweep at the next open is missed */
            *out = HNK_TRUST_SHARED;
            return HNK_OK;
        }
        lock(state->file, LOCK_UN);
    }
}

hnk_status hnk__state_mark_open(hnk__state *state)
{
    marker marked = { .state = STATE_OPEN };
    if (!state->exclusive)
        return HNK_OK;
    hnk__boot_identity(marked.boot);
    if (!write_marker(state->file, &marked))
        return errno == 0 ? HNK_ERROR_DISK_FULL : hnk__from_errno(errno);
    if (lock(state->file, LOCK_SH) != 0)
        return hnk__from_errno(errno);
    state->exclusive = false;
    return HNK_OK;
}

void hnk__state_close(hnk__state *state, int directory, bool synced, bool litter)
{
    marker found, marked = { .synced = synced };
    if (lock(state->file, LOCK_EX | LOCK_NB) == 0 && read_marker(state->file, &found)) {
        marked.state = found.state == STATE_SHARED || litter ? STATE_LEFT : STATE_CLOSED;
        hnk__boot_identity(marked.boot);
        if (describe_data(directory, &marked.data_bytes, &marked.data_changed_ns))
            write_marker(state->file, &marked); /* failing, the next open looks at the pages: slower, not wrong */
    }
    hnk__state_forget(state);
}

void hnk__state_undo(hnk__state *state, int directory)
{
    if (state->made && state->exclusive)
        unlinkat(directory, "state", 0);
    hnk__state_forget(state);
}

void hnk__state_forget(hnk__state *state)
{
    if (state->file >= 0)
        close(state->file);
    state->file = -1;
}
