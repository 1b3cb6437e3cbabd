/* slots.c: a bucket's file of slots. A hit is one relaxed store into a shared mapping, never a write transaction; which
 * key holds a slot, and what the bucket counts, are plain stores in the writers' turn. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(sizeof(_Atomic uint64_t) == 8, "DISK_FORMAT.md, slots: access times are plain 64-bit integers");
static_assert(sizeof(hnk__cell) == HNK_CELL_BYTES, "DISK_FORMAT.md, slots");
static_assert(offsetof(hnk__cell, key) == 16, "DISK_FORMAT.md, slots");
static_assert(sizeof(hnk__tally) == 128, "DISK_FORMAT.md, slots");
static_assert(offsetof(hnk__tally, slots) == 88, "DISK_FORMAT.md, slots");
static_assert(offsetof(hnk__slots_header, hits) == 32, "DISK_FORMAT.md, slots");
static_assert(offsetof(hnk__slots_header, tallies) == 128, "DISK_FORMAT.md, slots");
static_assert(sizeof(hnk__slots_header) <= HNK_SLOTS_HEADER_BYTES, "DISK_FORMAT.md, slots");

static const char magic[8] = { 'H', 'N', 'K', 'S', 'L', 'O', 'T', 'S' };

enum { VERSION = 1, GROUP_BYTES = HNK_SLOTS_GROUP * HNK_SLOT_BYTES };

void hnk__slots_name(char out[16], uint32_t bucket_id)
{
    snprintf(out, 16, "slots-%06x", (unsigned)(bucket_id & HNK_BUCKET_ID_MAX));
}

/* The file -------------------------------------------------------------------------------------------------------- */

static uint64_t bytes_for(uint32_t slots)
{
    uint64_t groups = ((uint64_t)slots + HNK_SLOTS_GROUP - 1) / HNK_SLOTS_GROUP;
    return HNK_SLOTS_HEADER_BYTES + groups * GROUP_BYTES;
}

static uint32_t slots_in(const hnk__slots *slots, off_t bytes)
{
    if (bytes < (off_t)HNK_SLOTS_HEADER_BYTES)
        return 0;
    uint64_t count = ((uint64_t)bytes - HNK_SLOTS_HEADER_BYTES) / GROUP_BYTES * HNK_SLOTS_GROUP;
    return count < slots->slots_max ? (uint32_t)count : slots->slots_max;
}

static bool header_is_ours(int file, uint32_t bucket_id, const uint8_t identity[16])
{
    hnk__slots_header header;
    struct stat stat;
    return fstat(file, &stat) == 0 && stat.st_size >= (off_t)HNK_SLOTS_HEADER_BYTES &&
           pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           memcmp(header.magic, magic, sizeof magic) == 0 && header.version == VERSION &&
           header.bucket_id == bucket_id && memcmp(header.identity, identity, 16) == 0;
}

static uint64_t tally_digest(const hnk__tally *tally)
{
    return hnk__digest(tally, offsetof(hnk__tally, digest), 0);
}

/* Word by word: whoever reads them beside a writer gets some of either, which the digest tells. */
static void load_words(void *out, const _Atomic uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word = atomic_load_explicit(&words[i], memory_order_relaxed);
        memcpy((char *)out + i * sizeof word, &word, sizeof word);
    }
}

static void store_words(_Atomic uint64_t *words, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const char *)from + i * sizeof word, sizeof word);
        atomic_store_explicit(&words[i], word, memory_order_relaxed);
    }
}

/* The later of two tallies, or the other if that was caught, or left, half written; *out_both tells whether both hold
 * and follow each other. False: neither holds. */
static bool newest_tally(const hnk__slots_header *header, hnk__tally *out, bool *out_both)
{
    hnk__tally even, odd;
    load_words(&even, header->tallies[0], HNK_TALLY_WORDS);
    load_words(&odd, header->tallies[1], HNK_TALLY_WORDS);
    bool even_holds = even.digest == tally_digest(&even) && even.sequence % 2 == 0;
    bool odd_holds = odd.digest == tally_digest(&odd) && odd.sequence % 2 == 1;
    *out_both = even_holds && odd_holds && (even.sequence == odd.sequence + 1 || odd.sequence == even.sequence + 1);
    if (!even_holds && !odd_holds)
        *out = (hnk__tally){ 0 };
    else if (even_holds && odd_holds)
        *out = odd.sequence > even.sequence ? odd : even;
    else
        *out = odd_holds ? odd : even;
    return even_holds || odd_holds;
}

/* Writes a new file, which holds nothing and belongs to no incarnation of its bucket. */
static bool initialize(int file, uint32_t bucket_id, const uint8_t identity[16])
{
    hnk__slots_header header;
    hnk__tally nothing = { 0 };
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    header.version = VERSION;
    header.bucket_id = bucket_id;
    memcpy(header.identity, identity, 16);
    for (; nothing.sequence < 2; nothing.sequence++) {
        nothing.digest = tally_digest(&nothing);
        memcpy((void *)header.tallies[nothing.sequence], &nothing, sizeof nothing);
    }
    return hnk__reserve(file, 0, HNK_SLOTS_HEADER_BYTES) &&
           pwrite(file, &header, sizeof header, 0) == (ssize_t)sizeof header;
}

/* Opens or makes the file, under its lock, so that of several openers one makes it. -1 and errno on failure. */
static int open_file(int directory, const char *name, uint32_t bucket_id, const uint8_t identity[16])
{
    for (int attempt = 0; attempt < 3; attempt++) {
        struct stat named, opened;
        int file = openat(directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (file < 0)
            return -1;
        int locked;
        do
            locked = flock(file, LOCK_EX);
        while (locked != 0 && errno == EINTR);
        bool same = locked == 0 && fstat(file, &opened) == 0 && fstatat(directory, name, &named, 0) == 0 &&
                    named.st_ino == opened.st_ino;
        if (same && opened.st_size == 0) {
            if (initialize(file, bucket_id, identity)) {
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

hnk_status hnk__slots_open(
    hnk__slots *slots, int directory, uint32_t bucket_id, const uint8_t identity[16], uint64_t map_bytes)
{
    char name[16];
    struct stat stat;

    slots->file = -1;
    slots->header = NULL;
    slots->groups = NULL;
    atomic_init(&slots->covered, 0);
    pthread_mutex_init(&slots->growing, NULL);
    uint64_t most = map_bytes / HNK_SLOTS_MAP_BYTES;
    slots->slots_max = most > HNK_SLOTS_MAX ? HNK_SLOTS_MAX : most < HNK_SLOTS_MIN ? HNK_SLOTS_MIN : (uint32_t)most;
    slots->slots_max -= slots->slots_max % HNK_SLOTS_GROUP;

    hnk__slots_name(name, bucket_id);
    slots->file = open_file(directory, name, bucket_id, identity);
    if (slots->file < 0)
        return errno == ENOENT ? HNK_ERROR_DIRECTORY_GONE : hnk__from_errno(errno);
    /* Address space for every slot there can be, so that the mapping never moves; pages past the file's end are not
     * touched. */
    slots->mapped_bytes = (size_t)bytes_for(slots->slots_max);
    void *mapping = mmap(NULL, slots->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slots->file, 0);
    if (mapping == MAP_FAILED)
        return hnk__from_errno(errno);
    slots->header = mapping;
    slots->groups = (char *)mapping + HNK_SLOTS_HEADER_BYTES;
    if (fstat(slots->file, &stat) != 0)
        return hnk__from_errno(errno);
    atomic_store(&slots->covered, slots_in(slots, stat.st_size));
    return HNK_OK;
}

void hnk__slots_close(hnk__slots *slots)
{
    if (slots->header != NULL)
        munmap(slots->header, slots->mapped_bytes);
    if (slots->file >= 0)
        close(slots->file);
    slots->header = NULL;
    slots->file = -1;
    pthread_mutex_destroy(&slots->growing);
}

uint32_t hnk__slots_refresh(hnk__slots *slots)
{
    struct stat stat;
    if (fstat(slots->file, &stat) == 0)
        atomic_store(&slots->covered, slots_in(slots, stat.st_size));
    return atomic_load(&slots->covered);
}

bool hnk__slots_cover(hnk__slots *slots, uint32_t count)
{
    if (count <= atomic_load_explicit(&slots->covered, memory_order_acquire))
        return true;
    if (count > slots->slots_max)
        return false;
    pthread_mutex_lock(&slots->growing);
    uint32_t covered = hnk__slots_refresh(slots);
    bool grown = count <= covered ||
                 (hnk__reserve(slots->file, bytes_for(covered), bytes_for(count) - bytes_for(covered)) &&
                  count <= hnk__slots_refresh(slots));
    pthread_mutex_unlock(&slots->growing);
    return grown;
}

bool hnk__slots_reach(hnk__slots *slots, uint32_t count)
{
    return count == 0 || hnk__slots_covers(slots, count - 1);
}

bool hnk__slots_are_gone(const hnk__slots *slots)
{
    struct stat stat;
    return fstat(slots->file, &stat) == 0 && stat.st_nlink == 0;
}

hnk_status hnk__slots_sync(hnk__slots *slots)
{
    return fsync(slots->file) == 0 ? HNK_OK : hnk__from_errno(errno);
}

bool hnk__slots_peek(int directory, uint32_t bucket_id, hnk__tally *out)
{
    char name[16];
    hnk__slots_header header;
    hnk__slots_name(name, bucket_id);
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    bool whole = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header;
    close(file);
    bool both;
    return whole && newest_tally(&header, out, &both);
}

/* Access times ---------------------------------------------------------------------------------------------------- */

uint64_t hnk__slots_now(uint32_t slots)
{
    return hnk__now_ns(slots <= HNK_EXACT_SLOTS_MAX) & ~(uint64_t)HNK_STAMP_READ;
}

/* Counts ---------------------------------------------------------------------------------------------------------- */

bool hnk__slots_tally(const hnk__slots *slots, hnk__tally *out)
{
    bool both;
    return newest_tally(slots->header, out, &both) && both;
}

bool hnk__slots_tally_left(const hnk__slots *slots, hnk__tally *out)
{
    bool both;
    return newest_tally(slots->header, out, &both);
}

void hnk__slots_tally_put(hnk__slots *slots, hnk__tally *tally)
{
    tally->sequence++;
    tally->digest = tally_digest(tally);
    store_words(slots->header->tallies[tally->sequence % 2], tally, HNK_TALLY_WORDS);
}

void hnk__tally_empty(hnk__tally *tally)
{
    tally->entries = tally->charged_bytes = tally->payload_bytes = tally->blob_bytes = 0;
    tally->slots = tally->free_slot = tally->oldest = tally->newest = tally->hand = 0;
}

/* Cells ----------------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t *cell_at(const hnk__slots *slots, uint32_t slot)
{
    size_t group = (size_t)(slot / HNK_SLOTS_GROUP) * GROUP_BYTES;
    size_t stamps = HNK_SLOTS_GROUP * sizeof(uint64_t);
    return (_Atomic uint64_t *)(void *)(slots->groups + group + stamps + slot % HNK_SLOTS_GROUP * HNK_CELL_BYTES);
}

hnk__cell hnk__cell_get(const hnk__slots *slots, uint32_t slot)
{
    hnk__cell cell;
    load_words(&cell, cell_at(slots, slot), HNK_CELL_WORDS);
    return cell;
}

/* Its use, its size, and its neighbours; the key's bytes stay. */
void hnk__cell_put_head(hnk__slots *slots, uint32_t slot, const hnk__cell *cell)
{
    store_words(cell_at(slots, slot), cell, offsetof(hnk__cell, key) / sizeof(uint64_t));
}

void hnk__cell_set_use(hnk__slots *slots, uint32_t slot, uint8_t use)
{
    hnk__cell cell = hnk__cell_get(slots, slot);
    cell.use = use;
    hnk__cell_put_head(slots, slot, &cell);
}

void hnk__cell_write_key(hnk__slots *slots, const uint32_t *into, hnk_bytes stored)
{
    uint32_t count = hnk__cells_for(stored.size);
    for (uint32_t i = 0; i < count; i++) {
        size_t done = (size_t)i * HNK_CELL_KEY_BYTES;
        size_t step = stored.size - done < HNK_CELL_KEY_BYTES ? stored.size - done : HNK_CELL_KEY_BYTES;
        hnk__cell cell = { .use = i == 0 ? HNK_CELL_ENTRY : HNK_CELL_MORE,
                           .size = i == 0 ? (uint16_t)stored.size : 0,
                           .next = i + 1 < count ? into[i + 1] + 1 : 0 };
        memcpy(cell.key, (const char *)stored.data + done, step);
        store_words(cell_at(slots, into[i]), &cell,
                    (offsetof(hnk__cell, key) + step + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    }
}

/* How many cells a stored key takes: one at least. */
uint32_t hnk__cells_for(size_t stored_bytes)
{
    size_t cells = (stored_bytes + HNK_CELL_KEY_BYTES - 1) / HNK_CELL_KEY_BYTES;
    return cells > 0 ? (uint32_t)cells : 1u;
}

bool hnk__cell_key(hnk__slots *slots, uint32_t bucket_id, uint32_t slot, hnk__key *out)
{
    uint8_t stored[HNK_KEY_STORED_MAX_BYTES];

    if (!hnk__slots_covers(slots, slot))
        return false;
    hnk__cell cell = hnk__cell_get(slots, slot);
    size_t size = cell.size;
    if (cell.use != HNK_CELL_ENTRY || size == 0 || size > HNK_KEY_STORED_MAX_BYTES)
        return false;
    for (size_t done = 0;;) {
        size_t step = size - done < HNK_CELL_KEY_BYTES ? size - done : HNK_CELL_KEY_BYTES;
        memcpy(stored + done, cell.key, step);
        if ((done += step) == size)
            break;
        if (cell.next == 0 || !hnk__slots_covers(slots, cell.next - 1))
            return false;
        cell = hnk__cell_get(slots, cell.next - 1);
        if (cell.use != HNK_CELL_MORE)
            return false;
    }
    hnk__key_row(out, HNK_TABLE_RECORD, bucket_id, (hnk_bytes){ stored, size });
    return true;
}
