/* pages.c: reads LMDB's file without LMDB, which trusts every byte of it: damage makes LMDB abort, fault or lose
 * keys silently. What passes this walk, LMDB can read and write.
 *
 * The file is mapped: copying it out with pread() takes five times as long. No page beyond the size that the
 * file has at the start is touched. The caller holds the store alone, and LMDB never makes its file shorter, so
 * that only a stranger who cuts it off meanwhile, or a disk that can't be read, can raise SIGBUS: the same that
 * would happen to LMDB a moment later. */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool hnk__walk_fault(hnk__walk *walk, const char *format, ...)
{
    va_list arguments;

    if (walk->report->sound) {
        va_start(arguments, format);
        (void)vsnprintf(walk->report->fault, sizeof walk->report->fault, format, arguments);
        va_end(arguments);
    }
    walk->report->sound = false;
    return false;
}

bool hnk__walk_is_over(const hnk__walk *walk)
{
    return walk->status != HNK_OK || (!walk->report->sound && walk->visit == NULL);
}

bool hnk__walk_claim(hnk__walk *walk, uint64_t first, uint64_t count)
{
    if (first < HNK_LMDB_METAS || first > walk->meta.last_page || count > walk->meta.last_page - first + 1)
        return false;
    for (uint64_t page = first; page < first + count; page++) {
        uint64_t bit = UINT64_C(1) << page % 64;

        if ((walk->claimed[page / 64] & bit) != 0)
            return false;
        walk->claimed[page / 64] |= bit;
    }
    return true;
}

static void give_row(hnk__walk *walk, uint64_t page, hnk_bytes key, hnk_bytes data)
{
    (void)page;
    walk->report->rows++;
    walk->status = walk->visit(walk->context, key, data);
}

static bool page_size_holds(uint64_t bytes)
{
    return bytes >= HNK_LMDB_PAGE_MIN_BYTES && bytes <= HNK_LMDB_PAGE_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

/* The meta page at `offset`; false: there is none. */
static bool meta_read(const hnk__walk *walk, uint64_t offset, hnk__lmdb_page *out_head, hnk__lmdb_meta *out)
{
    if (offset > walk->file_bytes || walk->file_bytes - offset < sizeof *out_head + sizeof *out)
        return false;
    memcpy(out_head, walk->bytes + offset, sizeof *out_head);
    memcpy(out, walk->bytes + offset + sizeof *out_head, sizeof *out);
    return out->magic == HNK_LMDB_MAGIC;
}

/* Whether a tree is empty or its root lies in the file. Of one cut short the other meta page's may. */
static bool root_holds(const hnk__walk *walk, const hnk__lmdb_meta *meta, uint64_t root)
{
    return root == HNK_LMDB_NONE || (root >= HNK_LMDB_METAS && root <= meta->last_page &&
                                     root < walk->file_bytes / meta->free.pad);
}

/* What is wrong with meta page `slot`, which stands at `offset`; NULL: nothing. */
static const char *meta_fault(const hnk__walk *walk, unsigned slot, uint64_t offset, hnk__lmdb_meta *out)
{
    hnk__lmdb_page head;
    uint64_t pages_max;

    if (!meta_read(walk, offset, &head, out))
        return "is none";
    if (head.number != slot || head.flags != HNK_LMDB_META)
        return "has a wrong header";
    if (out->version != HNK_LMDB_VERSION)
        return "has another version";
    if (!page_size_holds(out->free.pad) || (slot == 1 && out->free.pad != offset))
        return "has a wrong page size";
    /* The last pages may be missing if they are free; but then each has its number in a list of free pages. */
    pages_max = walk->file_bytes / out->free.pad + walk->file_bytes / sizeof(uint64_t);
    if (out->last_page < HNK_LMDB_METAS - 1 || out->last_page >= pages_max)
        return "has a wrong last page";
    if (!root_holds(walk, out, out->free.root) || !root_holds(walk, out, out->main.root))
        return "has a root outside the file";
    if (out->txn != 0 && out->txn % HNK_LMDB_METAS != slot)
        return "has a transaction of the other's";
    return NULL;
}

/* Nothing but zeros is what a crash leaves of a new file whose blocks never reached the disk. */
static bool is_blank(const hnk__walk *walk)
{
    uint64_t size = walk->file_bytes < HNK_LMDB_PAGE_MAX_BYTES ? walk->file_bytes : HNK_LMDB_PAGE_MAX_BYTES;

    for (uint64_t i = 0; i < size; i++)
        if (walk->bytes[i] != 0)
            return false;
    return true;
}

/* No meta page can be used: whether this is at least a damaged file of LMDB 0.9, and not another program's. */
static hnk_status foreign_or_damaged(const hnk__walk *walk)
{
    static const uint32_t ours[] = { HNK_LMDB_MAGIC, HNK_LMDB_VERSION };
    bool damaged = is_blank(walk);

    for (uint64_t page = 0; page <= HNK_LMDB_PAGE_MAX_BYTES; page = page == 0 ? HNK_LMDB_PAGE_MIN_BYTES : page * 2) {
        uint64_t offset = page + sizeof(hnk__lmdb_page);

        damaged = damaged ||
            (walk->file_bytes >= offset + sizeof ours && memcmp(walk->bytes + offset, ours, sizeof ours) == 0);
    }
    return damaged ? HNK_OK : HNK_ERROR_NOT_A_STORE;
}

/* Chooses the snapshot. False: there is none that can be walked. */
static bool meta_choose(hnk__walk *walk)
{
    hnk__lmdb_meta metas[HNK_LMDB_METAS];
    const char *faults[HNK_LMDB_METAS];
    unsigned newer;

    faults[0] = meta_fault(walk, 0, 0, &metas[0]);
    if (faults[0] == NULL) {
        faults[1] = meta_fault(walk, 1, metas[0].free.pad, &metas[1]);
    } else { /* which leaves the size of pages unknown */
        uint64_t size = HNK_LMDB_PAGE_MIN_BYTES;

        while ((faults[1] = meta_fault(walk, 1, size, &metas[1])) != NULL && size < HNK_LMDB_PAGE_MAX_BYTES)
            size *= 2;
    }
    for (unsigned slot = 0; slot < HNK_LMDB_METAS; slot++)
        if (faults[slot] != NULL) /* LMDB insists on both */
            (void)hnk__walk_fault(walk, "meta page %u %s", slot, faults[slot]);
    if (faults[0] != NULL && faults[1] != NULL) {
        walk->status = foreign_or_damaged(walk);
        return false;
    }
    if (faults[0] != NULL || faults[1] != NULL)
        newer = faults[0] != NULL ? 1 : 0;
    else
        newer = metas[0].txn < metas[1].txn ? 1 : 0; /* mdb_env_pick_meta() */
    walk->meta = metas[newer];
    walk->page_bytes = walk->meta.free.pad;
    walk->file_pages = walk->file_bytes / walk->page_bytes;
    /* Each transaction writes one, in turn. In a new file both are 0. */
    if (faults[0] == NULL && faults[1] == NULL && walk->meta.txn - metas[1 - newer].txn > 1)
        (void)hnk__walk_fault(walk, "meta pages of transactions %llu and %llu: at least one was lost",
            (unsigned long long)metas[0].txn, (unsigned long long)metas[1].txn);
    return true;
}

static void metas_check(hnk__walk *walk)
{
    (void)meta_choose(walk);
}

static void snapshot_walk(hnk__walk *walk)
{
    const hnk__tree_kind main_tree = { "main", false, walk->visit != NULL ? give_row : NULL };
    const hnk__tree_kind free_tree = { "free", true, hnk__walk_free_row };
    uint64_t words;

    if (!meta_choose(walk) || hnk__walk_is_over(walk))
        return;
    words = walk->meta.last_page / 64 + 1;
    if (words > SIZE_MAX / sizeof *walk->claimed ||
        (walk->claimed = calloc((size_t)words, sizeof *walk->claimed)) == NULL) {
        walk->status = HNK_ERROR_MEMORY;
        return;
    }
    /* The main tree first: a damaged list of free pages must not take pages away from it. */
    hnk__walk_tree(walk, &walk->meta.main, &main_tree);
    walk->visit = NULL;
    if (!hnk__walk_is_over(walk))
        hnk__walk_tree(walk, &walk->meta.free, &free_tree);
    if (!hnk__walk_is_over(walk) && walk->used + walk->free != walk->meta.last_page + 1 - HNK_LMDB_METAS)
        (void)hnk__walk_fault(walk, "of %llu pages %llu are used and %llu free",
            (unsigned long long)(walk->meta.last_page + 1 - HNK_LMDB_METAS), (unsigned long long)walk->used,
            (unsigned long long)walk->free);
}

/* Maps the file and has `look` at it. */
static hnk_status look_at(
    const char *path, void (*look)(hnk__walk *walk), hnk__pages_visit visit, void *context, hnk__pages_report *out)
{
    hnk__walk walk = { .visit = visit, .context = context, .report = out, .status = HNK_OK };
    struct stat known;
    void *map = MAP_FAILED;
    int file;

    assert(path != NULL && out != NULL);
    *out = (hnk__pages_report){ .sound = true };
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* NONBLOCK: should it be a pipe */
    if (file < 0 || fstat(file, &known) != 0) {
        walk.status = hnk__from_errno(errno);
        goto done;
    }
    if (!S_ISREG(known.st_mode)) {
        (void)hnk__walk_fault(&walk, "no file");
        walk.status = HNK_ERROR_NOT_A_STORE;
        goto done;
    }
    /* LMDB takes an empty file for a new one. Where size_t has 32 bits its structures are others: not walked. */
    if (known.st_size == 0 || sizeof(size_t) < sizeof(uint64_t))
        goto done;
    walk.file_bytes = (uint64_t)known.st_size;
    map = mmap(NULL, (size_t)walk.file_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) {
        walk.status = hnk__from_errno(errno);
        goto done;
    }
    walk.bytes = map;
    look(&walk);
    out->pages = walk.used;
done:
    free(walk.claimed);
    if (map != MAP_FAILED)
        (void)munmap(map, (size_t)walk.file_bytes);
    if (file >= 0)
        (void)close(file);
    return walk.status;
}

hnk_status hnk__pages_walk(const char *path, hnk__pages_visit visit, void *context, hnk__pages_report *out)
{
    return look_at(path, snapshot_walk, visit, context, out);
}

bool hnk__pages_metas_hold(const char *path)
{
    hnk__pages_report report;
    return look_at(path, metas_check, NULL, NULL, &report) == HNK_OK && report.sound;
}
