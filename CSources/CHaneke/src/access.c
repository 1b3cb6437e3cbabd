/* access.c: the file of access times. A hit is one relaxed store into a shared mapping, never a write transaction. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(sizeof(_Atomic uint64_t) == 8, "the stamps of docs/DISK_FORMAT.md are plain 64-bit integers");

static const char magic[8] = { 'H', 'N', 'K', 'A', 'C', 'C', 'E', 'S' };

enum { VERSION = 1, STAMP_UNKNOWN = 1 };

void hnk__access_name(char out[16], uint32_t bucket_id)
{
    snprintf(out, 16, "access-%06x", (unsigned)(bucket_id & HNK_BUCKET_ID_MAX));
}

static uint64_t bytes_for(uint32_t slots)
{
    uint64_t chunks = ((uint64_t)slots + HNK_ACCESS_CHUNK_SLOTS - 1) / HNK_ACCESS_CHUNK_SLOTS;
    return HNK_ACCESS_HEADER_BYTES + (chunks > 0 ? chunks : 1) * HNK_ACCESS_CHUNK_SLOTS * sizeof(uint64_t);
}

static uint32_t slots_in(off_t bytes)
{
    if (bytes < (off_t)HNK_ACCESS_HEADER_BYTES)
        return 0;
    uint64_t slots = ((uint64_t)bytes - HNK_ACCESS_HEADER_BYTES) / sizeof(uint64_t);
    return slots < HNK_SLOTS_MAX ? (uint32_t)slots : HNK_SLOTS_MAX;
}

static bool header_is_ours(int file, uint32_t bucket_id, const uint8_t identity[16])
{
    hnk__access_header header;
    return pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           memcmp(header.magic, magic, sizeof magic) == 0 && header.version == VERSION &&
           header.bucket_id == bucket_id && memcmp(header.identity, identity, 16) == 0;
}

/* Writes a new file: every slot in use is of unknown age. */
static bool initialize(int file, uint32_t bucket_id, const uint8_t identity[16], uint32_t slots)
{
    hnk__access_header header = { .version = VERSION, .bucket_id = bucket_id };
    uint64_t unknown[512];
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.identity, identity, 16);
    if (!hnk__reserve(file, 0, bytes_for(slots)))
        return false;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        unknown[i] = STAMP_UNKNOWN;
    for (uint64_t done = 0; done < slots;) {
        uint64_t step = slots - done < 512 ? slots - done : 512;
        off_t at = (off_t)(HNK_ACCESS_HEADER_BYTES + done * sizeof *unknown);
        if (pwrite(file, unknown, step * sizeof *unknown, at) != (ssize_t)(step * sizeof *unknown))
            return false;
        done += step;
    }
    return pwrite(file, &header, sizeof header, 0) == (ssize_t)sizeof header;
}

/* Opens or makes the file, under its lock, so that of several openers one makes it. -1 and errno on failure. */
static int open_file(int directory, const char *name, uint32_t bucket_id, const uint8_t identity[16], uint32_t slots)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        struct stat named, opened;
        int file = openat(directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0)
            return -1;
        int locked;
        do
            locked = flock(file, LOCK_EX);
        while (locked != 0 && errno == EINTR);
        bool same = locked == 0 && fstat(file, &opened) == 0 && fstatat(directory, name, &named, 0) == 0 &&
                    named.st_ino == opened.st_ino;
        if (same && opened.st_size == 0) {
            if (initialize(file, bucket_id, identity, slots)) {
                flock(file, LOCK_UN);
                return file;
            }
            int os_error = errno;
            unlinkat(directory, name, 0);
            close(file);
            errno = os_error;
            return -1;
        }
        if (same && header_is_ours(file, bucket_id, identity)) {
            flock(file, LOCK_UN);
            return file;
        }
        /* Foreign or torn: it is replaced, not truncated, for truncating would be a SIGBUS to whoever has it mapped. */
        if (same)
            unlinkat(directory, name, 0);
        close(file);
    }
    errno = EIO;
    return -1;
}

hnk_status hnk__access_open(
    hnk__access *access, int directory, uint32_t bucket_id, const uint8_t identity[16], uint32_t slots)
{
    char name[16];
    struct stat stat;

    access->file = -1;
    access->header = NULL;
    access->stamps = NULL;
    atomic_init(&access->slots, 0);
    pthread_mutex_init(&access->growing, NULL);

    hnk__access_name(name, bucket_id);
    access->file = open_file(directory, name, bucket_id, identity, slots);
    if (access->file < 0)
        return errno == EMFILE || errno == ENFILE ? HNK_ERROR_IO : hnk__from_errno(errno);
    /* Address space for every slot there can be, so that the mapping never moves; pages past the file's end are not
     * touched. */
    access->mapped_bytes = HNK_ACCESS_HEADER_BYTES + (size_t)HNK_SLOTS_MAX * sizeof(uint64_t);
    void *mapping = mmap(NULL, access->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, access->file, 0);
    if (mapping == MAP_FAILED)
        return hnk__from_errno(errno);
    if (fstat(access->file, &stat) != 0)
        return hnk__from_errno(errno);
    access->header = mapping;
    access->stamps = (_Atomic uint64_t *)((char *)mapping + HNK_ACCESS_HEADER_BYTES);
    atomic_store(&access->slots, slots_in(stat.st_size));
    return hnk__access_grow(access, slots) ? HNK_OK : HNK_ERROR_DISK_FULL;
}

void hnk__access_close(hnk__access *access)
{
    if (access->header != NULL)
        munmap(access->header, access->mapped_bytes);
    if (access->file >= 0)
        close(access->file);
    access->header = NULL;
    access->file = -1;
    pthread_mutex_destroy(&access->growing);
}

/* Looks whether another process has made the file longer. */
static uint32_t refresh(hnk__access *access)
{
    struct stat stat;
    if (fstat(access->file, &stat) == 0)
        atomic_store(&access->slots, slots_in(stat.st_size));
    return atomic_load(&access->slots);
}

bool hnk__access_grow(hnk__access *access, uint32_t slots)
{
    if (slots <= atomic_load_explicit(&access->slots, memory_order_acquire))
        return true;
    pthread_mutex_lock(&access->growing);
    bool grown = slots <= refresh(access) ||
                 (hnk__reserve(access->file, 0, bytes_for(slots)) && slots <= refresh(access));
    pthread_mutex_unlock(&access->growing);
    return grown;
}

void hnk__access_stamp(hnk__access *access, uint32_t slot, uint64_t ns)
{
    if (slot < atomic_load_explicit(&access->slots, memory_order_acquire) || slot < refresh(access))
        atomic_store_explicit(&access->stamps[slot], ns, memory_order_relaxed);
}

uint64_t hnk__access_read(hnk__access *access, uint32_t slot)
{
    if (slot < atomic_load_explicit(&access->slots, memory_order_acquire) || slot < refresh(access))
        return atomic_load_explicit(&access->stamps[slot], memory_order_relaxed);
    return 0;
}

uint64_t hnk__access_now(uint32_t slots)
{
    return hnk__now_ns(slots <= HNK_EXACT_SLOTS_MAX);
}
