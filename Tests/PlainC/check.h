/* check.h: what the programs of this folder share: a check that ends the program, numbers from a seed, and values that
 * tell whose they are. */
#ifndef HNK_TESTS_CHECK_H
#define HNK_TESTS_CHECK_H

#include <haneke.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* Two statuses that have to be the same; both are told if they are not. */
#define EXPECT_STATUS(found, wanted) \
    do { \
        hnk_status found_ = (found), wanted_ = (wanted); \
        if (found_ != wanted_) { \
            fprintf(stderr, "%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #found, hnk_status_name(found_), \
                    hnk_status_name(wanted_)); \
            exit(1); \
        } \
    } while (0)

/* SplitMix64: the same numbers for the same seed, everywhere. */
static inline uint64_t mixed(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static inline uint64_t drawn(uint64_t *seed)
{
    *seed += 0x9E3779B97F4A7C15u;
    return mixed(*seed);
}

static inline uint32_t drawn_below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)(drawn(seed) % limit);
}

/* Values: key, version and size, then bytes that follow from all three. So a value proves by itself whose it is and
 * that it is whole. */
enum { VALUE_HEAD_BYTES = 24 };

static inline void value_write(unsigned char *out, uint64_t key, uint64_t version, size_t size)
{
    uint64_t head[3] = { key, version, size }, word = mixed(mixed(key) ^ version);
    EXPECT(size >= VALUE_HEAD_BYTES);
    memcpy(out, head, VALUE_HEAD_BYTES);
    for (size_t at = VALUE_HEAD_BYTES; at < size; at += 8, word = word * 6364136223846793005u + size)
        memcpy(out + at, &word, size - at < 8 ? size - at : 8);
}

static inline uint64_t value_version(hnk_bytes value)
{
    uint64_t version;
    memcpy(&version, (const char *)value.data + 8, 8);
    return version;
}

/* Whether it is a whole value of this key, of whatever version. */
static inline bool value_is_of(hnk_bytes value, uint64_t key)
{
    uint64_t head[3];
    if (value.size < VALUE_HEAD_BYTES)
        return false;
    memcpy(head, value.data, VALUE_HEAD_BYTES);
    if (head[0] != key || head[2] != value.size)
        return false;
    uint64_t word = mixed(mixed(key) ^ head[1]);
    const unsigned char *bytes = value.data;
    for (size_t at = VALUE_HEAD_BYTES; at < value.size; at += 8, word = word * 6364136223846793005u + value.size)
        if (memcmp(bytes + at, &word, value.size - at < 8 ? value.size - at : 8) != 0)
            return false;
    return true;
}

/* Expects every invariant to hold. `orphans_max`: files that a killed process may have left while others go on. */
static inline void expect_sound(hnk_store *store, uint64_t orphans_max)
{
    hnk_verification found = HNK_VERIFICATION_INIT;
    hnk_status status = hnk_store_verify(store, NULL, NULL, NULL, &found);
    bool forgiven = status == HNK_DAMAGED && found.orphan_blobs <= orphans_max &&
                    found.damaged_records + found.missing_blobs + found.slot_faults + found.accounting_faults +
                            found.limit_faults == 0;
    if (status != HNK_OK && !forgiven) {
        fprintf(stderr, "verify: %s %s\n", hnk_status_name(status), found.first_fault);
        exit(1);
    }
}

/* Expects a bucket's counts to be the sum over its entries; how many of those are blobs is added to *blobs. */
static inline void expect_counts_add_up(hnk_bucket *bucket, uint64_t *blobs)
{
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_list *list;
    uint64_t entries = 0, bytes = 0, payload = 0;
    hnk_status status;

    EXPECT_STATUS(hnk_list_open(bucket, NULL, &list), HNK_OK);
    while ((status = hnk_list_next(list, &entry)) == HNK_OK) {
        entries++;
        bytes += entry.charged_bytes;
        payload += entry.value_bytes;
        *blobs += (entry.flags & HNK_ENTRY_BLOB) != 0;
    }
    EXPECT_STATUS(status, HNK_NOT_FOUND);
    hnk_list_close(list);
    EXPECT_STATUS(hnk_bucket_statistics(bucket, &counts), HNK_OK);
    if (counts.entries != entries || counts.bytes != bytes || counts.payload_bytes != payload) {
        fprintf(stderr, "%llu entries of %llu bytes, %llu of values, are counted; listed are %llu of %llu, %llu\n",
                (unsigned long long)counts.entries, (unsigned long long)counts.bytes,
                (unsigned long long)counts.payload_bytes, (unsigned long long)entries, (unsigned long long)bytes,
                (unsigned long long)payload);
        exit(1);
    }
    EXPECT(counts.bytes <= counts.capacity_bytes);
}

#endif
