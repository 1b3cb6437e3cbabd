/* key.c: a caller's key -> the key of its record: raw, or the head and digest of an over-long one. */
#include "internal.h"

#include <string.h>

static_assert(HNK_PREFIX_BYTES + HNK_KEY_STORED_MAX_BYTES == HNK_ROW_KEY_MAX_BYTES, "DISK_FORMAT.md, Stored keys");
static_assert(HNK_KEY_HEAD_BYTES + HNK_KEY_DIGEST_BYTES == HNK_KEY_STORED_MAX_BYTES, "DISK_FORMAT.md, Stored keys");
static_assert(HNK_KEY_RAW_MAX_BYTES < HNK_KEY_STORED_MAX_BYTES, "a raw key never has the length of a digested one");

static void put_prefix(hnk__key *out, uint8_t table, uint32_t bucket_id)
{
    assert(bucket_id <= HNK_BUCKET_ID_MAX);
    out->bytes[0] = table;
    out->bytes[1] = (uint8_t)(bucket_id >> 16);
    out->bytes[2] = (uint8_t)(bucket_id >> 8);
    out->bytes[3] = (uint8_t)bucket_id;
}

hnk_status hnk__key_record(hnk__key *out, uint32_t bucket_id, hnk_bytes key)
{
    if (key.size == 0 || key.size > HNK_KEY_MAX_BYTES)
        return HNK_ERROR_KEY_SIZE;
    put_prefix(out, HNK_TABLE_RECORD, bucket_id);
    if (key.size <= HNK_KEY_RAW_MAX_BYTES) {
        memcpy(out->bytes + HNK_PREFIX_BYTES, key.data, key.size);
        out->size = (uint16_t)(HNK_PREFIX_BYTES + key.size);
    } else {
        memcpy(out->bytes + HNK_PREFIX_BYTES, key.data, HNK_KEY_HEAD_BYTES);
        hnk__digest_key(key.data, key.size, out->bytes + HNK_PREFIX_BYTES + HNK_KEY_HEAD_BYTES);
        out->size = HNK_ROW_KEY_MAX_BYTES;
    }
    return HNK_OK;
}

void hnk__key_row(hnk__key *out, uint8_t table, uint32_t bucket_id, hnk_bytes rest)
{
    assert(rest.size <= HNK_KEY_STORED_MAX_BYTES);
    put_prefix(out, table, bucket_id);
    if (rest.size > 0)
        memcpy(out->bytes + HNK_PREFIX_BYTES, rest.data, rest.size);
    out->size = (uint16_t)(HNK_PREFIX_BYTES + rest.size);
}

uint32_t hnk__key_bucket_id(const uint8_t *row_key)
{
    return (uint32_t)row_key[1] << 16 | (uint32_t)row_key[2] << 8 | row_key[3];
}

bool hnk__key_is(hnk_bytes row_key, uint8_t table, uint32_t bucket_id)
{
    const uint8_t *bytes = row_key.data;
    return row_key.size >= HNK_PREFIX_BYTES && bytes[0] == table && hnk__key_bucket_id(bytes) == bucket_id;
}
