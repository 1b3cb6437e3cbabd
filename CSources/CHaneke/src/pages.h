/* pages.h: LMDB 0.9's structures as they lie on the disk, and what the files pages*.c share.
 *
 * LMDB documents no format. This one was read out of mdb.c 0.9.24, whose names stand in brackets; it is the same
 * in all of 0.9 on 64-bit machines (data version 1). Numbers are in machine order and at even offsets only, so
 * structures are copied out before they are looked at. */
#ifndef HNK_PAGES_H
#define HNK_PAGES_H

#include <string.h>

#include "internal.h"

#pragma GCC visibility push(hidden)

#define HNK_LMDB_MAGIC 0xBEEFC0DEu        /* MDB_MAGIC */
#define HNK_LMDB_VERSION 1u               /* MDB_DATA_VERSION */
#define HNK_LMDB_NONE UINT64_MAX          /* P_INVALID: the root of an empty tree */
#define HNK_LMDB_METAS 2u                 /* pages 0 and 1; transaction N writes page N % 2 */
#define HNK_LMDB_PAGE_MIN_BYTES 512u
#define HNK_LMDB_PAGE_MAX_BYTES 32768u    /* MAX_PAGESIZE: 65536 would not fit into `upper` */
#define HNK_LMDB_DEPTH_MAX 32u            /* CURSOR_STACK */

enum { HNK_LMDB_BRANCH = 1, HNK_LMDB_LEAF = 2, HNK_LMDB_OVERFLOW = 4, HNK_LMDB_META = 8 }; /* P_…: of a page */
enum { HNK_LMDB_BIG = 1, HNK_LMDB_SUB = 2 }; /* F_BIGDATA, F_SUBDATA: of a leaf's node */
/* MDB_INTEGERKEY: of the free tree, whose flags hold the environment's too, which are the next two. */
enum { HNK_LMDB_INTEGER_KEY = 0x8 };
enum { HNK_LMDB_FIXED_MAP = 0x1, HNK_LMDB_NO_SUBDIR = 0x4000 };

/* In front of each page; of a run of overflow pages, in front of the first one only [MDB_page]. 16-bit pointers
 * to the nodes follow it, in the order of the keys, up to `lower`; the nodes themselves fill `upper` to the end
 * of the page. */
typedef struct hnk__lmdb_page {
    uint64_t number;
    uint16_t pad;
    uint16_t flags;
    union {
        struct {
            uint16_t lower;
            uint16_t upper;
        };
        uint32_t run_pages; /* of an overflow run */
    };
} hnk__lmdb_page;

static_assert(sizeof(hnk__lmdb_page) == 16, "PAGEHDRSZ");
static_assert(offsetof(hnk__lmdb_page, flags) == 10, "mp_flags");
static_assert(offsetof(hnk__lmdb_page, lower) == 12 && offsetof(hnk__lmdb_page, upper) == 14, "pb_lower, pb_upper");
static_assert(offsetof(hnk__lmdb_page, run_pages) == 12, "pb_pages");

/* In front of each key [MDB_node]. In a leaf the first two hold the length of the data, which follows the key;
 * if it is BIG, the number of its first overflow page stands there instead. In a branch the first three hold the
 * number of the child. */
typedef struct hnk__lmdb_node {
    uint16_t low;
    uint16_t high;
    uint16_t flags;
    uint16_t key_bytes;
} hnk__lmdb_node;

static_assert(sizeof(hnk__lmdb_node) == 8, "NODESIZE");
static_assert(offsetof(hnk__lmdb_node, flags) == 4 && offsetof(hnk__lmdb_node, key_bytes) == 6, "mn_flags, mn_ksize");

/* A tree [MDB_db]. */
typedef struct hnk__lmdb_tree {
    uint32_t pad; /* of the free tree: the size of pages */
    uint16_t flags;
    uint16_t depth;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
    uint64_t root;
} hnk__lmdb_tree;

static_assert(sizeof(hnk__lmdb_tree) == 48, "MDB_db");
static_assert(offsetof(hnk__lmdb_tree, branch_pages) == 8 && offsetof(hnk__lmdb_tree, root) == 40,
    "md_branch_pages, md_root");

/* What the two meta pages hold behind their page header [MDB_meta]. */
typedef struct hnk__lmdb_meta {
    uint32_t magic;
    uint32_t version;
    uint64_t address;
    uint64_t map_bytes;
    hnk__lmdb_tree free; /* transaction (8 bytes) → pages it freed: their count, then their numbers, descending */
    hnk__lmdb_tree main;
    uint64_t last_page;  /* the file may be shorter if the last pages are free */
    uint64_t txn;
} hnk__lmdb_meta;

static_assert(sizeof(hnk__lmdb_meta) == 136, "MDB_meta");
static_assert(offsetof(hnk__lmdb_meta, free) == 24 && offsetof(hnk__lmdb_meta, main) == 72, "mm_dbs");
static_assert(offsetof(hnk__lmdb_meta, last_page) == 120 && offsetof(hnk__lmdb_meta, txn) == 128,
    "mm_last_pg, mm_txnid");

/* One walk over one snapshot. */
typedef struct hnk__walk {
    const uint8_t *bytes; /* the file, mapped */
    uint64_t file_bytes;
    uint32_t page_bytes;
    uint64_t file_pages;  /* whole ones */
    hnk__lmdb_meta meta;
    uint64_t *claimed;    /* a bit for each page up to the last one: used by a tree, or free */
    uint64_t used;        /* pages */
    uint64_t free;
    hnk__pages_visit visit;
    void *context;
    hnk__pages_report *report;
    hnk_status status;    /* not HNK_OK: the walk is over and gives this back */
} hnk__walk;

/* What differs between the trees of a file. */
typedef struct hnk__tree_kind {
    const char *name;
    bool transactions; /* keys are transaction numbers of 8 bytes, in numerical order; else bytes in theirs */
    void (*row)(hnk__walk *walk, uint64_t page, hnk_bytes key, hnk_bytes data); /* NULL: nobody wants them */
} hnk__tree_kind;

/* pages.c */

/* Notes a fault in words, if it is the first one. Gives false, for the caller to give back. */
bool hnk__walk_fault(hnk__walk *walk, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether there is nothing more to do: somebody stopped the walk, or there is a fault and nobody wants the rows. */
bool hnk__walk_is_over(const hnk__walk *walk);
/* Takes pages for one use; false: one of them has another, or doesn't exist. */
bool hnk__walk_claim(hnk__walk *walk, uint64_t first, uint64_t count);

/* pages_tree.c: walks one tree, whose record is `tree`, and notes every fault. */
void hnk__walk_tree(hnk__walk *walk, const hnk__lmdb_tree *tree, const hnk__tree_kind *kind);

/* pages_node.c: what a page of a tree holds */

/* Where the keys of a page have to lie: at or above `low`, below `high`; data NULL = no bound. */
typedef struct hnk__key_range {
    hnk_bytes low;
    hnk_bytes high;
} hnk__key_range;

/* A page whose number and kind are proven, and whose pointers lie inside. */
typedef struct hnk__tree_page {
    const uint8_t *bytes;
    uint64_t number;
    size_t count; /* of nodes */
    size_t lower;
    size_t upper;
    bool leaf;
} hnk__tree_page;

/* A node that lies inside its page. */
typedef struct hnk__node {
    hnk_bytes key;
    const uint8_t *data;  /* of a leaf */
    uint64_t data_bytes;  /* of a leaf */
    uint64_t child;       /* of a branch */
    size_t bytes;         /* of the page, even */
    uint16_t flags;       /* of a leaf */
} hnk__node;

bool hnk__tree_page_open(hnk__walk *walk, const hnk__tree_kind *kind, uint64_t number, hnk__tree_page *out);
/* Node `index`; false: no part of it may be used. */
bool hnk__tree_page_node(const hnk__walk *walk, const hnk__tree_page *page, size_t index, hnk__node *out);
/* Whether the page as a whole holds: its bounds, its nodes' places and sizes, their flags, the order and range
 * of their keys. */
bool hnk__tree_page_holds(
    hnk__walk *walk, const hnk__tree_kind *kind, const hnk__tree_page *page, hnk__key_range range);
/* Whether a key has a size that keys have, and lies in the range. */
bool hnk__key_holds(const hnk__tree_kind *kind, hnk_bytes key, hnk__key_range range);

/* pages_free.c: a row of the free tree [mdb_freelist_save()] */
void hnk__walk_free_row(hnk__walk *walk, uint64_t page, hnk_bytes key, hnk_bytes data);

static inline uint64_t hnk__load_64(const void *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

#pragma GCC visibility pop

#endif
