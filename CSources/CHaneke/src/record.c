/* record.c: bytes <-> record, its digests, and what it is charged. The layouts are docs/DISK_FORMAT.md's. */
#include "internal.h"

#include <string.h>

static_assert(sizeof(hnk__store_row) == 64, "DISK_FORMAT.md, Store row");
static_assert(offsetof(hnk__store_row, next_bucket_id) == 12, "DISK_FORMAT.md, Store row");
static_assert(offsetof(hnk__store_row, made_at_ms) == 32, "DISK_FORMAT.md, Store row");
static_assert(sizeof(hnk__bucket_row) == 88, "DISK_FORMAT.md, Bucket row");
static_assert(offsetof(hnk__bucket_row, incarnation) == 32, "DISK_FORMAT.md, Bucket row");
static_assert(offsetof(hnk__bucket_row, check_mode) == 40, "DISK_FORMAT.md, Bucket row");
static_assert(offsetof(hnk__bucket_row, digest) == 80, "DISK_FORMAT.md, Bucket row");
static_assert(sizeof(hnk__header) == 72, "DISK_FORMAT.md, Record");
static_assert(offsetof(hnk__header, key_bytes) == 16, "DISK_FORMAT.md, Record");
static_assert(offsetof(hnk__header, value_bytes) == 24, "DISK_FORMAT.md, Record");
static_assert(offsetof(hnk__header, value_digest) == 56, "DISK_FORMAT.md, Record");
static_assert(offsetof(hnk__header, header_digest) == 64, "DISK_FORMAT.md, Record");

enum { KNOWN_FLAGS = HNK_RECORD_LONG_KEY | HNK_RECORD_BLOB | HNK_RECORD_SLIDING };

/* Whether a record with this over-long key belongs under this row's key: else no read would find it. */
static bool is_in_place(hnk_bytes row_key, uint32_t bucket_id, hnk_bytes key)
{
    hnk__key expected;
    return hnk__key_record(&expected, bucket_id, key) == HNK_OK && expected.size == row_key.size &&
           memcmp(expected.bytes, row_key.data, expected.size) == 0;
}

bool hnk__record_parse(hnk__record *out, hnk_bytes row_key, hnk_bytes bytes)
{
    hnk__header *header = &out->header;
    const uint8_t *data = bytes.data;
    const uint8_t *prefixed = row_key.data;
    uint64_t left;

    if (bytes.size < sizeof *header || row_key.size <= HNK_PREFIX_BYTES || row_key.size > HNK_ROW_KEY_MAX_BYTES)
        return false;
    memcpy(header, data, sizeof *header); /* rows are aligned to two bytes only */
    if (header->version != HNK_RECORD_VERSION || (header->flags & ~KNOWN_FLAGS) != 0 || header->zero != 0)
        return false;
    if (header->bucket_id != hnk__key_bucket_id(prefixed))
        return false;

    bool is_long = row_key.size == HNK_ROW_KEY_MAX_BYTES;
    if (is_long != ((header->flags & HNK_RECORD_LONG_KEY) != 0))
        return false;
    if (is_long ? header->key_bytes <= HNK_KEY_RAW_MAX_BYTES || header->key_bytes > HNK_KEY_MAX_BYTES
                : header->key_bytes != 0)
        return false;
    if (header->metadata_bytes > HNK_METADATA_MAX_BYTES)
        return false;

    bool blob = (header->flags & HNK_RECORD_BLOB) != 0;
    left = bytes.size - sizeof *header;
    if (left < (uint64_t)header->key_bytes + header->metadata_bytes)
        return false;
    left -= (uint64_t)header->key_bytes + header->metadata_bytes;
    if (left != (blob ? 0 : header->value_bytes))
        return false;

    data += sizeof *header;
    out->key = is_long ? (hnk_bytes){ data, header->key_bytes }
                       : (hnk_bytes){ prefixed + HNK_PREFIX_BYTES, row_key.size - HNK_PREFIX_BYTES };
    if (is_long && !is_in_place(row_key, header->bucket_id, out->key))
        return false;
    data += header->key_bytes;
    out->metadata = (hnk_bytes){ data, header->metadata_bytes };
    data += header->metadata_bytes;
    out->value = (hnk_bytes){ blob ? NULL : data, blob ? 0 : (size_t)header->value_bytes };
    return true;
}

uint64_t hnk__record_header_digest(const hnk__header *header, hnk_bytes key, hnk_bytes metadata)
{
    uint64_t digest = hnk__digest(header, offsetof(hnk__header, header_digest), 0);
    digest = hnk__digest(key.data, key.size, digest);
    return hnk__digest(metadata.data, metadata.size, digest);
}

bool hnk__record_header_holds(const hnk__record *record)
{
    return record->header.header_digest == hnk__record_header_digest(&record->header, record->key, record->metadata);
}

size_t hnk__record_size(size_t key_bytes, size_t metadata_bytes, uint64_t value_bytes, bool blob)
{
    return sizeof(hnk__header) + (key_bytes > HNK_KEY_RAW_MAX_BYTES ? key_bytes : 0) + metadata_bytes
           + (blob ? 0 : (size_t)value_bytes);
}

static unsigned char *append(unsigned char *at, hnk_bytes bytes)
{
    if (bytes.size > 0)
        memcpy(at, bytes.data, bytes.size);
    return at + bytes.size;
}

void hnk__record_write(void *out, const hnk__header *header, hnk_bytes key, hnk_bytes metadata, hnk_bytes value)
{
    assert(header->key_bytes == key.size && header->metadata_bytes == metadata.size);
    assert((header->flags & HNK_RECORD_BLOB) != 0 || header->value_bytes == value.size);
    unsigned char *at = append(out, (hnk_bytes){ header, sizeof *header });
    at = append(at, key);
    at = append(at, metadata);
    append(at, value);
}

/* Charge (DISK_FORMAT.md) ------------------------------------------------------------------------------------------ */

enum {
    LMDB_PAGE_HEADER_BYTES = 16,
    LMDB_NODE_HEADER_BYTES = 8,
    LMDB_NODE_POINTER_BYTES = 2,
    LMDB_PAGE_NUMBER_BYTES = 8
};

static size_t node(size_t key_bytes, size_t row_bytes)
{
    size_t size = LMDB_NODE_HEADER_BYTES + key_bytes + row_bytes;
    return size + (size & 1) + LMDB_NODE_POINTER_BYTES;
}

static uint64_t leaf(size_t page_bytes, size_t node_bytes)
{
    uint64_t fit = (page_bytes - LMDB_PAGE_HEADER_BYTES) / node_bytes;
    return ((uint64_t)page_bytes * 4 + fit * 3 - 1) / (fit * 3);
}

uint64_t hnk__record_charge(size_t page_bytes, size_t row_key_bytes, size_t record_bytes, uint64_t blob_bytes)
{
    /* As LMDB computes me_nodemax: two nodes must fit a page. */
    size_t largest_node = (((page_bytes - LMDB_PAGE_HEADER_BYTES) / 2) & ~(size_t)1) - LMDB_NODE_POINTER_BYTES;
    uint64_t charge;
    if (LMDB_NODE_HEADER_BYTES + row_key_bytes + record_bytes <= largest_node) {
        charge = leaf(page_bytes, node(row_key_bytes, record_bytes));
    } else {
        uint64_t pages = ((uint64_t)record_bytes + LMDB_PAGE_HEADER_BYTES + page_bytes - 1) / page_bytes;
        charge = leaf(page_bytes, node(row_key_bytes, LMDB_PAGE_NUMBER_BYTES)) + pages * page_bytes;
    }
    return charge + hnk__cells_for(row_key_bytes - HNK_PREFIX_BYTES) * HNK_SLOT_BYTES + blob_bytes;
}

uint64_t hnk__record_blob_charge(uint64_t value_bytes)
{
    return (value_bytes + HNK_BLOCK_BYTES - 1) / HNK_BLOCK_BYTES * HNK_BLOCK_BYTES;
}

uint64_t hnk__record_expiry(const hnk__header *header, uint64_t accessed_at_ms)
{
    uint64_t expiry = header->expires_at_ms;
    if (expiry != 0 && (header->flags & HNK_RECORD_SLIDING) != 0 && expiry > header->written_at_ms) {
        uint64_t slid = accessed_at_ms + (expiry - header->written_at_ms);
        if (slid > expiry)
            expiry = slid;
    }
    return expiry;
}
