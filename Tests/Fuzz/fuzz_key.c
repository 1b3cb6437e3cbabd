/* fuzz_key.c: two callers' keys and a prefix, as rows' keys.
 *
 * The input: how the second key is made from the first, how much longer both are than the bytes given, then the bytes.
 * Keys of up to 64 KiB come from small inputs so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

#define HOLDS(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

enum { HEAD_BYTES = 6, ROOM = HNK_KEY_MAX_BYTES + 16 };

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static int compare(const void *a, size_t a_size, const void *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order != 0 ? sign(order) : (a_size > b_size) - (a_size < b_size);
}

static int compare_rows(const hnk__key *a, const hnk__key *b)
{
    return compare(a->bytes, a->size, b->bytes, b->size);
}

static bool is_valid(size_t size)
{
    return size >= 1 && size <= HNK_KEY_MAX_BYTES;
}

/* A key by itself: its size, table and bucket, and that it begins as it should. */
static bool check_one(hnk__key *out, uint32_t bucket_id, const uint8_t *bytes, size_t size)
{
    memset(out, 0xA5, sizeof *out);
    hnk_status status = hnk__key_record(out, bucket_id, (hnk_bytes){ bytes, size });
    HOLDS(status == (is_valid(size) ? HNK_OK : HNK_ERROR_KEY_SIZE));
    if (status != HNK_OK)
        return false;
    bool is_long = size > HNK_KEY_RAW_MAX_BYTES;
    HOLDS(out->size == (is_long ? HNK_ROW_KEY_MAX_BYTES : HNK_PREFIX_BYTES + size));
    HOLDS(hnk__key_is((hnk_bytes){ out->bytes, out->size }, HNK_TABLE_RECORD, bucket_id));
    HOLDS(hnk__key_bucket_id(out->bytes) == bucket_id);
    HOLDS(memcmp(out->bytes + HNK_PREFIX_BYTES, bytes, is_long ? HNK_KEY_HEAD_BYTES : size) == 0);
    for (size_t i = out->size; i < sizeof out->bytes; i++)
        HOLDS(out->bytes[i] == 0xA5); /* nothing written past its end */
    return true;
}

static void check_two(const hnk__key *a, const uint8_t *a_bytes, size_t a_size, const hnk__key *b,
                      const uint8_t *b_bytes, size_t b_size)
{
    bool a_long = a_size > HNK_KEY_RAW_MAX_BYTES, b_long = b_size > HNK_KEY_RAW_MAX_BYTES;
    int order = compare(a_bytes, a_size, b_bytes, b_size);
    size_t shorter = a_size < b_size ? a_size : b_size;
    size_t head = shorter < HNK_KEY_HEAD_BYTES ? shorter : HNK_KEY_HEAD_BYTES;

    HOLDS((compare_rows(a, b) == 0) == (order == 0)); /* no two keys share a row; a collision of 128 bits aside */
    HOLDS(a_long == b_long || a->size != b->size);
    /* The order is that of the keys, wherever their heads tell. */
    if ((!a_long && !b_long) || memcmp(a_bytes, b_bytes, head) != 0 || shorter <= HNK_KEY_HEAD_BYTES)
        HOLDS(compare_rows(a, b) == order);
}

/* A prefix of a key, up to the head's length, is a prefix of its row's key. */
static void check_prefix(const hnk__key *row, uint32_t bucket_id, const uint8_t *bytes, size_t size, size_t length)
{
    hnk__key prefix, after;

    if (length > size)
        length = size;
    if (length > HNK_KEY_HEAD_BYTES)
        length = HNK_KEY_HEAD_BYTES;
    hnk__key_row(&prefix, HNK_TABLE_RECORD, bucket_id, (hnk_bytes){ bytes, length });
    HOLDS(prefix.size <= row->size && memcmp(prefix.bytes, row->bytes, prefix.size) == 0);
    HOLDS(compare_rows(&prefix, row) <= 0); /* a seek to the prefix comes before it */
    if (bucket_id < HNK_BUCKET_ID_MAX) {
        hnk__key_row(&after, HNK_TABLE_RECORD, bucket_id + 1, (hnk_bytes){ NULL, 0 });
        HOLDS(compare_rows(row, &after) < 0); /* and the next bucket begins after it */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static uint8_t a[ROOM], b[ROOM];
    hnk__key a_row, b_row;

    if (size < HEAD_BYTES)
        return 0;
    uint8_t how = input[0];
    size_t more = input[1] | (size_t)input[2] << 8, at = input[3] | (size_t)input[4] << 8;
    uint32_t bucket_id = (uint32_t)input[5] << (how & 16);
    input += HEAD_BYTES;
    size -= HEAD_BYTES;

    size_t a_size = size < ROOM ? size : ROOM;
    memcpy(a, input, a_size);
    if ((how & 1) != 0) { /* far longer than the input */
        size_t room = ROOM - a_size;
        more = more < room ? more : room;
        memset(a + a_size, a_size > 0 ? a[a_size - 1] : 0, more);
        a_size += more;
    }
    size_t b_size = a_size;
    memcpy(b, a, a_size);
    if ((how & 2) != 0)
        b_size = at < b_size ? at : b_size;
    if ((how & 4) != 0 && b_size > 0)
        b[at % b_size] ^= (uint8_t)(how | 1);
    if ((how & 8) != 0 && b_size < ROOM)
        b[b_size++] = how;

    bool a_made = check_one(&a_row, bucket_id, a, a_size), b_made = check_one(&b_row, bucket_id, b, b_size);
    if (a_made)
        check_prefix(&a_row, bucket_id, a, a_size, at);
    if (b_made)
        check_prefix(&b_row, bucket_id, b, b_size, more);
    if (a_made && b_made)
        check_two(&a_row, a, a_size, &b_row, b, b_size);
    if (a_made && a_row.size == HNK_ROW_KEY_MAX_BYTES) { /* a key that is what another is stored as is yet another */
        HOLDS(check_one(&b_row, bucket_id, a_row.bytes + HNK_PREFIX_BYTES, a_row.size - HNK_PREFIX_BYTES));
        HOLDS(compare_rows(&a_row, &b_row) != 0);
    }
    return 0;
}
