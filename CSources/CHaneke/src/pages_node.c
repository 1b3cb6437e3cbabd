/* pages_node.c: what one branch or leaf page of LMDB holds, and whether it holds. */
#include "pages.h"

static size_t pointer_at(const hnk__tree_page *page, size_t index)
{
    uint16_t pointer;

    memcpy(&pointer, page->bytes + sizeof(hnk__lmdb_page) + index * sizeof pointer, sizeof pointer);
    return pointer;
}

/* The node at `offset`, if it lies between `first` and the end of the page. Everything is read once, then checked. */
static bool node_at(const hnk__walk *walk, const hnk__tree_page *page, size_t offset, size_t first, hnk__node *out)
{
    hnk__lmdb_node head;
    uint64_t size = sizeof head;

    if (offset % 2 != 0 || offset < first || offset > walk->page_bytes - sizeof head)
        return false;
    memcpy(&head, page->bytes + offset, sizeof head);
    *out = (hnk__node){ .key = { page->bytes + offset + sizeof head, head.key_bytes } };
    size += head.key_bytes;
    if (page->leaf) {
        out->data = page->bytes + offset + size;
        out->data_bytes = head.low | (uint32_t)head.high << 16;
        out->flags = head.flags;
        size += (head.flags & HNK_LMDB_BIG) != 0 ? sizeof(uint64_t) : out->data_bytes;
    } else {
        out->child = head.low | (uint32_t)head.high << 16 | (uint64_t)head.flags << 32;
    }
    if (size > walk->page_bytes - offset)
        return false;
    out->bytes = (size_t)(size + size % 2); /* both ends are even: it still fits */
    return true;
}

static int key_compare(const hnk__tree_kind *kind, hnk_bytes a, hnk_bytes b)
{
    int order;

    if (kind->transactions) {
        uint64_t x = hnk__load_64(a.data), y = hnk__load_64(b.data);

        return (x > y) - (x < y);
    }
    order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static bool key_size_holds(const hnk__tree_kind *kind, size_t size)
{
    return kind->transactions ? size == sizeof(uint64_t) : size >= 1 && size <= HNK_ROW_KEY_MAX_BYTES;
}

bool hnk__key_holds(const hnk__tree_kind *kind, hnk_bytes key, hnk__key_range range)
{
    return key_size_holds(kind, key.size) && (range.low.data == NULL || key_compare(kind, key, range.low) >= 0) &&
        (range.high.data == NULL || key_compare(kind, key, range.high) < 0);
}

bool hnk__tree_page_open(hnk__walk *walk, const hnk__tree_kind *kind, uint64_t number, hnk__tree_page *out)
{
    hnk__lmdb_page head;
    unsigned long long told = number;

    if (number < HNK_LMDB_METAS || number > walk->meta.last_page || number >= walk->file_pages)
        return hnk__walk_fault(walk, "page %llu, of the %s tree, is not in the file", told, kind->name);
    *out = (hnk__tree_page){ .bytes = walk->bytes + number * walk->page_bytes, .number = number };
    memcpy(&head, out->bytes, sizeof head);
    if (head.number != number)
        return hnk__walk_fault(walk, "page %llu says it is page %llu", told, (unsigned long long)head.number);
    if (head.flags != HNK_LMDB_BRANCH && head.flags != HNK_LMDB_LEAF)
        return hnk__walk_fault(walk, "page %llu is no page of a tree (flags %#x)", told, (unsigned)head.flags);
    if (head.lower < sizeof head || head.lower % 2 != 0 || head.lower > walk->page_bytes)
        return hnk__walk_fault(walk, "page %llu: its pointers end at %u", told, (unsigned)head.lower);
    out->lower = head.lower;
    out->upper = head.upper;
    out->count = (out->lower - sizeof head) / sizeof(uint16_t);
    out->leaf = head.flags == HNK_LMDB_LEAF;
    return true;
}

bool hnk__tree_page_node(const hnk__walk *walk, const hnk__tree_page *page, size_t index, hnk__node *out)
{
    assert(index < page->count);
    return node_at(walk, page, pointer_at(page, index), page->lower, out);
}

/* LMDB moves nodes about by their sizes: they must fill the end of the page without gap or overlap, and have one
 * pointer each. */
static bool nodes_tile(const hnk__walk *walk, const hnk__tree_page *page)
{
    uint64_t starts[HNK_LMDB_PAGE_MAX_BYTES / 2 / 64]; /* a bit for each even offset */
    size_t seen = 0;

    memset(starts, 0, walk->page_bytes / 2 / 8);
    for (size_t i = 0; i < page->count; i++) {
        size_t pointer = pointer_at(page, i);
        uint64_t bit = UINT64_C(1) << pointer / 2 % 64;

        if (pointer % 2 != 0 || pointer >= walk->page_bytes || (starts[pointer / 128] & bit) != 0)
            return false;
        starts[pointer / 128] |= bit;
        __builtin_prefetch(page->bytes + pointer); /* all at once, instead of one miss after the other below */
    }
    for (size_t offset = page->upper; offset < walk->page_bytes; seen++) {
        hnk__node node;

        if ((starts[offset / 128] >> offset / 2 % 64 & 1) == 0 || !node_at(walk, page, offset, page->upper, &node))
            return false;
        offset += node.bytes;
    }
    return seen == page->count;
}

/* Whether a node of another program's named database could be this one: then the file is not ours to judge. */
static bool is_named_tree(const hnk__walk *walk, const hnk__node *node)
{
    hnk__lmdb_tree tree;

    if (node->flags != HNK_LMDB_SUB || node->data_bytes != sizeof tree)
        return false;
    memcpy(&tree, node->data, sizeof tree);
    if (tree.root == HNK_LMDB_NONE)
        return tree.depth == 0 && tree.entries == 0;
    return tree.depth >= 1 && tree.depth <= HNK_LMDB_DEPTH_MAX && tree.root >= HNK_LMDB_METAS &&
        tree.root <= walk->meta.last_page && tree.root < walk->file_pages &&
        hnk__load_64(walk->bytes + tree.root * walk->page_bytes) == tree.root;
}

static bool leaf_node_holds(
    hnk__walk *walk, const hnk__tree_kind *kind, const hnk__tree_page *page, const hnk__node *node, size_t node_max)
{
    unsigned long long number = page->number;

    if (!kind->transactions && is_named_tree(walk, node)) {
        walk->status = HNK_ERROR_NOT_A_STORE;
        return hnk__walk_fault(walk, "page %llu: a named database, which a store has not", number);
    }
    if (node->flags != 0 && node->flags != HNK_LMDB_BIG)
        return hnk__walk_fault(walk, "page %llu: a node with flags %#x", number, (unsigned)node->flags);
    /* Two nodes must fit into a page, or it can't be split. */
    if (node->flags == 0 && sizeof(hnk__lmdb_node) + node->key.size + node->data_bytes > node_max)
        return hnk__walk_fault(walk, "page %llu: a node of %llu bytes", number, (unsigned long long)node->bytes);
    return true;
}

bool hnk__tree_page_holds(hnk__walk *walk, const hnk__tree_kind *kind, const hnk__tree_page *page, hnk__key_range range)
{
    size_t node_max = (walk->page_bytes - sizeof(hnk__lmdb_page)) / 2 / 2 * 2 - sizeof(uint16_t); /* me_nodemax */
    size_t unkeyed = page->leaf ? 0 : 1; /* the first key of a branch page is never looked at, and mostly empty */
    unsigned long long number = page->number;
    hnk_bytes before = { NULL, 0 };

    if (page->upper < page->lower || page->upper % 2 != 0 || page->upper > walk->page_bytes)
        return hnk__walk_fault(walk, "page %llu: its nodes begin at %zu", number, page->upper);
    if (page->count <= unkeyed) /* LMDB asserts that a branch page has two */
        return hnk__walk_fault(walk, "page %llu has only %zu nodes", number, page->count);
    if (!nodes_tile(walk, page))
        return hnk__walk_fault(walk, "page %llu: its nodes overlap, leave a gap or lie outside", number);
    for (size_t i = 0; i < page->count; i++) {
        hnk__node node;

        if (!hnk__tree_page_node(walk, page, i, &node))
            return hnk__walk_fault(walk, "page %llu: node %zu lies outside", number, i);
        if (page->leaf && !leaf_node_holds(walk, kind, page, &node, node_max))
            return false;
        if (i < unkeyed)
            continue;
        if (!key_size_holds(kind, node.key.size) || (!page->leaf && node.bytes > node_max))
            return hnk__walk_fault(walk, "page %llu: a key of %zu bytes", number, node.key.size);
        if (before.data != NULL && key_compare(kind, before, node.key) >= 0)
            return hnk__walk_fault(walk, "page %llu: keys %zu and %zu are out of order", number, i - 1, i);
        /* In between, the order sees to it. */
        if ((i == unkeyed || i == page->count - 1) && !hnk__key_holds(kind, node.key, range))
            return hnk__walk_fault(walk, "page %llu: key %zu is outside the range its parent gives", number, i);
        before = node.key;
    }
    return true;
}
