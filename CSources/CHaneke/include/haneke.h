/** @file
 * a cache directory that is bounded, fast, safe to kill and shared by processes.
 *
 * A *store* is one directory. It holds *buckets*, each a named region with a capacity of its own. A bucket maps keys
 * (1 byte to 64 KiB) to values (any bytes, zero included) and, when room is needed, gives up what was used least
 * recently (or what SIEVE chooses: hnk_eviction). The heart of a program, without its checks:
 *
 * @code{.c}
 *     hnk_store_open("/tmp/demo-cache", NULL, &store, NULL);
 *     hnk_bucket_open(store, HNK_TEXT("pages"), NULL, &bucket, NULL);
 *     hnk_bucket_set(bucket, HNK_TEXT("greeting"), HNK_TEXT("hello"), NULL);
 *     if (hnk_bucket_get(bucket, HNK_TEXT("greeting"), 0, &lease) == HNK_OK) {
 *         hnk_bytes value = hnk_lease_value(lease);
 *         printf("%.*s\n", (int)value.size, (const char *)value.data);
 *         hnk_lease_release(lease);
 *     }
 *     hnk_bucket_close(bucket);
 *     hnk_store_close(store);
 * @endcode
 *
 * Whole programs are in Examples/c; docs/c/README.md is the guide. Conventions, said once:
 *
 * Status      Every function that can fail returns hnk_status: 0 is fine, positive is an answer ("not found"), negative
 *             an error. On anything but HNK_OK out-parameters are NULL or untouched.
 * Ownership   Inputs are borrowed for the call. A handle that a function gives you is yours until you hand it to the
 *             function named in its comment. Releasing NULL does nothing. NULL for any other handle, or for an
 *             out-parameter whose comment does not allow it, is a bug of the caller and ends the program.
 * Threads     Any handle on any thread, any number at once, unless a comment says otherwise. Readers never wait for a
 *             writer. Giving a handle back is its last use: no other thread may still be in a call with it.
 * Processes   Any number may open one directory. After fork() a child must open its own handles: calls on inherited
 *             ones answer HNK_ERROR_FORKED, and giving them back does nothing.
 * Units       Sizes are bytes, times milliseconds (since 1970 where they name a moment, ends in _at_ms).
 * Memory      By malloc, with no hook to replace it. LMDB and xxHash call malloc themselves, so a hook would tell only
 *             a part of the truth: the get, read, peek or touch of a value inside data.mdb allocates nothing while up
 *             to 64 of them, or of their leases, are under way at once, and what other calls allocate is bounded
 *             (docs/c/README.md, Memory). Where malloc fails the answer is HNK_ERROR_MEMORY, and the store is sound.
 * Options     Structs that start with struct_size; start from their _INIT macro. NULL means the defaults. Unknown
 *             flags and fields of a newer library are refused, never ignored.
 * Durability  A killed process loses nothing that was committed, which is: everything whose call has returned. What
 *             an operating-system crash may take is said at hnk_sync_mode.
 */
#ifndef HANEKE_H
#define HANEKE_H

#include <stddef.h>
#include <stdint.h>

/* Annotations: read by clang and Swift, invisible to everyone else. ------------------------------------------------ */

#ifndef __has_feature
#  define __has_feature(x) 0
#endif
#ifndef __has_attribute
#  define __has_attribute(x) 0
#endif
#if __has_feature(nullability)
#  define HNK_NULLABLE _Nullable
#  define HNK_NONNULL _Nonnull
#  define HNK_BEGIN_NONNULL _Pragma("clang diagnostic push") \
    _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") _Pragma("clang assume_nonnull begin")
#  define HNK_END_NONNULL _Pragma("clang assume_nonnull end") _Pragma("clang diagnostic pop")
#else
#  define HNK_NULLABLE
#  define HNK_NONNULL
#  define HNK_BEGIN_NONNULL
#  define HNK_END_NONNULL
#endif
#if __has_attribute(enum_extensibility)
#  define HNK_OPEN_ENUM __attribute__((enum_extensibility(open)))
#else
#  define HNK_OPEN_ENUM
#endif
#if __has_attribute(swift_name)
#  define HNK_SWIFT_NAME(name) __attribute__((swift_name(name)))
#else
#  define HNK_SWIFT_NAME(name)
#endif
#if defined(__GNUC__)
#  define HNK_API __attribute__((visibility("default")))
#  define HNK_MUST_CHECK __attribute__((warn_unused_result))
#else
#  define HNK_API
#  define HNK_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif
HNK_BEGIN_NONNULL

/* Version ---------------------------------------------------------------------------------------------------------- */

#define HNK_VERSION_MAJOR 0      /**< of this header: grows when a caller has to change */
#define HNK_VERSION_MINOR 1      /**< grows with what is new */
#define HNK_VERSION_PATCH 0      /**< grows with what is mended */
#define HNK_VERSION_TEXT "0.1.0" /**< the three of them; hnk_version() has those of the library that runs */

#define HNK_KEY_MAX_BYTES 65536u        /**< the longest key; the shortest has 1 byte */
#define HNK_METADATA_MAX_BYTES 65536u   /**< the most metadata of an entry */
#define HNK_BUCKET_NAME_MAX_BYTES 255u  /**< the longest name of a bucket; the empty name is a name */

#define HNK_CAPACITY_UNLIMITED UINT64_MAX /**< no capacity: the disk is the limit */
#define HNK_LIFETIME_DEFAULT 0            /**< the bucket's own lifetime */
#define HNK_LIFETIME_FOREVER INT64_MAX    /**< until evicted or removed */

/** The version of the library that is running, "0.1.0": static text.
 *
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API const char *hnk_version(void);

/** The versions of what the library was built on, for reports of bugs: "haneke 0.1.0, format 1, LMDB 0.9.24, xxHash
 * 0.8.1". Static text.
 *
 * Threads     Any.
 * Cost        The first call writes it.
 * Errors      None.
 */
HNK_API const char *hnk_build_information(void);

/* Statuses --------------------------------------------------------------------------------------------------------- */

/** How a call ended: 0 is fine, positive is an answer, negative an error. A number, once given, is never changed nor
 * used again. hnk_status_text() has a sentence for each. */
typedef enum HNK_OPEN_ENUM hnk_status {
    HNK_OK HNK_SWIFT_NAME("ok") = 0,                                 /**< done */

    HNK_NOT_FOUND HNK_SWIFT_NAME("notFound") = 1,                    /**< no such entry, or no further one */
    HNK_EXPIRED HNK_SWIFT_NAME("expired") = 2,                       /**< there, but its lifetime is over */
    HNK_DAMAGED HNK_SWIFT_NAME("damaged") = 3,                       /**< failed its checksum: counted, removed soon */

    HNK_ERROR_IO HNK_SWIFT_NAME("io") = -1,                          /**< the system refused; see hnk_error.os_error */
    HNK_ERROR_MEMORY HNK_SWIFT_NAME("memory") = -2,                  /**< no memory */
    HNK_ERROR_ARGUMENT HNK_SWIFT_NAME("argument") = -3,              /**< an option or flag that is not known */
    HNK_ERROR_KEY_SIZE HNK_SWIFT_NAME("keySize") = -4,               /**< empty, or over HNK_KEY_MAX_BYTES */
    HNK_ERROR_METADATA_SIZE HNK_SWIFT_NAME("metadataSize") = -5,     /**< over HNK_METADATA_MAX_BYTES */
    HNK_ERROR_NAME_SIZE HNK_SWIFT_NAME("nameSize") = -6,             /**< over HNK_BUCKET_NAME_MAX_BYTES */
    HNK_ERROR_VALUE_TOO_LARGE HNK_SWIFT_NAME("valueTooLarge") = -7,  /**< it alone exceeds the capacity */
    HNK_ERROR_BUFFER_SIZE HNK_SWIFT_NAME("bufferSize") = -8,         /**< too small; the size is told */
    HNK_ERROR_DISK_FULL HNK_SWIFT_NAME("diskFull") = -9,             /**< no room, even after evicting */
    HNK_ERROR_ACCESS HNK_SWIFT_NAME("access") = -10,                 /**< it may not be read and written */
    HNK_ERROR_NOT_A_DIRECTORY HNK_SWIFT_NAME("notADirectory") = -11, /**< a file stands there */
    HNK_ERROR_NOT_A_STORE HNK_SWIFT_NAME("notAStore") = -12,         /**< data.mdb there is another program's */
    HNK_ERROR_NEWER_FORMAT HNK_SWIFT_NAME("newerFormat") = -13,      /**< by a newer library; left untouched */
    HNK_ERROR_DAMAGED_STORE HNK_SWIFT_NAME("damagedStore") = -14,    /**< and may not be salvaged, or only by an open */
    HNK_ERROR_DIRECTORY_GONE HNK_SWIFT_NAME("directoryGone") = -15,  /**< deleted while open: open it again */
    HNK_ERROR_FORKED HNK_SWIFT_NAME("forked") = -16,                 /**< the handle is from before fork() */
    HNK_ERROR_READERS_FULL HNK_SWIFT_NAME("readersFull") = -17,      /**< too many leases, over all processes */
    HNK_ERROR_BUCKETS_FULL HNK_SWIFT_NAME("bucketsFull") = -18,      /**< 16 million were made in its life */
    HNK_ERROR_CANCELLED HNK_SWIFT_NAME("cancelled") = -19,           /**< a progress function said so */
    HNK_ERROR_INTERNAL HNK_SWIFT_NAME("internal") = -20              /**< a bug here; please report it */
} hnk_status;

/** The name of a status, "HNK_NOT_FOUND": static text; "HNK_UNKNOWN" for a number that this library does not know.
 *
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API const char *hnk_status_name(hnk_status status);

/** One sentence: what happened and what to do. Static text.
 *
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API const char *hnk_status_text(hnk_status status);

/** Detail of a failure, for the caller who passes one; every function that takes it accepts NULL. Untouched on
 * HNK_OK. */
typedef struct hnk_error {
    hnk_status status; /**< the one that the call returned */
    int os_error;      /**< errno, or 0 when the system had no part in it */
    char message[256]; /**< names the operation and the file, ends in NUL */
} hnk_error;

/** Bytes, borrowed. */
typedef struct hnk_bytes {
    const void *HNK_NULLABLE data; /**< the first one; may be NULL when size is 0 */
    size_t size;                   /**< in bytes */
} hnk_bytes;

/** The bytes of a string literal, without its NUL: HNK_TEXT("icons"). For text behind a pointer use strlen(). */
#ifdef __cplusplus
#  define HNK_TEXT(text) (hnk_bytes{(text), sizeof(text) - 1})
#else
#  define HNK_TEXT(text) ((hnk_bytes){(text), sizeof(text) - 1})
#endif

typedef struct hnk_store hnk_store;   /**< an open directory: hnk_store_open() to hnk_store_close() */
typedef struct hnk_bucket hnk_bucket; /**< an open bucket: hnk_bucket_open() to hnk_bucket_close() */
typedef struct hnk_lease hnk_lease;   /**< a pinned value: hnk_bucket_get() to hnk_lease_release() */
typedef struct hnk_writer hnk_writer; /**< a value on its way: hnk_writer_begin() to hnk_writer_commit() or _abort() */
typedef struct hnk_list hnk_list;     /**< a walk over entries: hnk_list_open() to hnk_list_close() */

/* Store ------------------------------------------------------------------------------------------------------------ */

/** When commits reach the disk's surface. A killed process loses nothing under any of them; the question is a crash
 * of the operating system or the power supply. */
typedef enum HNK_OPEN_ENUM hnk_sync_mode {
    /** When the system likes: such a crash may take everything since the last sync. The default: it is a cache. */
    HNK_SYNC_NONE HNK_SWIFT_NAME("none") = 0,
    /** A thread of the store syncs every sync_interval_ms if something has changed. */
    HNK_SYNC_INTERVAL HNK_SWIFT_NAME("interval") = 1,
    /** Before each write returns: milliseconds each. */
    HNK_SYNC_COMMIT HNK_SWIFT_NAME("commit") = 2
} hnk_sync_mode;

/** What to do with a store that a crash of the system or a hand from outside has damaged. Either way no byte is
 * served whose checksum fails. What was salvaged from is kept beside the new file for a day as data.mdb.damaged: the
 * first open after that removes it, hnk_store_compact() at once. */
typedef enum HNK_OPEN_ENUM hnk_damage_policy {
    /** Keep each record that proves whole. After a lost page an entry may be an older value of its key, for LMDB's
     * pages can't tell. The default. */
    HNK_DAMAGE_SALVAGE HNK_SWIFT_NAME("salvage") = 0,
    /** Begin empty, also after any crash of the system: strict. */
    HNK_DAMAGE_DISCARD HNK_SWIFT_NAME("discard") = 1,
    /** HNK_ERROR_DAMAGED_STORE; nothing is touched. */
    HNK_DAMAGE_REFUSE HNK_SWIFT_NAME("refuse") = 2
} hnk_damage_policy;

/** How a store is opened. A member that is 0 has its default. */
typedef struct hnk_store_options {
    uint32_t struct_size;          /**< HNK_STORE_OPTIONS_INIT fills it in */
    uint32_t flags;                /**< 0, or HNK_STORE_* */
    uint32_t sync_mode;            /**< hnk_sync_mode */
    uint32_t sync_interval_ms;     /**< for HNK_SYNC_INTERVAL; 0 = 1,000 */
    uint32_t damage_policy;        /**< hnk_damage_policy */
    uint32_t readers_max;          /**< leases and reading threads at once, over all processes; the first opener
                                      decides; 0 = 510 */
    uint64_t blob_threshold_bytes; /**< a larger value gets a file of its own; 0 = 262,144 */
    uint64_t map_bytes;            /**< address space for data.mdb, which never outgrows it: the same in all processes;
                                      0 = 64 GiB (1 GiB where pointers have 32 bits), or less, by halves, where the
                                      process may not have so much. Each open bucket takes up to a seventh as much. */
} hnk_store_options;

/** Every member at its default. */
#define HNK_STORE_OPTIONS_INIT { (uint32_t)sizeof(hnk_store_options), 0, 0, 0, 0, 0, 0, 0 }
#define HNK_STORE_MUST_EXIST 1u /**< do not make a store where there is none: HNK_NOT_FOUND */

/** Opens the store in `directory`, making the directory (its parents too) and the store where they are missing.
 *
 * Ownership   `directory` and `options` are borrowed. *out_store is yours: hnk_store_close().
 * Threads     Any. Opening a directory again in one process gives a further reference to the same store; the options of
 *             the first opener hold.
 * Cost        Under a millisecond after a clean close, whatever the size. After a crash or a foreign change the pages
 *             are checked first: from 10 ms per GiB (large values) to 400 (small ones), and 300 more when the checksums
 *             must be proven too.
 * Durability  Files that a killed writer left behind are swept away.
 * Errors      HNK_NOT_FOUND (HNK_STORE_MUST_EXIST), HNK_ERROR_ACCESS, _NOT_A_DIRECTORY, _NOT_A_STORE, _NEWER_FORMAT,
 *             _DAMAGED_STORE, _DISK_FULL, _ARGUMENT, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_open(
    const char *directory, const hnk_store_options *HNK_NULLABLE options,
    hnk_store *HNK_NULLABLE *HNK_NONNULL out_store, hnk_error *HNK_NULLABLE error);

/** Gives back one reference. Buckets, leases, lists and writers hold references of their own, so the order of closing
 * does not matter; the last one closes the files and marks them clean.
 *
 * Ownership   `store` may not be used again. NULL does nothing; in a forked child only the handle is forgotten.
 * Threads     Any.
 * Cost        The last reference: what is needed for a clean close, some system calls.
 * Errors      None.
 */
HNK_API void hnk_store_close(hnk_store *HNK_NULLABLE store);

/** Makes everything committed so far, by any process, survive a crash of the system.
 *
 * Threads     Any. Readers and writers go on.
 * Cost        One fsync and the pages it has to write.
 * Errors      HNK_ERROR_IO, _DISK_FULL, _FORKED.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_sync(hnk_store *store, hnk_error *HNK_NULLABLE error);

/** Gives the blocks of free pages back to the file system, by punching holes, and removes a data.mdb.damaged. Pages
 * that a reader may still see are left alone; where the file system has no holes, they all stay.
 *
 * Ownership   `*out_freed_bytes` (may be NULL) is by how much the directory shrank on the disk, in bytes.
 * Threads     Any. Readers of all processes go on, writers wait.
 * Cost        No copying: one sync and about a millisecond per thousand free pages.
 * Errors      HNK_ERROR_IO, _FORKED, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_compact(
    hnk_store *store, uint64_t *HNK_NULLABLE out_freed_bytes, hnk_error *HNK_NULLABLE error);

/** The directory, as given to the first hnk_store_open() and made absolute.
 *
 * Ownership   The text lives as long as the store.
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API const char *hnk_store_directory(hnk_store *store);

/* Buckets ---------------------------------------------------------------------------------------------------------- */

/** When the checksums of a record are proven. */
typedef enum HNK_OPEN_ENUM hnk_check_mode {
    /** Once per record and process, for damage happens on the way from the disk. The default. */
    HNK_CHECK_FIRST_READ HNK_SWIFT_NAME("firstRead") = 0,
    /** About 0.1 ns per byte on each read. */
    HNK_CHECK_EVERY_READ HNK_SWIFT_NAME("everyRead") = 1,
    /** Only lengths and key are checked. */
    HNK_CHECK_NEVER HNK_SWIFT_NAME("never") = 2
} hnk_check_mode;

/** Which entry goes when a bucket is over its limits. */
typedef enum HNK_OPEN_ENUM hnk_eviction {
    /** The one that was set, read or touched least recently: exactly up to 4,096 entries, above them the oldest of 32
     * drawn at random (hit ratios differ by less than 0.001). The default. */
    HNK_EVICTION_LRU HNK_SWIFT_NAME("leastRecentlyUsed") = 0,
    /** In order of insertion, but what was read since it was last passed over stays (SIEVE). Fewer misses than LRU
     * where many entries are read once; more where the set that is in use moves quickly. */
    HNK_EVICTION_SIEVE HNK_SWIFT_NAME("sieve") = 1
} hnk_eviction;

/** What a bucket is set to. `fields` says which members count: for a new bucket the others take their defaults, for
 * an existing one they stay as they are. All are kept in the store. */
typedef struct hnk_bucket_options {
    uint32_t struct_size;    /**< HNK_BUCKET_OPTIONS_INIT fills it in */
    uint32_t fields;         /**< HNK_FIELD_* */
    uint64_t capacity_bytes; /**< most that entries may take on the disk; default HNK_CAPACITY_UNLIMITED */
    uint64_t entries_max;    /**< most entries; 0 = no limit, the default */
    int64_t lifetime_ms;     /**< of entries set without one; HNK_LIFETIME_FOREVER is the default */
    uint32_t check_mode;     /**< hnk_check_mode; default HNK_CHECK_FIRST_READ */
    uint32_t eviction;       /**< hnk_eviction; default HNK_EVICTION_LRU */
} hnk_bucket_options;

/** No member counts: a new bucket has every default, an existing one stays as it is. */
#define HNK_BUCKET_OPTIONS_INIT { (uint32_t)sizeof(hnk_bucket_options), 0, 0, 0, 0, 0, 0 }
#define HNK_FIELD_CAPACITY 1u    /**< capacity_bytes counts */
#define HNK_FIELD_ENTRIES 2u     /**< entries_max counts */
#define HNK_FIELD_LIFETIME 4u    /**< lifetime_ms counts */
#define HNK_FIELD_CHECK 8u       /**< check_mode counts */
#define HNK_FIELD_EVICTION 32u   /**< eviction counts */
#define HNK_FIELD_MUST_EXIST 16u /**< not a member: do not make the bucket, answer HNK_NOT_FOUND */

/** Opens the bucket `name`, making it where it is missing, and applies `options`. A capacity under what is held
 * evicts at once.
 *
 * Ownership   *out_bucket is yours: hnk_bucket_close(). It keeps its store open.
 * Threads     Any. Opening a name again gives a further reference to the same bucket.
 * Cost        A lookup; a write transaction where something is made or changed.
 * Durability  As a set.
 * Errors      HNK_NOT_FOUND (HNK_FIELD_MUST_EXIST), HNK_ERROR_NAME_SIZE, _ARGUMENT, _DISK_FULL, _DIRECTORY_GONE,
 *             _FORKED, _BUCKETS_FULL, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_open(
    hnk_store *store, hnk_bytes name, const hnk_bucket_options *HNK_NULLABLE options,
    hnk_bucket *HNK_NULLABLE *HNK_NONNULL out_bucket, hnk_error *HNK_NULLABLE error);

/** Gives back one reference.
 *
 * Ownership   `bucket` may not be used again. NULL does nothing; in a forked child only the handle is forgotten.
 * Threads     Any.
 * Cost        Of the last handle a write transaction, where records that were found damaged are still to be removed;
 *             else none.
 * Errors      None.
 */
HNK_API void hnk_bucket_close(hnk_bucket *HNK_NULLABLE bucket);

/** What the bucket is set to now, by whatever process, with all HNK_FIELD_* of members.
 *
 * Ownership   `*out_options` is filled up to its struct_size.
 * Threads     Any.
 * Cost        A lookup.
 * Errors      HNK_NOT_FOUND (dropped meanwhile), HNK_ERROR_READERS_FULL, _FORKED, _IO.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_settings(hnk_bucket *bucket, hnk_bucket_options *out_options);

/** Changes an open bucket, as hnk_bucket_open() does. Lowering a limit evicts before the call returns; capacity 0
 * empties the bucket and then refuses every value.
 *
 * Threads     Any; writers of all processes take turns.
 * Cost        A write transaction, and O(evicted).
 * Durability  As a set.
 * Errors      HNK_NOT_FOUND (dropped meanwhile), HNK_ERROR_ARGUMENT, _DISK_FULL, _DIRECTORY_GONE, _FORKED, _IO,
 *             _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_configure(
    hnk_bucket *bucket, const hnk_bucket_options *options, hnk_error *HNK_NULLABLE error);

/** Told of an entry that was evicted: `context` as given, its key, and how long its value was. */
typedef void (*hnk_eviction_notice)(void *HNK_NULLABLE context, hnk_bytes key, uint64_t value_bytes);

/** Has `notice` called for each entry that this process evicts from the bucket, in order; NULL: no more. It replaces
 * the one before. Evicted is what goes for a limit or a full disk, not what is removed, replaced or refused, nor what
 * a capacity of 0 empties.
 *
 * Ownership   `context` is handed to `notice`, whose key is valid during the call. Both are used until another is set
 *             or the last handle of the bucket in this process is closed; a write under way on another thread may still
 *             come to call the old one.
 * Threads     Any. `notice` runs on the thread whose call evicted, before that returns, once the write is committed and
 *             with no lock held: it may call anything but give back the handle that is being written to. In between the
 *             key may have been set again.
 * Cost        Of each notice a copy of its key; without one nothing.
 * Errors      HNK_ERROR_FORKED.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_on_eviction(
    hnk_bucket *bucket, hnk_eviction_notice HNK_NULLABLE notice, void *HNK_NULLABLE context);

/** A bucket's name, out of a walk. */
typedef struct hnk_bucket_name {
    size_t size;                           /**< of the name, in bytes */
    char bytes[HNK_BUCKET_NAME_MAX_BYTES]; /**< the name, without a NUL behind it */
} hnk_bucket_name;

/** Walks the names of all buckets in byte order, also of those that nobody has open: start with NULL, then pass the
 * last one. HNK_NOT_FOUND ends the walk.
 *
 * Ownership   `after` and `out_name` may be the same.
 * Threads     Any; each step sees the store as it is then.
 * Cost        A lookup.
 * Errors      HNK_NOT_FOUND (there is no further one), HNK_ERROR_NAME_SIZE, _READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_next_bucket(
    hnk_store *store, const hnk_bucket_name *HNK_NULLABLE after, hnk_bucket_name *out_name);

/** Removes the bucket `name` with all it holds. Handles of it that are open, in any process, find nothing and answer
 * HNK_NOT_FOUND to writes.
 *
 * Threads     Any; writers of all processes take turns. Leases that are held stay readable.
 * Cost        One write transaction, O(entries).
 * Durability  As a set.
 * Errors      HNK_NOT_FOUND, HNK_ERROR_NAME_SIZE, _DISK_FULL, _DIRECTORY_GONE, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_drop_bucket(
    hnk_store *store, hnk_bytes name, hnk_error *HNK_NULLABLE error);

/* Reading ---------------------------------------------------------------------------------------------------------- */

/** What is known of an entry beside its value. */
typedef struct hnk_entry {
    uint32_t struct_size;     /**< HNK_ENTRY_INIT fills it in */
    uint32_t flags;           /**< HNK_ENTRY_* */
    hnk_bytes key;            /**< whole; valid as long as its lease, or until the list moves on; empty out of a peek */
    uint64_t value_bytes;     /**< length of the value */
    uint64_t metadata_bytes;  /**< length of the metadata */
    uint64_t charged_bytes;   /**< what it counts against the capacity: its share of pages and blocks on the disk */
    uint64_t written_at_ms;   /**< when it was set */
    uint64_t accessed_at_ms;  /**< last read, write or touch; 0 = unknown */
    uint64_t expires_at_ms;   /**< 0 = never */
    uint32_t user_flags;      /**< as given with the value */
    uint32_t reserved;        /**< 0 */
} hnk_entry;

/** An entry to be filled in. */
#define HNK_ENTRY_INIT { (uint32_t)sizeof(hnk_entry), 0, { NULL, 0 }, 0, 0, 0, 0, 0, 0, 0, 0 }
#define HNK_ENTRY_BLOB 1u    /**< the value lies in a file of its own */
#define HNK_ENTRY_SLIDING 2u /**< each access starts the lifetime anew */
#define HNK_ENTRY_EXPIRED 4u /**< its lifetime is over */

#define HNK_GET_QUIET 1u   /**< no use of the entry: neither access time nor hit and miss counts change */
#define HNK_GET_EXPIRED 2u /**< an entry whose lifetime is over is given too; hnk_lease_entry() tells */

/** Pins the value stored under `key` for reading in place.
 *
 * Ownership   *out_lease is yours: hnk_lease_release() it, on any thread. It keeps its store open. A lease of a value
 *             inside data.mdb keeps the pages of its moment from being used again, so the file grows while writers go
 *             on: release soon, or copy. A lease of a blob pins only its file.
 * Threads     Any, any number at once. Never waits for a writer.
 * Cost        O(log n) pages; on the first read of a record in this process one checksum of the value; one atomic
 *             store. No copy, no disk write. A blob is mapped: some system calls.
 * Durability  A crash may forget that the key was read, never its value.
 * Errors      HNK_NOT_FOUND, HNK_EXPIRED, HNK_DAMAGED (answers: *out_lease is NULL), HNK_ERROR_KEY_SIZE, _ARGUMENT,
 *             _READERS_FULL, _DAMAGED_STORE (pages have gone bad), _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_get(
    hnk_bucket *bucket, hnk_bytes key, uint32_t flags, hnk_lease *HNK_NULLABLE *HNK_NONNULL out_lease);

/** The value, in place.
 *
 * Ownership   Valid until the lease is released. data is not NULL, also when size is 0.
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API hnk_bytes hnk_lease_value(const hnk_lease *lease);

/** The metadata given with the value; empty if none was.
 *
 * Ownership   Valid until the lease is released.
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API hnk_bytes hnk_lease_metadata(const hnk_lease *lease);

/** What is known of the entry.
 *
 * Ownership   `*out_entry` is filled up to its struct_size; its key is valid until the lease is released.
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API void hnk_lease_entry(const hnk_lease *lease, hnk_entry *out_entry);

/** Unpins the value.
 *
 * Ownership   `lease`, and what it gave out, may not be used again. NULL does nothing; in a forked child only the
 *             handle is forgotten.
 * Threads     Any, also another than the one that got it.
 * Cost        An atomic store; of a blob, some system calls.
 * Errors      None.
 */
HNK_API void hnk_lease_release(hnk_lease *HNK_NULLABLE lease);

/** Copies the value into the caller's buffer: the way for small values, with nothing to release.
 *
 * Ownership   `buffer` is the caller's, `buffer_bytes` long (NULL and 0 just ask for the size).
 * Threads     As hnk_bucket_get().
 * Cost        As hnk_bucket_get(), and a copy.
 * Durability  As hnk_bucket_get().
 * Errors      As hnk_bucket_get(), and HNK_ERROR_BUFFER_SIZE. *out_value_bytes is set on HNK_OK and
 *             HNK_ERROR_BUFFER_SIZE.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_read(
    hnk_bucket *bucket, hnk_bytes key, uint32_t flags, void *HNK_NULLABLE buffer, size_t buffer_bytes,
    size_t *out_value_bytes);

/** Tells whether `key` is there, and what is known of it, without using it: no access time, no count, no value read.
 *
 * Ownership   `*out_entry` (may be NULL) is filled up to its struct_size, with an empty key; also with HNK_EXPIRED.
 * Threads     As hnk_bucket_get().
 * Cost        O(log n) pages.
 * Errors      HNK_NOT_FOUND, HNK_EXPIRED, HNK_DAMAGED (the record itself; its value is not looked at),
 *             HNK_ERROR_KEY_SIZE, _READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_peek(hnk_bucket *bucket, hnk_bytes key, hnk_entry *HNK_NULLABLE out_entry);

/** Marks `key` as used now, which also starts a sliding lifetime anew.
 *
 * Threads     As hnk_bucket_get().
 * Cost        As hnk_bucket_peek(), and an atomic store; no write transaction.
 * Durability  A crash may forget it.
 * Errors      As hnk_bucket_peek().
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_touch(hnk_bucket *bucket, hnk_bytes key);

/* Writing ---------------------------------------------------------------------------------------------------------- */

/** What goes with a value. */
typedef struct hnk_set_options {
    uint32_t struct_size; /**< HNK_SET_OPTIONS_INIT fills it in */
    uint32_t flags;       /**< 0 or HNK_SET_SLIDING */
    int64_t lifetime_ms;  /**< HNK_LIFETIME_DEFAULT, _FOREVER, or from now; negative = expired from the start */
    hnk_bytes metadata;   /**< up to HNK_METADATA_MAX_BYTES of the caller's own: an ETag, a content type */
    uint32_t user_flags;  /**< kept and given back */
    uint32_t reserved;    /**< 0 */
} hnk_set_options;

/** The bucket's lifetime, no metadata, no flags. */
#define HNK_SET_OPTIONS_INIT { (uint32_t)sizeof(hnk_set_options), 0, 0, { NULL, 0 }, 0, 0 }
#define HNK_SET_SLIDING 1u /**< each read or touch starts the lifetime anew */

/** Stores `value` under `key`, replacing what was there.
 *
 * Ownership   Everything is borrowed for the call.
 * Threads     Any; writers of all processes take turns.
 * Cost        One write transaction: about 10-20 us for small values; hnk_store_apply() shares one among many. Over
 *             blob_threshold_bytes a file is written, before the turn is taken.
 * Durability  Committed when the call returns; see hnk_sync_mode. Entries have gone, in the order of hnk_eviction, so
 *             that the bucket is at or under its limits. On an error the key is as it was before, except under
 *             HNK_ERROR_VALUE_TOO_LARGE; under HNK_ERROR_DISK_FULL other entries may have been evicted in vain, and
 *             where HNK_SYNC_COMMIT fails to sync, the value is there but may not survive a crash of the system. That
 *             the directory was deleted is noticed within 16 writes, or by a write a second after the last look; what
 *             was written before went with it.
 * Errors      HNK_ERROR_KEY_SIZE, _METADATA_SIZE, _ARGUMENT, _DISK_FULL, _DIRECTORY_GONE, _FORKED, _IO, _MEMORY;
 *             HNK_NOT_FOUND (the bucket was dropped); HNK_ERROR_VALUE_TOO_LARGE: nothing was evicted, and the key's old
 *             value, now stale, is removed.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_set(
    hnk_bucket *bucket, hnk_bytes key, hnk_bytes value, const hnk_set_options *HNK_NULLABLE options);

/** Stores what a file holds under `key`, as hnk_bucket_set() would, with little memory whatever its length.
 *
 * Ownership   Everything is borrowed for the call; the file at `path` stays as it is. Should it change meanwhile, the
 *             value is what was read.
 * Threads     As hnk_bucket_set(); the file is read before the turn is taken.
 * Cost        A copy of the file, and one write transaction.
 * Durability  As hnk_bucket_set().
 * Errors      As hnk_bucket_set(). Of the file at `path`, with *error naming it: HNK_ERROR_ACCESS, _IO (also: it is no
 *             regular file), HNK_NOT_FOUND (there is none).
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_set_file(
    hnk_bucket *bucket, hnk_bytes key, const char *path, const hnk_set_options *HNK_NULLABLE options,
    hnk_error *HNK_NULLABLE error);

/** Removes `key`.
 *
 * Threads     As hnk_bucket_set().
 * Cost        One write transaction.
 * Durability  As a set.
 * Errors      HNK_NOT_FOUND (no such key, or the bucket was dropped), HNK_ERROR_KEY_SIZE, _DISK_FULL, _DIRECTORY_GONE,
 *             _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_remove(hnk_bucket *bucket, hnk_bytes key);

/** Removes every key that starts with `prefix` (the empty prefix: all), in one transaction: readers see all of it or
 * nothing.
 *
 * Ownership   `*out_removed` (may be NULL) counts.
 * Threads     As hnk_bucket_set().
 * Cost        O(removed), about a microsecond each.
 * Durability  As a set.
 * Errors      As hnk_bucket_remove(); none removed is HNK_OK.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_remove_prefix(
    hnk_bucket *bucket, hnk_bytes prefix, uint64_t *HNK_NULLABLE out_removed);

/** Removes every entry; the bucket and its settings stay. As hnk_bucket_remove_prefix() with the empty prefix, but
 * faster.
 *
 * Threads     As hnk_bucket_set().
 * Cost        O(removed).
 * Durability  As a set.
 * Errors      As hnk_bucket_remove(); none removed is HNK_OK.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_remove_all(hnk_bucket *bucket);

/** Removes the entries whose lifetime is over, which otherwise stay until they are evicted or replaced.
 *
 * Ownership   `*out_removed` (may be NULL) counts.
 * Threads     As hnk_bucket_set().
 * Cost        O(entries) lookups in one write transaction.
 * Durability  As a set.
 * Errors      As hnk_bucket_remove(); none removed is HNK_OK.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_remove_expired(hnk_bucket *bucket, uint64_t *HNK_NULLABLE out_removed);

/** One step of hnk_store_apply(). Zero what is not used. */
typedef struct hnk_operation {
    hnk_bucket *bucket;  /**< of the store that carries it out */
    uint32_t kind;       /**< hnk_operation_kind */
    uint32_t flags;      /**< of a set: as hnk_set_options.flags */
    hnk_bytes key;       /**< of a set or remove */
    hnk_bytes value;     /**< of a set */
    hnk_bytes metadata;  /**< of a set: as in hnk_set_options */
    int64_t lifetime_ms; /**< of a set: as in hnk_set_options */
    uint32_t user_flags; /**< of a set: as in hnk_set_options */
    uint32_t reserved;   /**< 0 */
} hnk_operation;

/** What a step of hnk_store_apply() does. */
typedef enum HNK_OPEN_ENUM hnk_operation_kind {
    HNK_OPERATION_SET HNK_SWIFT_NAME("set") = 1,             /**< as hnk_bucket_set() */
    HNK_OPERATION_REMOVE HNK_SWIFT_NAME("remove") = 2,       /**< as hnk_bucket_remove() */
    HNK_OPERATION_REMOVE_ALL HNK_SWIFT_NAME("removeAll") = 3 /**< as hnk_bucket_remove_all() */
} hnk_operation_kind;

/** Carries out many writes, in order, of any buckets of the store, in one transaction: three to four times as fast as
 * one by one.
 *
 * Ownership   All borrowed. out_statuses has room for `count` (or is NULL).
 * Threads     As hnk_bucket_set().
 * Cost        One commit and what each write costs.
 * Durability  All or nothing reach the store, except that steps refused by themselves (out_statuses other than HNK_OK:
 *             a key of wrong size, a value too large, a key not there) leave the others alone.
 * Errors      As hnk_bucket_set(): anything but HNK_OK means that nothing was changed. HNK_OK with a look at
 *             out_statuses is success.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_apply(
    hnk_store *store, const hnk_operation *operations, size_t count, hnk_status *HNK_NULLABLE out_statuses,
    hnk_error *HNK_NULLABLE error);

/** Starts a value that should not be in memory at once. Nothing is visible before hnk_writer_commit().
 *
 * Ownership   *out_writer is yours: end it with hnk_writer_commit() or hnk_writer_abort(). `key` and `options` are
 *             copied.
 * Threads     One thread at a time per writer.
 * Cost        A temporary file; no turn among the writers is taken before the commit.
 * Durability  A killed process leaves nothing visible; its temporary file is swept at the next open.
 * Errors      HNK_ERROR_KEY_SIZE, _METADATA_SIZE, _ARGUMENT, _DISK_FULL, _ACCESS, _DIRECTORY_GONE, _FORKED, _IO,
 *             _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_writer_begin(
    hnk_bucket *bucket, hnk_bytes key, const hnk_set_options *HNK_NULLABLE options,
    hnk_writer *HNK_NULLABLE *HNK_NONNULL out_writer);

/** Adds bytes at the end of the value.
 *
 * Threads     One at a time per writer.
 * Cost        One write to the temporary file.
 * Errors      HNK_ERROR_DISK_FULL, _IO, _FORKED; after one the writer can only be aborted.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_writer_append(hnk_writer *writer, hnk_bytes bytes);

/** Makes the value visible, and ends the writer whatever the outcome.
 *
 * Ownership   `writer` may not be used again.
 * Threads     As hnk_bucket_set().
 * Cost        One write transaction; a value up to blob_threshold_bytes is copied into data.mdb.
 * Durability  As hnk_bucket_set().
 * Errors      As hnk_bucket_set(), and the one of an append that failed.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_writer_commit(hnk_writer *writer);

/** Forgets everything and ends the writer.
 *
 * Ownership   `writer` may not be used again. NULL does nothing.
 * Threads     Any.
 * Cost        Some system calls.
 * Errors      None.
 */
HNK_API void hnk_writer_abort(hnk_writer *HNK_NULLABLE writer);

/* Listing ---------------------------------------------------------------------------------------------------------- */

/** In which order a list walks. */
typedef enum HNK_OPEN_ENUM hnk_list_order {
    /** By the bytes of the key; keys over 506 bytes by their first 491, then by digest. */
    HNK_LIST_BY_KEY HNK_SWIFT_NAME("byKey") = 0,
    /** Least recently used first: the order of eviction, unless the bucket's is HNK_EVICTION_SIEVE. */
    HNK_LIST_BY_ACCESS HNK_SWIFT_NAME("byAccess") = 1
} hnk_list_order;

/** What a list walks over, and how. */
typedef struct hnk_list_options {
    uint32_t struct_size; /**< HNK_LIST_OPTIONS_INIT fills it in */
    uint32_t order;       /**< hnk_list_order */
    hnk_bytes prefix;     /**< only keys that start so; empty = all */
    hnk_bytes after;      /**< by key: the last key of an earlier list, to go on behind it; empty = from the start */
} hnk_list_options;

/** Every entry, by key. */
#define HNK_LIST_OPTIONS_INIT { (uint32_t)sizeof(hnk_list_options), 0, { NULL, 0 }, { NULL, 0 } }

/** Starts a walk over the entries, the expired ones included. Looking is not using: access times stay.
 *
 * Ownership   *out_list is yours: hnk_list_close(). It keeps its store open.
 * Threads     One thread at a time per list.
 * Cost        By key: O(log n) to start. By access: O(n log n) and 16 bytes per entry.
 * Durability  The walk reads in steps of up to 256 entries and holds nothing between them, so it pins no pages; an
 *             entry that is written or removed during the walk may or may not be seen, each other one exactly once.
 * Errors      HNK_NOT_FOUND (bucket dropped), HNK_ERROR_ARGUMENT (also `after` in a list by access), _KEY_SIZE (of
 *             prefix or `after`), _READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_list_open(
    hnk_bucket *bucket, const hnk_list_options *HNK_NULLABLE options, hnk_list *HNK_NULLABLE *HNK_NONNULL out_list);

/** The next entry. HNK_NOT_FOUND comes after the last.
 *
 * Ownership   `*out_entry` is filled up to its struct_size; its key is valid until the next call or hnk_list_close().
 * Threads     One at a time per list.
 * Cost        O(1) on average; every 256th call reads on.
 * Errors      HNK_NOT_FOUND (the end), HNK_ERROR_READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_list_next(hnk_list *list, hnk_entry *out_entry);

/** Ends the walk.
 *
 * Ownership   `list` may not be used again. NULL does nothing.
 * Threads     Any.
 * Cost        None.
 * Errors      None.
 */
HNK_API void hnk_list_close(hnk_list *HNK_NULLABLE list);

/* Looking after it ------------------------------------------------------------------------------------------------- */

/** Counts. Those of events since the store was made; hits, misses, expired reads and damage found are advisory: other
 * processes see them after this one's next write to the bucket or when it closes a handle to it, and a killed process
 * takes along what was counted since. One killed in a write may take along that write's count of writes, evictions and
 * refusals too; the entries and bytes of a bucket are always those of what is there. */
typedef struct hnk_statistics {
    uint32_t struct_size;     /**< HNK_STATISTICS_INIT fills it in */
    uint32_t buckets;         /**< 1 for a bucket's own */
    uint64_t entries;         /**< held now, those whose lifetime is over included */
    uint64_t bytes;           /**< what the entries are charged; at or under capacity_bytes */
    uint64_t payload_bytes;   /**< sum of value lengths */
    uint64_t capacity_bytes;  /**< of a store: the sum, HNK_CAPACITY_UNLIMITED if one is so */
    uint64_t disk_bytes;      /**< blocks of the whole directory really used on the disk; of a bucket: 0 */
    uint64_t hits;            /**< reads that found their entry */
    uint64_t misses;          /**< not found, expired or damaged */
    uint64_t writes;          /**< values stored */
    uint64_t evictions;       /**< to make room */
    uint64_t expirations;     /**< reads that met an entry whose lifetime was over */
    uint64_t corruptions;     /**< records that failed their check */
    uint64_t refused;         /**< values over the capacity */
    uint64_t leases;          /**< held now, in this process; of a bucket: 0 */
    uint64_t oldest_lease_ms; /**< its age; of a bucket: 0 */
} hnk_statistics;

/** Counts to be filled in. */
#define HNK_STATISTICS_INIT { (uint32_t)sizeof(hnk_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Counts of a bucket.
 *
 * Ownership   `*out_statistics` is filled up to its struct_size.
 * Threads     Any.
 * Cost        One lookup.
 * Errors      HNK_NOT_FOUND (dropped), HNK_ERROR_READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_bucket_statistics(hnk_bucket *bucket, hnk_statistics *out_statistics);

/** Counts of all buckets together.
 *
 * Ownership   `*out_statistics` is filled up to its struct_size.
 * Threads     Any.
 * Cost        O(buckets), and a look at each file of the directory.
 * Errors      HNK_ERROR_READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_statistics(hnk_store *store, hnk_statistics *out_statistics);

/** What hnk_store_verify() found. Each count is of a kind of fault; all zero is a sound store. */
typedef struct hnk_verification {
    uint32_t struct_size;        /**< HNK_VERIFICATION_INIT fills it in */
    uint32_t reserved;           /**< 0 */
    uint64_t entries;            /**< looked at */
    uint64_t bytes;              /**< of values whose checksum was computed */
    uint64_t damaged_records;    /**< header or value fails its checksum, or lengths do not add up */
    uint64_t missing_blobs;      /**< a record whose file is missing or of another length */
    uint64_t orphan_blobs;       /**< a file that no record names */
    uint64_t slot_faults;        /**< slot table and records disagree */
    uint64_t accounting_faults;  /**< a bucket's counts are not the sum of its entries */
    uint64_t limit_faults;       /**< a bucket over its limits */
    char first_fault[256];       /**< the first one, in words; "" if none */
} hnk_verification;

/** Findings to be filled in. */
#define HNK_VERIFICATION_INIT { (uint32_t)sizeof(hnk_verification), 0, 0, 0, 0, 0, 0, 0, 0, 0, "" }

/** Called now and then with entries done and in all; any result but 0 stops the work. It runs on the caller's thread,
 * with no lock held. */
typedef int (*hnk_progress)(void *HNK_NULLABLE context, uint64_t entries_done, uint64_t entries_all);

/** Reads every record, value and blob of one bucket, or with `bucket` NULL of the whole store, and checks every
 * invariant of docs/DISK_FORMAT.md. Changes nothing; what is found damaged is removed or repaired by the next write.
 *
 * Ownership   `context` is handed to `progress` (may be NULL). `*out_verification` is filled up to its struct_size,
 *             also with HNK_DAMAGED.
 * Threads     Any; readers and writers go on. A snapshot is held meanwhile, so data.mdb may grow.
 * Cost        Reads everything, about 300 ms per GiB when warm.
 * Errors      HNK_DAMAGED (a fault was found), HNK_ERROR_CANCELLED, _READERS_FULL, _FORKED, _IO, _MEMORY.
 */
HNK_API HNK_MUST_CHECK hnk_status hnk_store_verify(
    hnk_store *store, hnk_bucket *HNK_NULLABLE bucket, hnk_progress HNK_NULLABLE progress, void *HNK_NULLABLE context,
    hnk_verification *out_verification);

HNK_END_NONNULL
#ifdef __cplusplus
}
#endif

#endif /* HANEKE_H */
