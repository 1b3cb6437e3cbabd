/* fuzz_record.c: any bytes as a row, taken apart; and what is written, read back.
 *
 * The input: a byte that says how the row's key is made, then the key, then the row. Half of the inputs get their
 * digests made right, so that the fuzzer comes past them. */
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

enum { LONG = 1, FITTING = 2, SEALED = 4, KEY_SHIFT = 3 }; /* of the input's first byte */

static bool lies_in(hnk_bytes part, hnk_bytes whole)
{
    const uint8_t *from = part.data, *start = whole.data;
    return part.size == 0 || (from >= start && from + part.size <= start + whole.size);
}

static bool same(hnk_bytes a, hnk_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* A record that was parsed is written again: the same bytes. */
static void write_again(const hnk__record *record, hnk_bytes row)
{
    bool is_long = (record->header.flags & HNK_RECORD_LONG_KEY) != 0;
    bool blob = (record->header.flags & HNK_RECORD_BLOB) != 0;
    hnk_bytes key = is_long ? record->key : (hnk_bytes){ NULL, 0 };

    HOLDS(hnk__record_size(record->key.size, record->metadata.size, record->header.value_bytes, blob) == row.size);
    uint8_t *again = malloc(row.size);
    HOLDS(again != NULL);
    hnk__record_write(again, &record->header, key, record->metadata, record->value);
    HOLDS(memcmp(again, row.data, row.size) == 0);
    free(again);
}

static void check_digests(const hnk__record *record, uint8_t *row, hnk_bytes row_key, size_t row_size, uint8_t salt)
{
    hnk__record changed;
    bool held = hnk__record_header_holds(record);

    HOLDS(held == (record->header.header_digest ==
                   hnk__record_header_digest(&record->header, record->key, record->metadata)));
    if (!held)
        return;
    /* One byte of header, key or metadata changed: it is no longer the record it was. */
    size_t proven = row_size - record->value.size;
    size_t at = ((size_t)salt * 131 + row_size) % proven;
    row[at] ^= (uint8_t)(salt | 1);
    HOLDS(!hnk__record_parse(&changed, row_key, (hnk_bytes){ row, row_size }) || !hnk__record_header_holds(&changed));
    row[at] ^= (uint8_t)(salt | 1);
}

/* Makes the lengths fit the row, so that most inputs are taken apart. */
static void make_fit(hnk__header *header, size_t row_size, bool is_long, uint32_t bucket_id)
{
    uint64_t left = row_size - sizeof *header;

    header->version = HNK_RECORD_VERSION;
    header->zero = 0;
    header->bucket_id = bucket_id;
    header->flags = (uint8_t)((header->flags & (HNK_RECORD_BLOB | HNK_RECORD_SLIDING)) | (is_long ? 1 : 0));
    if (!is_long)
        header->key_bytes = 0;
    if (header->key_bytes > left)
        header->key_bytes = (uint32_t)left;
    left -= header->key_bytes;
    if (header->metadata_bytes > left || (header->flags & HNK_RECORD_BLOB) != 0)
        header->metadata_bytes = (uint32_t)left;
    if ((header->flags & HNK_RECORD_BLOB) == 0)
        header->value_bytes = left - header->metadata_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    uint8_t key[HNK_ROW_KEY_MAX_BYTES + 1] = { HNK_TABLE_RECORD, 0, 0, 1, 'k' };
    hnk__record record = { .header = { .generation = 0 } };

    if (size < 1)
        return 0;
    uint8_t how = input[0];
    size_t key_size = (how & LONG) != 0 ? HNK_ROW_KEY_MAX_BYTES : (size_t)(how >> KEY_SHIFT) * 17;
    size_t given = key_size < size - 1 ? key_size : size - 1;
    if ((how & LONG) == 0) {
        memcpy(key, input + 1, given < sizeof key ? given : sizeof key);
        input += given;
        size -= given;
    }
    /* A block of its own, so that the sanitizer sees a byte too far. */
    size_t row_size = size - 1;
    uint8_t *row = malloc(row_size > 0 ? row_size : 1);
    HOLDS(row != NULL);
    memcpy(row, input + 1, row_size);
    hnk_bytes row_key = { key, key_size }, whole = { row, row_size };
    hnk__header header;
    hnk__key made;
    if (row_size >= sizeof header && (how & FITTING) != 0) {
        memcpy(&header, row, sizeof header);
        make_fit(&header, row_size, key_size == HNK_ROW_KEY_MAX_BYTES, hnk__key_bucket_id(key));
        memcpy(row, &header, sizeof header);
        if (hnk__key_record(&made, header.bucket_id, (hnk_bytes){ row + sizeof header, header.key_bytes }) == HNK_OK &&
            made.size == key_size) /* an over-long key, in its place */
            memcpy(key, made.bytes, key_size);
    }
    bool parsed = hnk__record_parse(&record, row_key, whole);
    if (parsed && (how & SEALED) != 0) {
        record.header.value_digest = hnk__digest(record.value.data, record.value.size, 0);
        record.header.header_digest = hnk__record_header_digest(&record.header, record.key, record.metadata);
        memcpy(row, &record.header, sizeof record.header);
        HOLDS(hnk__record_parse(&record, row_key, whole) && hnk__record_header_holds(&record));
    }
    if (parsed) {
        bool is_long = (record.header.flags & HNK_RECORD_LONG_KEY) != 0;
        HOLDS(row_size >= sizeof header && key_size > HNK_PREFIX_BYTES);
        HOLDS(lies_in(record.metadata, whole) && lies_in(record.value, whole));
        HOLDS(is_long ? lies_in(record.key, whole) && record.key.size > HNK_KEY_RAW_MAX_BYTES
                      : same(record.key, (hnk_bytes){ key + HNK_PREFIX_BYTES, key_size - HNK_PREFIX_BYTES }));
        HOLDS(record.key.size <= HNK_KEY_MAX_BYTES && record.metadata.size <= HNK_METADATA_MAX_BYTES);
        HOLDS(record.header.bucket_id == hnk__key_bucket_id(key));
        HOLDS(hnk__key_record(&made, record.header.bucket_id, record.key) == HNK_OK && made.size == key_size);
        HOLDS(memcmp(made.bytes + HNK_PREFIX_BYTES, key + HNK_PREFIX_BYTES, key_size - HNK_PREFIX_BYTES) == 0);
        write_again(&record, whole);
        check_digests(&record, row, row_key, row_size, how);
        HOLDS((hnk__record_expiry(&record.header, record.header.written_at_ms) == 0) ==
              (record.header.expires_at_ms == 0));
    }
    free(row);
    return 0;
}
