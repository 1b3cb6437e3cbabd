/* search.c: finds one row in a reader's snapshot, straight in LMDB's pages.
 *
 * It does what mdb_get() does, with two differences. A binary search that misses the processor's caches waits for
 * memory once a step; here the nodes of the next step are asked for while this one's is still on its way. And nothing
 * that a page says is used before it is checked, so a page that has gone bad since the store was opened makes an error,
 * where mdb_get() would follow it out of the map. */
#include "pages.h"

#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 64 }; /* of cache; where it is not, it is a little slower */

/* The root as transaction `txn` left it, from its meta page. A writer may be putting a later transaction's there: that
 * does as well, since nothing that a reader of `txn` or of any later one may see is used again while this reader is
 * there. (mdb_txn_renew() itself relies on that.) */
static uint64_t root_of(const hnk__map *map, uint64_t txn)
{
    const uint8_t *meta = map->bytes + txn % HNK_LMDB_METAS * map->page_bytes + sizeof(hnk__lmdb_page);
    const uint8_t *root = meta + offsetof(hnk__lmdb_meta, main) + offsetof(hnk__lmdb_tree, root);
    return *(const volatile uint64_t *)(const void *)root; /* in one piece */
}

/* Whether the file holds these pages: mapped ones past its end must not be touched. */
static bool reaches(hnk__map *map, uint64_t first, uint64_t count)
{
    uint64_t pages = atomic_load_explicit(&map->file_pages, memory_order_relaxed);
    struct stat stat;

    if (first >= HNK_LMDB_METAS && count <= pages && first <= pages - count)
        return true;
    if (first < HNK_LMDB_METAS || fstat(map->file, &stat) != 0)
        return false;
    pages = (uint64_t)stat.st_size / map->page_bytes; /* it has grown */
    atomic_store_explicit(&map->file_pages, pages, memory_order_relaxed);
    return count <= pages && first <= pages - count;
}

typedef struct page {
    const uint8_t *bytes;
    size_t size;
    size_t lower;
    size_t count; /* of nodes */
} page;

static size_t pointer(const page *page, size_t index)
{
    uint16_t pointer;
    memcpy(&pointer, page->bytes + sizeof(hnk__lmdb_page) + index * sizeof pointer, sizeof pointer);
    return pointer;
}

/* Asks for the beginning of a node. */
static void expect(const page *page, size_t index)
{
    const uint8_t *node = page->bytes + (pointer(page, index) & (page->size - 1));
    __builtin_prefetch(node);
    __builtin_prefetch(node + LINE_BYTES);
}

/* Node `index`; NULL if it, with its key, does not lie in the page. */
static const uint8_t *node_at(const page *page, size_t index, hnk__lmdb_node *out)
{
    size_t offset = pointer(page, index);
    if (offset < page->lower || offset > page->size - sizeof *out)
        return NULL;
    memcpy(out, page->bytes + offset, sizeof *out);
    return out->key_bytes <= page->size - sizeof *out - offset ? page->bytes + offset : NULL;
}

static int compare(const hnk__key *key, const uint8_t *other, size_t other_bytes)
{
    int order = memcmp(key->bytes, other, key->size < other_bytes ? key->size : other_bytes);
    return order != 0 ? order : (key->size > other_bytes) - (key->size < other_bytes);
}

/* The first node from `from` on whose key is above, or with `*out_equal` equal to, the key. */
static hnk_status search_page(const page *page, size_t from, const hnk__key *key, size_t *out_index, bool *out_equal)
{
    size_t low = from, high = page->count;

    *out_equal = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        hnk__lmdb_node head;
        expect(page, low + (middle - low) / 2);
        if (middle + 1 < high)
            expect(page, middle + 1 + (high - middle - 1) / 2);
        const uint8_t *node = node_at(page, middle, &head);
        if (node == NULL)
            return HNK_ERROR_DAMAGED_STORE;
        int order = compare(key, node + sizeof head, head.key_bytes);
        if (order == 0) {
            *out_index = middle;
            *out_equal = true;
            return HNK_OK;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    *out_index = low;
    return HNK_OK;
}

/* The key and the data of a leaf's node. */
static hnk_status data_of(hnk__map *map, const page *page, size_t index, hnk_bytes *out_key, hnk_bytes *out)
{
    hnk__lmdb_node head;
    const uint8_t *node = node_at(page, index, &head);
    if (node == NULL) /* it was one a moment ago */
        return HNK_ERROR_DAMAGED_STORE;
    const uint8_t *data = node + sizeof head + head.key_bytes;
    *out_key = (hnk_bytes){ node + sizeof head, head.key_bytes };
    size_t left = page->size - (size_t)(data - page->bytes), size = head.low | (size_t)head.high << 16;

    if ((head.flags & HNK_LMDB_BIG) == 0) {
        *out = (hnk_bytes){ data, size };
        return size <= left ? HNK_OK : HNK_ERROR_DAMAGED_STORE;
    }
    if (left < sizeof(uint64_t))
        return HNK_ERROR_DAMAGED_STORE;
    uint64_t first = hnk__load_64(data), pages = (size + sizeof(hnk__lmdb_page) + page->size - 1) / page->size;
    if (!reaches(map, first, pages))
        return HNK_ERROR_DAMAGED_STORE;
    *out = (hnk_bytes){ map->bytes + first * page->size + sizeof(hnk__lmdb_page), size };
    return HNK_OK;
}

hnk_status hnk__search(hnk__map *map, uint64_t txn, const hnk__key *key, hnk_bytes *out_key, hnk_bytes *out_row)
{
    uint64_t number = root_of(map, txn);

    if (number == HNK_LMDB_NONE)
        return HNK_NOT_FOUND;
    for (unsigned depth = 0; depth < HNK_LMDB_DEPTH_MAX; depth++) {
        hnk__lmdb_page head;
        hnk__lmdb_node node;
        page page = { map->bytes + number * map->page_bytes, map->page_bytes, 0, 0 };
        size_t index;
        bool equal;
        hnk_status status;

        if (!reaches(map, number, 1))
            return HNK_ERROR_DAMAGED_STORE;
        __builtin_prefetch(page.bytes + LINE_BYTES);
        memcpy(&head, page.bytes, sizeof head);
        bool leaf = head.flags == HNK_LMDB_LEAF;
        if (head.number != number || (!leaf && head.flags != HNK_LMDB_BRANCH) || head.lower > page.size ||
            head.lower < sizeof head + (leaf ? 0 : sizeof(uint16_t)))
            return HNK_ERROR_DAMAGED_STORE;
        page.lower = head.lower;
        page.count = (head.lower - sizeof head) / sizeof(uint16_t);
        /* A branch's first key stands for all below the second, and is empty. */
        if ((status = search_page(&page, leaf ? 0 : 1, key, &index, &equal)) != HNK_OK)
            return status;
        if (leaf)
            return equal ? data_of(map, &page, index, out_key, out_row) : HNK_NOT_FOUND;
        if (node_at(&page, equal ? index : index - 1, &node) == NULL)
            return HNK_ERROR_DAMAGED_STORE;
        number = node.low | (uint32_t)node.high << 16 | (uint64_t)node.flags << 32;
    }
    return HNK_ERROR_DAMAGED_STORE;
}

bool hnk__map_find(hnk__map *out, const void *inside, size_t page_bytes, int file)
{
    uint8_t beginning[HNK_LMDB_PAGE_MIN_BYTES];
    uintptr_t page = (uintptr_t)inside & ~(uintptr_t)(page_bytes - 1);
    hnk__lmdb_page head;
    hnk__lmdb_meta meta;

    if (sizeof(size_t) != sizeof head.number) /* whose page numbers are of another size */
        return false;
    /* The page says where it lies; a damaged one lies. */
    memcpy(&head, (const void *)page, sizeof head);
    if (head.number > (uint64_t)INT64_MAX / page_bytes ||
        pread(file, beginning, sizeof beginning, (off_t)(head.number * page_bytes)) != (ssize_t)sizeof beginning ||
        memcmp(beginning, (const void *)page, sizeof beginning) != 0)
        return false;
    out->bytes = (const uint8_t *)(page - head.number * page_bytes);
    out->page_bytes = page_bytes;
    out->file = file;
    atomic_init(&out->file_pages, 0);
    memcpy(&meta, out->bytes + sizeof head, sizeof meta);
    return meta.magic == HNK_LMDB_MAGIC && meta.version == HNK_LMDB_VERSION;
}
