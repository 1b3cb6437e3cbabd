/* damage.c: each kind of damage, by LMDB's own structures, so that it gets past the first checks. */
#include "damage.h"

#include <string.h>

/* pages.h describes these. */
enum { PAGE_HEAD = 16, FLAGS_AT = 10, LOWER_AT = 12, NODE_HEAD = 8, KEY_BYTES_AT = 6, META_BYTES = PAGE_HEAD + 136 };

const char *damage_name(damage kind)
{
    static const char *const names[DAMAGE_KINDS] = {
        [DAMAGE_ZEROED] = "page of zeros", [DAMAGE_FLIP] = "bit anywhere", [DAMAGE_CUT] = "file cut short",
        [DAMAGE_COPIED] = "page over another", [DAMAGE_RENUMBERED] = "page over another, renumbered",
        [DAMAGE_GARBAGE] = "garbage in a page", [DAMAGE_HEAD] = "bit of header or pointers",
        [DAMAGE_META] = "bit of a meta page", [DAMAGE_META_FIELD] = "field of a meta page",
        [DAMAGE_PAGE_FIELD] = "field of a page", [DAMAGE_POINTER] = "pointer to a node",
        [DAMAGE_SWAPPED] = "pointers swapped", [DAMAGE_NODE_FIELD] = "field of a node",
        [DAMAGE_REFERENCE] = "reference or value", [DAMAGE_KEY] = "byte of a key", [DAMAGE_LOST_1] = "1 lost write",
        [DAMAGE_LOST_5] = "5 lost writes", [DAMAGE_LOST_50] = "50 lost writes",
        [DAMAGE_LOST_META] = "lost meta page",
    };
    return names[kind];
}

static uint16_t load_16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Mostly a page in use, of the trees if asked for; now and then any. */
static size_t pick(const sample *sample, source *from, bool of_tree)
{
    enum { ANY_ONE_IN = 20 };
    size_t pages = sample->size / PAGE;

    if (!of_tree && draw(from, ANY_ONE_IN) == ANY_ONE_IN - 1)
        return (size_t)draw(from, pages);
    return of_tree ? sample->tree[draw(from, sample->tree_count)] : sample->used[draw(from, sample->used_count)];
}

static void flip(uint8_t *byte, source *from)
{
    *byte ^= (uint8_t)(1u << draw(from, 8));
}

/* Changes the integer of `width` bytes at `at`: by a little, to a border, or to anything. */
static void change(uint8_t *at, size_t width, source *from)
{
    static const uint64_t borders[] = {
        0, 1, 2, 3, 7, 8, 15, 16, 17, 0x7FFF, 0x8000, 0xFFF0, 0xFFFF, 0x10000, 4095, 4096, 0x7FFFFFFF, 0x80000000,
        0xFFFFFFFF, 0x1000000000000, 0x0010000000000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFE,
        0xFFFFFFFFFFFFFFFF,
    };
    enum { LITTLE = 8 };
    uint64_t value = 0;

    memcpy(&value, at, width);
    switch (draw(from, 4)) {
    case 0:
    case 1: value += draw(from, 2 * LITTLE + 1) - LITTLE; break;
    case 2: value = borders[draw(from, sizeof borders / sizeof *borders)]; break;
    default: value = draw_bits(from, width); break;
    }
    memcpy(at, &value, width);
}

/* The number of nodes of a page that is whole enough to have some; else 0. */
static size_t nodes_of(const uint8_t *page)
{
    uint16_t lower = load_16(page + LOWER_AT);
    return lower > PAGE_HEAD && lower < PAGE ? (size_t)(lower - PAGE_HEAD) / 2 : 0;
}

/* A node of the page, with `room` bytes after it; NULL if there is none. */
static uint8_t *node_of(uint8_t *page, source *from, size_t room)
{
    size_t nodes = nodes_of(page);
    if (nodes == 0)
        return NULL;
    size_t offset = load_16(page + PAGE_HEAD + 2 * draw(from, nodes));
    return offset + room <= PAGE ? page + offset : NULL;
}

static void damage_meta_field(uint8_t *bytes, source *from)
{
    /* number, flags, magic, version, map, the two trees' records, last page, transaction: pages.h */
    static const struct { uint8_t at, width; } fields[] = {
        { 0, 8 }, { 10, 2 }, { 16, 4 }, { 20, 4 }, { 32, 8 }, { 40, 4 }, { 44, 2 }, { 46, 2 }, { 48, 8 }, { 56, 8 },
        { 64, 8 }, { 72, 8 }, { 80, 8 }, { 88, 4 }, { 92, 2 }, { 94, 2 }, { 96, 8 }, { 104, 8 }, { 112, 8 },
        { 120, 8 }, { 128, 8 }, { 136, 8 }, { 144, 8 },
    };
    size_t field = (size_t)draw(from, sizeof fields / sizeof *fields);
    change(bytes + draw(from, 2) * PAGE + fields[field].at, fields[field].width, from);
}

static void damage_page_field(uint8_t *page, source *from)
{
    static const uint8_t at[] = { 0, 8, 10, 12, 14 };
    size_t field = (size_t)draw(from, sizeof at);
    change(page + at[field], field == 0 ? 8 : field == 3 && draw(from, 2) != 0 ? 4 : 2, from);
}

static void damage_head(uint8_t *page, source *from)
{
    size_t lower = load_16(page + LOWER_AT);
    uint8_t *node = draw(from, 3) == 0 ? node_of(page, from, NODE_HEAD) : NULL;

    if (node != NULL)
        flip(node + draw(from, NODE_HEAD), from);
    else
        flip(page + draw(from, lower > PAGE_HEAD && lower < PAGE ? lower : PAGE_HEAD), from);
}

static void damage_swapped(uint8_t *page, source *from)
{
    size_t nodes = nodes_of(page);
    if (nodes < 2)
        return;
    uint8_t *a = page + PAGE_HEAD + 2 * draw(from, nodes), *b = page + PAGE_HEAD + 2 * draw(from, nodes);
    uint16_t x = load_16(a), y = load_16(b);
    memcpy(a, &y, sizeof y);
    memcpy(b, &x, sizeof x);
}

static void damage_reference(uint8_t *page, source *from)
{
    uint8_t *node = node_of(page, from, NODE_HEAD);
    if (node == NULL)
        return;
    uint8_t *data = node + NODE_HEAD + load_16(node + KEY_BYTES_AT);
    size_t at = 8 * (size_t)(draw(from, 4) == 3 ? draw(from, 64) : draw(from, 2));
    if (data + at + 8 <= page + PAGE)
        change(data + at, 8, from);
}

static void damage_key(uint8_t *page, source *from)
{
    uint8_t *node = node_of(page, from, NODE_HEAD);
    uint16_t key_bytes = node != NULL ? load_16(node + KEY_BYTES_AT) : 0;
    if (key_bytes == 0 || node + NODE_HEAD + key_bytes > page + PAGE)
        return;
    uint8_t *byte = node + NODE_HEAD + draw(from, key_bytes);
    *byte = (uint8_t)(*byte + 1 + draw(from, 255));
}

/* Puts pages back to what they were. */
static void damage_lost(const sample *sample, uint8_t *bytes, size_t size, source *from, size_t writes)
{
    for (size_t tries = 0; writes > 0 && tries < 400; tries++) {
        size_t page = pick(sample, from, false);
        if ((page + 1) * PAGE > sample->older_size || (page + 1) * PAGE > size ||
            memcmp(bytes + page * PAGE, sample->older + page * PAGE, PAGE) == 0)
            continue;
        memcpy(bytes + page * PAGE, sample->older + page * PAGE, PAGE);
        writes--;
    }
}

static size_t cut_at(size_t size, source *from)
{
    switch (draw(from, 4)) {
    case 0: return (size_t)draw(from, size / PAGE) * PAGE;
    case 1: return (size_t)draw(from, 3 * PAGE);
    default: return (size_t)draw(from, size);
    }
}

/* Puts `count` pages over others, or makes them something else; `kind` says what. */
static void damage_page(damage kind, const sample *sample, uint8_t *bytes, source *from)
{
    uint64_t number = pick(sample, from, kind == DAMAGE_RENUMBERED);
    uint8_t *page = bytes + number * PAGE;

    switch (kind) {
    case DAMAGE_ZEROED: memset(page, 0, PAGE); break;
    case DAMAGE_FLIP: flip(page + draw(from, PAGE), from); break;
    case DAMAGE_GARBAGE:
        for (size_t i = (size_t)draw(from, PAGE); i < PAGE; i++)
            page[i] = (uint8_t)draw(from, 256);
        break;
    default:
        memmove(page, bytes + pick(sample, from, kind == DAMAGE_RENUMBERED) * PAGE, PAGE);
        if (kind == DAMAGE_RENUMBERED)
            memcpy(page, &number, sizeof number);
        break;
    }
}

void damage_do(damage kind, const sample *sample, uint8_t *bytes, size_t *size, source *from)
{
    uint8_t *node, *tree_page;

    if (*size < sample->size) { /* cut short before: nothing in it has its place any more, but the first pages */
        if (*size >= META_BYTES)
            flip(bytes + draw(from, META_BYTES), from);
        return;
    }
    switch (kind) {
    case DAMAGE_ZEROED:
    case DAMAGE_FLIP:
    case DAMAGE_COPIED:
    case DAMAGE_RENUMBERED:
    case DAMAGE_GARBAGE: damage_page(kind, sample, bytes, from); return;
    case DAMAGE_CUT: *size = cut_at(*size, from); return;
    case DAMAGE_META: flip(bytes + draw(from, 2) * PAGE + draw(from, META_BYTES), from); return;
    case DAMAGE_META_FIELD: damage_meta_field(bytes, from); return;
    case DAMAGE_LOST_1: damage_lost(sample, bytes, *size, from, 1); return;
    case DAMAGE_LOST_5: damage_lost(sample, bytes, *size, from, 5); return;
    case DAMAGE_LOST_50: damage_lost(sample, bytes, *size, from, 50); return;
    case DAMAGE_LOST_META: {
        size_t slot = (size_t)draw(from, 2);
        memcpy(bytes + slot * PAGE, sample->older + slot * PAGE, PAGE);
        return;
    }
    default: break;
    }
    tree_page = bytes + pick(sample, from, true) * PAGE;
    switch (kind) {
    case DAMAGE_HEAD: damage_head(tree_page, from); return;
    case DAMAGE_PAGE_FIELD:
        damage_page_field(draw(from, 4) != 0 ? tree_page : bytes + pick(sample, from, false) * PAGE, from);
        return;
    case DAMAGE_POINTER:
        if (nodes_of(tree_page) > 0)
            change(tree_page + PAGE_HEAD + 2 * draw(from, nodes_of(tree_page)), 2, from);
        return;
    case DAMAGE_SWAPPED: damage_swapped(tree_page, from); return;
    case DAMAGE_NODE_FIELD:
        if ((node = node_of(tree_page, from, NODE_HEAD)) != NULL)
            change(node + 2 * draw(from, 4), 2, from);
        return;
    case DAMAGE_REFERENCE: damage_reference(tree_page, from); return;
    default: damage_key(tree_page, from); return;
    }
}
