/* damage.h: what can happen to a file of LMDB's. */
#ifndef FUZZ_DAMAGE_H
#define FUZZ_DAMAGE_H

#include "lmdb_file.h"

typedef enum damage {
    DAMAGE_ZEROED,       /* a page is zeros */
    DAMAGE_FLIP,         /* a bit anywhere */
    DAMAGE_CUT,          /* the file is shorter */
    DAMAGE_COPIED,       /* a page over another, as a misdirected write leaves it */
    DAMAGE_RENUMBERED,   /* likewise, and the copy says it belongs there */
    DAMAGE_GARBAGE,      /* the rest of a page */
    DAMAGE_HEAD,         /* a bit of a page's header, its pointers or a node's header */
    DAMAGE_META,         /* a bit of a meta page */
    DAMAGE_META_FIELD,   /* a field of a meta page, a little off or far out */
    DAMAGE_PAGE_FIELD,   /* a field of a page's header, likewise */
    DAMAGE_POINTER,      /* a pointer to a node */
    DAMAGE_SWAPPED,      /* two pointers of a page: keys out of order */
    DAMAGE_NODE_FIELD,   /* a field of a node's header */
    DAMAGE_REFERENCE,    /* what follows a node's key: the page of a long value, free pages, the value */
    DAMAGE_KEY,          /* a byte of a node's key */
    DAMAGE_LOST_1,       /* pages that are as they were some transactions before */
    DAMAGE_LOST_5,
    DAMAGE_LOST_50,
    DAMAGE_LOST_META,
    DAMAGE_KINDS
} damage;

const char *damage_name(damage kind);

/* Damages a copy of the sample's file: `bytes`, `*size` long, which may become less. */
void damage_do(damage kind, const sample *sample, uint8_t *bytes, size_t *size, source *from);

#endif
