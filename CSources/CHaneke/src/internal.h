/* internal.h: private types and hnk__ prototypes, by the file that defines them. Nothing else. */
#ifndef HNK_INTERNAL_H
#define HNK_INTERNAL_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "haneke.h"
#include "limits.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#  error "The format is little-endian and records are read in place; LMDB's own file is in machine order as well."
#endif

#pragma GCC visibility push(hidden)

/* Rows: docs/DISK_FORMAT.md ---------------------------------------------------------------------------------------- */

enum { HNK_TABLE_STORE = 0, HNK_TABLE_BUCKET = 1, HNK_TABLE_NAME = 2, HNK_TABLE_RECORD = 4 };

typedef struct hnk__store_row {
    char magic[8];
    uint32_t format_version;
    uint32_t next_bucket_id;
    uint8_t identity[16];
    uint64_t made_at_ms;
    uint64_t zero[3];
} hnk__store_row;

/* What a bucket is set to. */
typedef struct hnk__bucket_row {
    uint64_t capacity_bytes;
    uint64_t entries_max;
    uint64_t lifetime_ms;
    uint64_t made_at_ms;
    uint64_t incarnation; /* of its file of slots: a file with another one is not its */
    uint32_t check_mode;
    uint32_t eviction;
    uint64_t zero[4];
    uint64_t digest;
} hnk__bucket_row;

/* What a bucket holds, as of a commit. */
typedef struct hnk__tally {
    uint64_t entries;
    uint64_t charged_bytes;
    uint64_t payload_bytes;
    uint64_t blob_bytes;
    uint64_t generation;
    uint64_t evictions;
    uint64_t writes;
    uint64_t corruptions;
    uint64_t refused;
    uint64_t txn;       /* the last of LMDB's transactions that it tells of */
    uint64_t sequence;  /* one more in each that is written; its parity is the copy's place */
    uint32_t slots;     /* every slot in use is below */
    uint32_t free_slot; /* of the chain of free ones; + 1, as all that follow: 0 = none */
    uint32_t oldest;    /* in order of insertion; kept for SIEVE alone */
    uint32_t newest;
    uint32_t hand;
    uint32_t zero[3];
    uint64_t digest;
} hnk__tally;

enum { HNK_RECORD_LONG_KEY = 1, HNK_RECORD_BLOB = 2, HNK_RECORD_SLIDING = 4 };

typedef struct hnk__header {
    uint8_t version;
    uint8_t flags;
    uint16_t zero;
    uint32_t bucket_id;
    uint32_t slot;
    uint32_t user_flags;
    uint32_t key_bytes;
    uint32_t metadata_bytes;
    uint64_t value_bytes;
    uint64_t generation;
    uint64_t written_at_ms;
    uint64_t expires_at_ms;
    uint64_t value_digest;
    uint64_t header_digest;
} hnk__header;

/* A slot's cell: the key of the entry that holds it. */
typedef struct hnk__cell {
    uint8_t use;
    uint8_t zero;
    uint16_t size;  /* of the whole stored key, in an entry's first cell */
    uint32_t next;  /* in use: the cell where the key goes on; free: the next free one */
    uint32_t older; /* by insertion; kept for SIEVE alone */
    uint32_t newer;
    uint8_t key[HNK_CELL_KEY_BYTES];
} hnk__cell;

enum { HNK_CELL_FREE = 0, HNK_CELL_ENTRY = 1, HNK_CELL_MORE = 2, HNK_CELL_LEAVING = 3 };

enum { HNK_TALLY_WORDS = sizeof(hnk__tally) / 8, HNK_CELL_WORDS = HNK_CELL_BYTES / 8 };

typedef struct hnk__slots_header {
    char magic[8];
    uint32_t version;
    uint32_t bucket_id;
    uint8_t identity[16];
    _Atomic uint64_t hits;
    _Atomic uint64_t misses;
    _Atomic uint64_t expirations;
    _Atomic uint64_t boot;        /* digest of the boot's identity since which something may not be synced; 0 = none */
    _Atomic uint64_t incarnation;
    _Atomic uint64_t turn;        /* 1 while a writer is at it */
    uint64_t zero[6];
    _Atomic uint64_t tallies[2][HNK_TALLY_WORDS]; /* the last two: a writer may die while it writes one */
} hnk__slots_header;

/* platform.c: the seams that tests replace ------------------------------------------------------------------------- */

/* Since 1970. Coarse is one tick (1-4 ms) behind at most, and five times as cheap. */
uint64_t hnk__now_ns(bool precise);
uint64_t hnk__now_ms(void);
uint64_t hnk__address_space(uint64_t wanted);
bool hnk__boot_identity(uint8_t out[16]);
uint64_t hnk__boot_digest(void); /* of it; never 0 */
void hnk__random(void *bytes, size_t size);
bool hnk__reserve(int file, uint64_t offset, uint64_t size); /* blocks, before they are mapped; errno on false */
bool hnk__reserve_past_end(int file, uint64_t size);
bool hnk__punch(int file, uint64_t offset, uint64_t size);

/* status.c --------------------------------------------------------------------------------------------------------- */

hnk_status hnk__from_errno(int os_error);
/* Fills *error (may be NULL) and gives the status back. */
hnk_status hnk__fail(hnk_error *error, hnk_status status, int os_error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* options.c -------------------------------------------------------------------------------------------------------- */

/* Copies what the caller knows over the defaults (`resolved` holds them, `size` bytes); false: an unknown field is
 * set. */
bool hnk__options_resolve(void *resolved, size_t size, size_t size_v1, const void *given);
/* Copies as much of `filled` as the caller has room for, keeping his struct_size. */
void hnk__options_give(void *out, const void *filled, size_t size);

/* digest.c --------------------------------------------------------------------------------------------------------- */

uint64_t hnk__digest(const void *bytes, size_t size, uint64_t seed);
void hnk__digest_key(const void *bytes, size_t size, uint8_t out[HNK_KEY_DIGEST_BYTES]);
typedef struct hnk__digest_state hnk__digest_state;
hnk__digest_state *hnk__digest_begin(void);
void hnk__digest_add(hnk__digest_state *state, const void *bytes, size_t size);
uint64_t hnk__digest_end(hnk__digest_state *state);
void hnk__digest_free(hnk__digest_state *state);
unsigned hnk__digest_library_version(void);

/* key.c ------------------------------------------------------------------------------------------------------------ */

typedef struct hnk__key {
    uint16_t size;                        /* of bytes[] in use */
    uint8_t bytes[HNK_ROW_KEY_MAX_BYTES]; /* prefix, then the rest */
} hnk__key;

hnk_status hnk__key_record(hnk__key *out, uint32_t bucket_id, hnk_bytes key);
void hnk__key_row(hnk__key *out, uint8_t table, uint32_t bucket_id, hnk_bytes rest);
uint32_t hnk__key_bucket_id(const uint8_t *row_key);
/* Whether a row's key belongs to a table and bucket. */
bool hnk__key_is(hnk_bytes row_key, uint8_t table, uint32_t bucket_id);

/* record.c --------------------------------------------------------------------------------------------------------- */

/* A record taken apart; the pointers are into it. */
typedef struct hnk__record {
    hnk__header header;
    hnk_bytes key;      /* whole */
    hnk_bytes metadata;
    hnk_bytes value;    /* data NULL for a blob */
} hnk__record;

/* Takes apart and checks the lengths, versions and bucket; false = damaged. Digests are not computed. `row_key` is
 * the whole LMDB key. */
bool hnk__record_parse(hnk__record *out, hnk_bytes row_key, hnk_bytes bytes);
uint64_t hnk__record_header_digest(const hnk__header *header, hnk_bytes key, hnk_bytes metadata);
bool hnk__record_header_holds(const hnk__record *record);
size_t hnk__record_size(size_t key_bytes, size_t metadata_bytes, uint64_t value_bytes, bool blob);
/* Writes into `out`, which has room for hnk__record_size(). `key` is whole if over-long, else empty. */
void hnk__record_write(void *out, const hnk__header *header, hnk_bytes key, hnk_bytes metadata, hnk_bytes value);
uint64_t hnk__record_charge(size_t page_bytes, size_t row_key_bytes, size_t record_bytes, uint64_t blob_bytes);
uint64_t hnk__record_blob_charge(uint64_t value_bytes);
/* When it expires, given its last access; 0 = never. */
uint64_t hnk__record_expiry(const hnk__header *header, uint64_t accessed_at_ms);

/* txn.c: every LMDB call ------------------------------------------------------------------------------------------- */

typedef struct hnk__txn hnk__txn;       /* a transaction, of either kind */
typedef struct hnk__cursor hnk__cursor;
typedef struct hnk__environment hnk__environment;

typedef struct hnk__environment_info {
    uint64_t last_txn;
    uint64_t last_page;
    uint64_t map_bytes;
    uint64_t tree_pages; /* branch, leaf and overflow pages in use, as of the last commit */
    size_t page_bytes;
} hnk__environment_info;

hnk_status hnk__environment_open(
    const char *directory, uint64_t map_bytes, unsigned readers_max, hnk__environment **out, hnk_error *error);
void hnk__environment_close(hnk__environment *environment);
hnk_status hnk__environment_sync(hnk__environment *environment);
hnk_status hnk__environment_info_get(hnk__environment *environment, hnk__environment_info *out);
/* How much has to go before `bytes` can be written and a reserve is left; 0 where the file has room, or can grow. */
uint64_t hnk__environment_shortage(hnk__environment *environment, uint64_t bytes);
size_t hnk__environment_page_bytes(const hnk__environment *environment);
int hnk__environment_file(const hnk__environment *environment);
const char *hnk__lmdb_version(void);

/* Read transactions come out of a pool; `index` below HNK_POOL_READERS is theirs alone while they are out. */
hnk_status hnk__read_begin(hnk__environment *environment, hnk__txn **out);
void hnk__read_end(hnk__txn **txn);
unsigned hnk__read_index(const hnk__txn *txn);
bool hnk__reader_is_out(hnk__environment *environment, unsigned index); /* of the pool */

/* Takes what killed processes had out of the table of readers. LMDB does not do so by itself, and a snapshot there
 * keeps its pages for ever. Cost: a system call for each other process in the table. */
void hnk__readers_clear_dead(hnk__environment *environment);

uint64_t hnk__txn_number(const hnk__txn *txn); /* LMDB's: of a reader, the last one committed */
uint64_t hnk__environment_last_txn(const hnk__environment *environment); /* committed */

hnk_status hnk__write_begin(hnk__environment *environment, hnk__txn **out);
hnk_status hnk__write_commit(hnk__txn **txn); /* empties *txn, also on failure */
void hnk__write_abort(hnk__txn **txn);

hnk_status hnk__row_get(hnk__txn *txn, const hnk__key *key, hnk_bytes *out);
/* Finds LMDB's map by a row that is there, for hnk__row_find(). Before others use the environment. */
hnk_status hnk__environment_find_map(hnk__environment *environment, const hnk__key *key);
/* The same in a read transaction, sooner; HNK_ERROR_DAMAGED_STORE if a page on the way is not what it should be.
 * *out_key is the key as it lies in the page, or `key`. */
hnk_status hnk__row_find(hnk__txn *txn, const hnk__key *key, hnk_bytes *out_key, hnk_bytes *out_row);
hnk_status hnk__row_put(hnk__txn *txn, const hnk__key *key, hnk_bytes row);
hnk_status hnk__row_reserve(hnk__txn *txn, const hnk__key *key, size_t size, void **out);
hnk_status hnk__row_delete(hnk__txn *txn, const hnk__key *key);

hnk_status hnk__cursor_open(hnk__txn *txn, hnk__cursor **out);
/* The row at or after `key`. */
hnk_status hnk__cursor_seek(hnk__cursor *cursor, const hnk__key *key, hnk_bytes *out_key, hnk_bytes *out_row);
hnk_status hnk__cursor_next(hnk__cursor *cursor, hnk_bytes *out_key, hnk_bytes *out_row);
hnk_status hnk__cursor_delete(hnk__cursor *cursor, hnk_bytes *out_key, hnk_bytes *out_row); /* and moves to the next */
void hnk__cursor_close(hnk__cursor **cursor);

/* Calls `visit` with runs of pages that no transaction can see any more, none of a killed process either. The writers'
 * turn must be held by `write_txn`. */
/* Begins after what the transaction *after freed, and sets it to the last one looked at; ends at `pages_max`. */
hnk_status hnk__free_pages(
    hnk__txn *write_txn, uint64_t *after, uint64_t pages_max,
    hnk_status (*visit)(void *context, uint64_t first_page, uint64_t pages), void *context);
hnk_status hnk__txn_tree_pages(hnk__txn *txn, uint64_t *out); /* branch, leaf and overflow pages in use */

/* search.c --------------------------------------------------------------------------------------------------------- */

/* data.mdb as LMDB has it mapped. */
typedef struct hnk__map {
    const uint8_t *bytes;
    size_t page_bytes;
    int file;
    _Atomic uint64_t file_pages; /* it is not shorter */
} hnk__map;

/* Finds the map around an address that LMDB has given in a read transaction; false: nothing is known about its
 * pages. */
bool hnk__map_find(hnk__map *out, const void *inside, size_t page_bytes, int file);
/* Finds a row while a reader of transaction `txn`, or of an earlier one, is there. */
hnk_status hnk__search(hnk__map *map, uint64_t txn, const hnk__key *key, hnk_bytes *out_key, hnk_bytes *out_row);

/* turn.c: the writers' lock, over all processes ------------------------------------------------------------------- */

typedef struct hnk__turn {
    int file;      /* -1 = none */
    void *shared;  /* mapped from it */
} hnk__turn;

/* `alone`: no other process has the store open, so the lock can be made anew. */
hnk_status hnk__turn_open(hnk__turn *turn, int directory, bool alone);
void hnk__turn_close(hnk__turn *turn);
/* Waits. One that died with the lock is not reported: what it left half done is marked where it lies. */
hnk_status hnk__turn_take(hnk__turn *turn);
void hnk__turn_give(hnk__turn *turn);

/* slots.c: a bucket's file of slots: access times, keys by slot, counts -------------------------------------------- */

typedef struct hnk__slots {
    int file;
    hnk__slots_header *header;  /* of the mapping */
    char *groups;
    _Atomic uint32_t covered;   /* slots for which the file has blocks */
    uint32_t slots_max;
    size_t mapped_bytes;
    pthread_mutex_t growing;
} hnk__slots;

void hnk__slots_name(char out[16], uint32_t bucket_id);
/* Opens the file, or makes one of incarnation 0. `map_bytes` is the store's: there can't be more entries than that
 * has room for. */
hnk_status hnk__slots_open(
    hnk__slots *slots, int directory, uint32_t bucket_id, const uint8_t identity[16], uint64_t map_bytes);
void hnk__slots_close(hnk__slots *slots);
bool hnk__slots_cover(hnk__slots *slots, uint32_t count); /* makes room for so many */
bool hnk__slots_reach(hnk__slots *slots, uint32_t count); /* has room for so many */
bool hnk__slots_are_gone(const hnk__slots *slots);        /* someone has deleted the file */
hnk_status hnk__slots_sync(hnk__slots *slots);
/* The tally of a bucket that nobody here has open, without proof; false if there is none. */
bool hnk__slots_peek(int directory, uint32_t bucket_id, hnk__tally *out);

/* Access times. Bit 0 of one: read since it was written or since SIEVE's hand passed. */
enum { HNK_STAMP_NONE = 0, HNK_STAMP_READ = 1, HNK_STAMP_UNKNOWN = 2 };

static inline _Atomic uint64_t *hnk__slots_stamp_at(const hnk__slots *slots, uint32_t slot)
{
    size_t group = (size_t)(slot / HNK_SLOTS_GROUP) * HNK_SLOTS_GROUP * HNK_SLOT_BYTES;
    return (_Atomic uint64_t *)(void *)(slots->groups + group) + slot % HNK_SLOTS_GROUP;
}

uint32_t hnk__slots_refresh(hnk__slots *slots); /* looks whether another process has made the file longer */

static inline bool hnk__slots_covers(hnk__slots *slots, uint32_t slot)
{
    return slot < atomic_load_explicit(&slots->covered, memory_order_acquire) || slot < hnk__slots_refresh(slots);
}

static inline void hnk__slots_stamp(hnk__slots *slots, uint32_t slot, uint64_t stamp)
{
    if (hnk__slots_covers(slots, slot))
        atomic_store_explicit(hnk__slots_stamp_at(slots, slot), stamp, memory_order_relaxed);
}

/* HNK_STAMP_NONE where the file ends. */
static inline uint64_t hnk__slots_stamp_of(hnk__slots *slots, uint32_t slot)
{
    return hnk__slots_covers(slots, slot)
               ? atomic_load_explicit(hnk__slots_stamp_at(slots, slot), memory_order_relaxed)
               : HNK_STAMP_NONE;
}

/* The time for an access now: precise where eviction is exact. Bit 0 is clear. */
uint64_t hnk__slots_now(uint32_t slots);

/* The counts; false if they are being written, or were left half written or damaged. */
bool hnk__slots_tally(const hnk__slots *slots, hnk__tally *out);
/* The last counts that were written whole, maybe not the last; false if there are none. */
bool hnk__slots_tally_left(const hnk__slots *slots, hnk__tally *out);
void hnk__slots_tally_put(hnk__slots *slots, hnk__tally *tally); /* fills in sequence and digest */

void hnk__tally_empty(hnk__tally *tally); /* of entries; generation and history stay */

/* Cells; slot < covered. Only writers in their turn change them. */
hnk__cell hnk__cell_get(const hnk__slots *slots, uint32_t slot);
void hnk__cell_put_head(hnk__slots *slots, uint32_t slot, const hnk__cell *cell); /* all but the key */
void hnk__cell_set_use(hnk__slots *slots, uint32_t slot, uint8_t use);
/* Writes a stored key into as many cells as it takes: an entry's first, and those where it goes on. */
void hnk__cell_write_key(hnk__slots *slots, const uint32_t *into, hnk_bytes stored);
uint32_t hnk__cells_for(size_t stored_bytes); /* that a stored key takes: one at least */
/* The record's key of the entry that holds the slot; false if none does. Without a turn it may be torn: the record
 * tells. */
bool hnk__cell_key(hnk__slots *slots, uint32_t bucket_id, uint32_t slot, hnk__key *out);

/* blob.c: values in files of their own ----------------------------------------------------------------------------- */

typedef struct hnk__blob_name {
    uint32_t bucket_id;
    uint32_t slot;
    uint64_t generation;
} hnk__blob_name;

#define HNK_BLOB_PATH_BYTES 64

/* A new value on its way to a record: a locked temporary file. */
typedef struct hnk__blob_draft {
    int file;                       /* -1 = none */
    char path[HNK_BLOB_PATH_BYTES]; /* relative to the store */
    uint64_t size;
    hnk__digest_state *digest;
} hnk__blob_draft;

hnk_status hnk__blob_begin(hnk__blob_draft *draft, hnk_store *store);
hnk_status hnk__blob_append(hnk__blob_draft *draft, hnk_bytes bytes);
hnk_status hnk__blob_sync(hnk__blob_draft *draft);
/* Renames; the draft stays to be discarded. */
hnk_status hnk__blob_place(hnk__blob_draft *draft, int directory, hnk__blob_name name);
void hnk__blob_discard(hnk__blob_draft *draft, hnk_store *store); /* unlinks what was not placed, closes */
hnk_status hnk__blob_open(int directory, hnk__blob_name name, uint64_t size, int *out_file);
void hnk__blob_remove(hnk_store *store, hnk__blob_name name);
bool hnk__blob_exists(int directory, hnk__blob_name name);

/* The names of all files, by bucket. */
typedef struct hnk__blob_list {
    hnk__blob_name *names;
    size_t count, room;
} hnk__blob_list;

hnk_status hnk__blob_list_make(hnk__blob_list *out, hnk_store *store, bool sweeps_drafts); /* removes abandoned ones */
const hnk__blob_name *hnk__blob_list_of(const hnk__blob_list *list, uint32_t bucket_id, size_t *out_count);
void hnk__blob_list_free(hnk__blob_list *list);

/* state.c: the marker of a clean close ----------------------------------------------------------------------------- */

typedef enum hnk__trust {
    HNK_TRUST_SHARED, /* others have it open: it is theirs to judge */
    HNK_TRUST_NEW,    /* there is no data file */
    HNK_TRUST_CLEAN,
    HNK_TRUST_LEFT,   /* as clean, but several had it: files of one that was killed may lie about */
    HNK_TRUST_KILLED, /* not closed, or changed since; same boot: the structure has to be walked */
    HNK_TRUST_CRASHED /* another boot: the digests too */
} hnk__trust;

typedef struct hnk__state {
    int file;
    bool exclusive;
    bool known;  /* the marker was there and whole: the directory is a store of ours */
    bool synced; /* it says that everything was synced before the close */
    bool made;   /* by this open: it goes again if the directory turns out not to be ours */
} hnk__state;

/* Takes the lock, exclusively if nobody else has it. */
hnk_status hnk__state_open(hnk__state *state, int directory, hnk__trust *out, hnk_error *error);
hnk_status hnk__state_mark_open(hnk__state *state);  /* writes the marker if exclusive, then holds the lock shared */
/* Marks closed if nobody else is there; with litter, so that the next open sweeps. */
void hnk__state_close(hnk__state *state, int directory, bool synced, bool litter);
void hnk__state_forget(hnk__state *state);
void hnk__state_undo(hnk__state *state, int directory); /* forgets, and takes away a file that this open has made */

/* pages.c: LMDB's file without LMDB -------------------------------------------------------------------------------- */

typedef struct hnk__pages_report {
    bool sound;            /* the structure holds */
    uint64_t pages;        /* looked at */
    uint64_t rows;         /* given to `visit` */
    char fault[200];       /* the first one, in words */
} hnk__pages_report;

/* Called for each row of the unnamed database that is reachable through sound pages. Any status but HNK_OK stops the
 * walk. */
typedef hnk_status (*hnk__pages_visit)(void *context, hnk_bytes key, hnk_bytes row);

/* Walks the newest snapshot of `path` and checks its structure. With `visit` it goes on past damage and gives what
 * can be had. Never crashes on any content. HNK_ERROR_NOT_A_STORE: no LMDB 0.9 file. */
hnk_status hnk__pages_walk(const char *path, hnk__pages_visit visit, void *context, hnk__pages_report *out);
/* Whether both meta pages make sense: LMDB divides by what stands there. Microseconds. */
bool hnk__pages_metas_hold(const char *path);

/* read.c: finding and proving records ------------------------------------------------------------------------------ */

/* A record, found under a read transaction that its holder must end. */
typedef struct hnk__found {
    hnk__txn *txn;
    hnk__record record;
    size_t row_key_bytes;
    size_t row_bytes;
    uint64_t now_ns;       /* of this read, */
    uint64_t accessed_ns;  /* and of the access before it */
    bool expired;
    int blob;              /* file of a blob's value, -1 = none */
    const void *mapping;   /* of it */
    uint8_t raw_key[HNK_KEY_RAW_MAX_BYTES]; /* where the record's key does not lie in the pinned pages */
} hnk__found;

/* Finds and proves `key`; counts and stamps unless HNK_GET_QUIET. On anything but HNK_OK nothing is held. *out is the
 * place in store->leases that belongs to the reader, or `spare` where that is not of the pool. */
hnk_status hnk__find(hnk_bucket *bucket, hnk_bytes key, uint32_t flags, hnk__found *spare, hnk__found **out);
void hnk__found_end(hnk__found *found);
void hnk__found_describe(const hnk_store *store, const hnk__found *found, hnk_entry *out);

/* lease.c ---------------------------------------------------------------------------------------------------------- */

struct hnk_lease {
    _Alignas(64) hnk_store *store; /* no cache line is two threads' */
    hnk__found found;
    _Atomic uint64_t since_ns; /* 0 = not out */
    hnk_lease *next, *previous; /* of the separate ones, in store->separate */
    bool separate;             /* allocated by itself; those of the pool lie in store->leases */
    void *copies;              /* of a blob's key and metadata, whose pages are not pinned */
};

/* write.c: one write transaction ----------------------------------------------------------------------------------- */

/* A bucket while a transaction changes it. */
typedef struct hnk__touched {
    struct hnk__touched *next;
    hnk_bucket *bucket;
    hnk__bucket_row row;
    hnk__tally tally;
    bool row_changed;       /* it is written back */
    bool dropped;           /* its row was deleted */
    bool repaired;          /* by this transaction */
    bool spoilt;            /* cells of what was committed are overwritten: an abort leaves them to be made anew */
    bool lost_blobs;        /* a repair dropped records that may have named some: no record names their files now */
    bool retained;          /* nobody but this transaction may have it open */
} hnk__touched;

/* A cell that the transaction has taken, or is going to free. */
typedef struct hnk__moved {
    hnk__touched *in;
    uint32_t slot;
    uint32_t next;          /* taken: what its cell said */
    uint64_t stamp;         /* leaving: its access time */
    bool leaving;
} hnk__moved;

typedef struct hnk__notice hnk__notice;

/* What has to be done, or undone, once the transaction's fate is known. */
typedef struct hnk__write {
    hnk_store *store;
    hnk__txn *txn;
    hnk__touched *touched;
    hnk__touched first;     /* of them: most transactions touch one */
    hnk__blob_name *dead;   /* blobs to unlink after the commit */
    size_t dead_count, dead_room;
    hnk__blob_name *placed; /* blobs to unlink after an abort */
    size_t placed_count, placed_room;
    hnk__moved *moved;
    size_t moved_count, moved_room;
    hnk__notice *notices, *last_notice; /* in the order of eviction */
    unsigned doomed_count;  /* of the store's doomed records, seen to in this transaction */
    uint64_t now_ms;
} hnk__write;

/* Takes the writers' turn. On HNK_OK it must be ended. */
hnk_status hnk__write_open(hnk_store *store, hnk__write *out, hnk_error *error);
/* Commits if `status` is HNK_OK, else aborts; gives the status of the whole. */
hnk_status hnk__write_close(hnk__write *write, hnk_status status, hnk_error *error);
/* Keeps writers of all processes out, without writing. */
hnk_status hnk__store_hold_writers(hnk_store *store);
void hnk__store_let_writers(hnk_store *store);
/* The bucket's row in this transaction: HNK_NOT_FOUND if it was dropped. */
hnk_status hnk__write_touch(hnk__write *write, hnk_bucket *bucket, hnk__touched **out);

/* Marks a blob for unlinking after the commit. */
hnk_status hnk__write_note_dead(hnk__write *write, hnk__blob_name name);
hnk_status hnk__write_note_placed(hnk__write *write, hnk__blob_name name);
hnk_status hnk__write_note_moved(hnk__write *write, const hnk__moved *moved);

/* entry.c */
hnk_status hnk__entry_set(
    hnk__write *write, hnk__touched *in, const hnk_operation *operation, hnk__blob_draft *draft,
    hnk_status *out_refusal);
hnk_status hnk__entry_remove(hnk__write *write, hnk__touched *in, const hnk__key *key);
/* Removes the entry that a slot's cell names; HNK_DAMAGED if its record says otherwise. */
hnk_status hnk__entry_evict(hnk__write *write, hnk__touched *in, const hnk__key *key, uint32_t slot);
hnk_status hnk__entries_clear(hnk__write *write, hnk__touched *in);
/* take.c: slots for entries, in the writers' turn */
/* A slot for a new entry, whose cells name the record's key. HNK_ERROR_DISK_FULL where none can be had. */
hnk_status hnk__slot_take(hnk__write *write, hnk__touched *in, const hnk__key *record_key, uint32_t *out_slot);
hnk_status hnk__slot_leave(hnk__write *write, hnk__touched *in, uint32_t slot); /* it is free after the commit */
void hnk__moved_commit(hnk__write *write);
void hnk__moved_abort(hnk__write *write);
void hnk__moved_forget(hnk__write *write, const hnk__touched *in); /* its cells are made anew */

/* sieve.c: a bucket's entries in order of insertion, and a hand */
void hnk__sieve_link(hnk__touched *in, uint32_t slot); /* as the newest */
void hnk__sieve_unlink(hnk__touched *in, uint32_t slot);
uint32_t hnk__sieve_choose(hnk__touched *in, uint32_t keep); /* UINT32_MAX = none */

/* notice.c */
/* Remembers an entry that is being evicted, where the bucket's evictions are asked for. */
hnk_status hnk__notice_note(hnk__write *write, hnk_bucket *bucket, const hnk__record *record);
/* Gives the notices of a transaction that was committed, and forgets them. No lock is held. */
void hnk__notices_end(hnk__write *write, bool committed);

/* evict.c */
/* Evicts, in the bucket's order, until `bytes` and `entries` more fit into its limits. `keep` is a slot
 * that stays, or UINT32_MAX. */
hnk_status hnk__evict_for(hnk__write *write, hnk__touched *in, uint64_t bytes, uint64_t entries, uint32_t keep);
/* Evicts until at least `bytes` are free of what was there, whatever the limits: for a full disk. */
hnk_status hnk__evict_bytes(hnk__write *write, hnk__touched *in, uint64_t bytes);

/* trim.c */
/* Looks now and then at what the disk really holds. At the start of a transaction, before it takes any page. */
void hnk__trim(hnk__write *write);

/* repair.c */
/* Makes cells, free chain and counts anew from the records whose header digests hold; drops the others. */
hnk_status hnk__bucket_repair(hnk__write *write, hnk__touched *in);

/* recover.c */
/* Judges data.mdb before LMDB sees it and opens the environment, salvaging if need be. */
#define HNK_SALVAGING_NAME "data.mdb.salvaging" /* a damaged file until all of it has been salvaged */
#define HNK_DAMAGED_NAME "data.mdb.damaged"     /* and from then on */
hnk_status hnk__recover(hnk_store *store, hnk__trust trust, hnk_error *error);
/* HNK_NOT_FOUND if no record names this blob of the bucket. Exact in the writers' turn. */
hnk_status hnk__blob_find(hnk__txn *txn, hnk_bucket *bucket, hnk__blob_name name);
/* After the environment is open: repairs buckets whose tables suffered, sweeps blobs that no record names. */
hnk_status hnk__recover_buckets(hnk_store *store, hnk__trust trust, hnk_error *error);
/* Removes the file that was set aside, if it has been there for HNK_DAMAGED_KEPT_MS. */
void hnk__recover_forget(hnk_store *store);

/* store.c and bucket.c --------------------------------------------------------------------------------------------- */

typedef struct hnk__counters {
    _Alignas(64) _Atomic uint64_t hits;
    _Atomic uint64_t misses;
    _Atomic uint64_t expirations;
} hnk__counters;

typedef struct hnk__counts {
    uint64_t hits, misses, expirations;
} hnk__counts;

typedef struct hnk__doomed {
    uint64_t generation;
    hnk__key key;
} hnk__doomed;

struct hnk_store {
    hnk_store *next;                 /* in the registry */
    dev_t device;
    ino_t inode;
    _Atomic unsigned references;     /* the last is given back under the registry's lock */
    _Atomic bool closing;            /* no references are left, but leases are out */
    _Atomic bool forked;
    int directory;
    char *path;
    hnk__environment *environment;
    hnk__state state;
    hnk_store_options options;       /* resolved */
    uint8_t identity[16];
    uint64_t boot;                   /* its digest */

    pthread_mutex_t writing;         /* one writing thread of this process at a time; taken before the turn */
    hnk__turn turn;                  /* and this before LMDB's own lock */
    uint32_t gone_writes;            /* since the last look whether the directory is there; guarded by `writing` */
    uint64_t gone_at_ms;             /* of that look */
    uint64_t random;                 /* of eviction samples; guarded by `writing`, as what follows for trim.c */
    uint32_t swell;                  /* what entries count, in thousandths of their charge */
    uint32_t trim_writes;            /* since the last look */
    uint32_t trim_looks;
    uint64_t trim_last_page;         /* of data.mdb, as of a look */
    uint64_t trim_unopened_bytes;    /* of files of buckets that are not open here, as of a look */
    uint64_t trim_bytes;             /* charged since the last look */
    uint64_t trim_due_bytes;         /* so many make a look due */
    uint64_t punched_txn;            /* up to this transaction, long runs of free pages are holes, */
    uint64_t punched_all_txn;        /* and up to this one short runs too */

    pthread_mutex_t dooming;         /* guards doomed[] */
    hnk__doomed doomed[HNK_DOOMED_MAX];
    _Atomic unsigned doomed_count;

    pthread_mutex_t listing;         /* guards the lists of open buckets and of separate leases */
    hnk_bucket *buckets;
    hnk_lease *separate;
    hnk_lease leases[HNK_POOL_READERS];

    _Atomic bool dirty;              /* written since the last sync */
    _Atomic uint64_t synced_txn;     /* the last transaction known to be on the disk's surface; 0 = none is */
    pthread_t syncer;                /* of HNK_SYNC_INTERVAL */
    bool salvaged;                   /* by this open */
    _Atomic bool litter;             /* a file that belongs to nothing could not be removed */
    _Atomic bool suspect;            /* LMDB met damage: the close leaves the file to the next open's judgement */
    bool syncer_runs;
    bool syncer_stops;               /* guarded by `syncing` */
    pthread_mutex_t syncing;
    pthread_cond_t syncer_wakes;
};

typedef struct hnk__aged {
    uint64_t stamp;
    uint32_t slot;
} hnk__aged;

/* Slots with the oldest access times found so far, oldest first. A hint: each is looked at again before it goes. */
typedef struct hnk__oldest {
    uint32_t count;
    hnk__aged of[HNK_OLDEST_MAX];
} hnk__oldest;

struct hnk_bucket {
    hnk_bucket *next;                /* in store->buckets */
    hnk_store *store;
    unsigned references;             /* guarded by store->listing */
    uint32_t id;
    _Atomic uint32_t check_mode;     /* of the row, as last seen */
    _Atomic uint32_t slots;          /* of the tally, as last seen: which clock is good enough */
    size_t name_bytes;
    uint8_t name[HNK_BUCKET_NAME_MAX_BYTES];
    hnk__slots file;
    hnk__oldest oldest;              /* guarded by store->writing */
    _Atomic bool notified;           /* a notice is set */
    hnk_eviction_notice notice;      /* guarded by store->listing, with its context */
    void *notice_context;
    _Atomic uint32_t *proven;        /* per slot the low half of the generation that this process has proven */
    _Atomic uint32_t proven_slots;   /* that may be touched: the address space is reserved, the memory is not */
    hnk__counters counters[HNK_POOL_READERS + 1];
    hnk__counts shared;              /* of them all what stands in the file of slots; guarded by store->listing */
};

/* store.c */
void hnk__store_retain(hnk_store *store);
/* Ends the reader of a lease of a closing store, and closes the store if it was the last. */
void hnk__store_end_last(hnk_store *store, hnk_lease *lease);
/* Remembers a damaged record for removal by the next write; false if it was remembered already. */
bool hnk__store_doom(hnk_store *store, const hnk__key *key, uint64_t generation);
unsigned hnk__store_doomed_in(hnk_store *store, uint32_t bucket_id);

static inline hnk_status hnk__store_check(const hnk_store *store)
{
    return atomic_load_explicit(&store->forked, memory_order_relaxed) ? HNK_ERROR_FORKED : HNK_OK;
}

/* Has the next open sweep. */
static inline void hnk__store_littered(hnk_store *store)
{
    atomic_store_explicit(&store->litter, true, memory_order_relaxed);
}

/* bucket.c */
hnk_status hnk__bucket_row_get(hnk__txn *txn, uint32_t bucket_id, hnk__bucket_row *out);
/* Lets a write look at the bucket, which makes its counts anew if they can't be believed. */
hnk_status hnk__bucket_settle(hnk_bucket *bucket);
/* The row and the counts as last committed, which a write makes anew if they can't be believed. */
hnk_status hnk__bucket_read(hnk_bucket *bucket, hnk__bucket_row *out_row, hnk__tally *out_tally);
/* Whether the counts tell of what a transaction sees that has `last_txn` for its last commit: of the bucket as it is,
 * left whole by the last writer, of this boot or synced. In the writers' turn. */
bool hnk__bucket_is_current(
    hnk_bucket *bucket, const hnk__bucket_row *row, uint64_t last_txn, hnk__tally *out_tally);
/* Opens a bucket as it is; HNK_ERROR_DAMAGED_STORE, with the id, if its row does not hold. */
hnk_status hnk__bucket_open_sound(hnk_store *store, hnk_bytes name, hnk_bucket **out, uint32_t *out_id);
hnk_status hnk__bucket_row_put(hnk__txn *txn, const hnk_bucket *bucket, const hnk__bucket_row *row);
bool hnk__bucket_row_holds(hnk_bytes row);
hnk_bytes hnk__bucket_row_name(hnk_bytes row); /* of one that holds */
void hnk__bucket_row_begin(hnk__bucket_row *out, uint64_t made_at_ms); /* that of a new bucket */
/* Writes a bucket's row under a name it does not have open. */
hnk_status hnk__bucket_row_make(hnk__txn *txn, uint32_t bucket_id, hnk_bytes name, const hnk__bucket_row *row);
hnk_status hnk__bucket_attach(
    hnk_store *store, uint32_t id, hnk_bytes name, const hnk__bucket_row *row, hnk_bucket **out);
void hnk__bucket_retain(hnk_bucket *bucket);
/* Shows to other processes what this one has counted. */
void hnk__bucket_share_counts(hnk_bucket *bucket);
hnk_bucket *hnk__bucket_find_open(hnk_store *store, uint32_t id); /* a further reference; NULL if nobody has it open */
void hnk__bucket_saw(hnk_bucket *bucket, const hnk__bucket_row *row, uint32_t slots);
/* Whether the digests of this generation in this slot were proven by this process, and noting that they were. */
bool hnk__bucket_proven(const hnk_bucket *bucket, uint32_t slot, uint64_t generation);
void hnk__bucket_prove(hnk_bucket *bucket, uint32_t slot, uint64_t generation);

#pragma GCC visibility pop

#endif
