/* pages_tree.c: walks one of LMDB's trees, depth first, with a stack of its own. */
#include "pages.h"

typedef struct frame {
    hnk__tree_page page;
    hnk__key_range range;
    size_t next; /* child */
} frame;

typedef struct tree_walk {
    hnk__walk *walk;
    const hnk__tree_kind *kind;
    const hnk__lmdb_tree *tree;
    hnk__lmdb_tree counted;
    frame frames[HNK_LMDB_DEPTH_MAX];
    size_t level; /* frames in use */
} tree_walk;

static bool record_holds(hnk__walk *walk, const hnk__lmdb_tree *tree, const hnk__tree_kind *kind)
{
    unsigned flags = tree->flags;
    unsigned expected = kind->transactions ? HNK_LMDB_INTEGER_KEY : 0;
    unsigned optional = kind->transactions ? HNK_LMDB_FIXED_MAP | HNK_LMDB_NO_SUBDIR : 0; /* the environment's */

    if ((flags & ~optional) != expected)
        return hnk__walk_fault(walk, "the %s tree has flags %#x", kind->name, flags);
    if (tree->root == HNK_LMDB_NONE ? tree->depth != 0 : tree->depth < 1 || tree->depth > HNK_LMDB_DEPTH_MAX)
        return hnk__walk_fault(walk, "the %s tree is said to be %u pages deep", kind->name, (unsigned)tree->depth);
    return true;
}

/* The data of a row that lies in overflow pages; NULL: a fault was noted. */
static const uint8_t *run_enter(tree_walk *at, uint64_t page, const hnk__node *node)
{
    hnk__walk *walk = at->walk;
    uint64_t first = hnk__load_64(node->data);
    uint64_t needed = (sizeof(hnk__lmdb_page) - 1 + node->data_bytes) / walk->page_bytes + 1; /* OVPAGES */
    const uint8_t *bytes;
    hnk__lmdb_page head;
    unsigned long long told = first;

    if (first < HNK_LMDB_METAS || first > walk->meta.last_page || first >= walk->file_pages) {
        (void)hnk__walk_fault(
            walk, "page %llu: a value on page %llu, which is not in the file", (unsigned long long)page, told);
        return NULL;
    }
    bytes = walk->bytes + first * walk->page_bytes;
    memcpy(&head, bytes, sizeof head);
    if (head.number != first || head.flags != HNK_LMDB_OVERFLOW) {
        (void)hnk__walk_fault(
            walk, "page %llu does not begin a value, as page %llu says", told, (unsigned long long)page);
        return NULL;
    }
    /* More than needed: LMDB keeps a run for a shorter value. */
    if (head.run_pages < needed || head.run_pages > walk->file_pages - first) {
        (void)hnk__walk_fault(walk, "page %llu: %u pages for a value that needs %llu, or not in the file", told,
            (unsigned)head.run_pages, (unsigned long long)needed);
        return NULL;
    }
    if (!hnk__walk_claim(walk, first, head.run_pages)) {
        (void)hnk__walk_fault(
            walk, "page %llu: some of its %u pages are in use elsewhere", told, (unsigned)head.run_pages);
        return NULL;
    }
    at->counted.overflow_pages += head.run_pages;
    walk->used += head.run_pages;
    return bytes + sizeof head;
}

static void leaf_rows(tree_walk *at, const hnk__tree_page *page, hnk__key_range range, bool holds)
{
    for (size_t i = 0; i < page->count && !hnk__walk_is_over(at->walk); i++) {
        hnk__node node;
        const uint8_t *data;

        if (!hnk__tree_page_node(at->walk, page, i, &node))
            continue;
        /* On a page that does not hold, a row outside the page's range is none: a search would not come here for it. */
        if (!holds && ((node.flags & ~HNK_LMDB_BIG) != 0 || !hnk__key_holds(at->kind, node.key, range)))
            continue;
        at->counted.entries++;
        data = node.flags == HNK_LMDB_BIG ? run_enter(at, page->number, &node) : node.data;
        if (data != NULL && at->kind->row != NULL)
            at->kind->row(at->walk, page->number, node.key, (hnk_bytes){ data, (size_t)node.data_bytes });
    }
}

/* Looks at one page; a branch page that holds becomes the top of the stack. */
static void page_enter(tree_walk *at, uint64_t number, hnk__key_range range)
{
    hnk__walk *walk = at->walk;
    hnk__tree_page page;
    bool holds;

    if (!hnk__tree_page_open(walk, at->kind, number, &page))
        return;
    holds = hnk__tree_page_holds(walk, at->kind, &page, range);
    if (page.leaf != (at->level + 1 == at->tree->depth))
        (void)hnk__walk_fault(walk, "page %llu is a %s page %zu pages deep in a tree of %u", (unsigned long long)number,
            page.leaf ? "leaf" : "branch", at->level + 1, (unsigned)at->tree->depth);
    /* Claimed last: a stray pointer must not take a sound page away from its parent. */
    if (holds && hnk__walk_claim(walk, number, 1))
        walk->used++;
    else if (holds)
        holds = hnk__walk_fault(walk, "page %llu is used twice", (unsigned long long)number);
    if (hnk__walk_is_over(walk))
        return;
    if (page.leaf) {
        at->counted.leaf_pages++;
        leaf_rows(at, &page, range, holds);
    } else if (holds) {
        at->counted.branch_pages++;
        if (at->level < HNK_LMDB_DEPTH_MAX)
            at->frames[at->level++] = (frame){ .page = page, .range = range };
    }
}

/* Goes on to the next child of the page on top of the stack, or away from that page. */
static void step(tree_walk *at)
{
    frame *top = &at->frames[at->level - 1];
    hnk__key_range range = top->range;
    size_t index = top->next++;
    hnk__node node, after;

    if (index == top->page.count) {
        at->level--;
        return;
    }
    if (!hnk__tree_page_node(at->walk, &top->page, index, &node))
        return; /* it did when the page was checked: somebody writes meanwhile */
    if (index > 0)
        range.low = node.key;
    if (index + 1 < top->page.count && hnk__tree_page_node(at->walk, &top->page, index + 1, &after)) {
        range.high = after.key;
        if (after.child < at->walk->file_pages)
            __builtin_prefetch(at->walk->bytes + after.child * at->walk->page_bytes);
    }
    page_enter(at, node.child, range);
}

static void count_compare(tree_walk *at, const char *what, uint64_t said, uint64_t counted)
{
    if (said != counted)
        (void)hnk__walk_fault(at->walk, "the %s tree is said to have %llu %s, but has %llu", at->kind->name,
            (unsigned long long)said, what, (unsigned long long)counted);
}

void hnk__walk_tree(hnk__walk *walk, const hnk__lmdb_tree *tree, const hnk__tree_kind *kind)
{
    tree_walk at = { .walk = walk, .kind = kind, .tree = tree };

    if (!record_holds(walk, tree, kind) && hnk__walk_is_over(walk))
        return;
    if (tree->root != HNK_LMDB_NONE)
        page_enter(&at, tree->root, (hnk__key_range){ { NULL, 0 }, { NULL, 0 } });
    while (at.level > 0 && !hnk__walk_is_over(walk))
        step(&at);
    if (hnk__walk_is_over(walk))
        return;
    count_compare(&at, "branch pages", tree->branch_pages, at.counted.branch_pages);
    count_compare(&at, "leaf pages", tree->leaf_pages, at.counted.leaf_pages);
    count_compare(&at, "overflow pages", tree->overflow_pages, at.counted.overflow_pages);
    count_compare(&at, "entries", tree->entries, at.counted.entries);
}
