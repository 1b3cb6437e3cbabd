/* limits.h: every number of the store, with its unit and its reason. Format numbers are explained in
 * docs/DISK_FORMAT.md. */
#ifndef HNK_LIMITS_H
#define HNK_LIMITS_H

/* Format */
#define HNK_FORMAT_VERSION 1u
#define HNK_RECORD_VERSION 1u
#define HNK_PREFIX_BYTES 4u          /* table and bucket id in front of each row's key */
/* LMDB holds keys of 511: 4 of prefix, 507 of stored key, whose last byte tells a digested key from a raw one. */
#define HNK_KEY_RAW_MAX_BYTES 506u
#define HNK_KEY_DIGEST_BYTES 16u     /* XXH3-128 */
#define HNK_KEY_HEAD_BYTES 491u      /* of an over-long key: 507 - 16 */
#define HNK_KEY_STORED_MAX_BYTES 507u
#define HNK_ROW_KEY_MAX_BYTES 511u   /* mdb_env_get_maxkeysize() of LMDB 0.9 as Debian, Fedora and Homebrew build it */
#define HNK_BUCKET_ID_MAX 0xFFFFFFu  /* three bytes of the prefix */
#define HNK_SLOTS_MAX (1u << 28)     /* of a bucket, */
#define HNK_SLOTS_MAP_BYTES 1024u    /* and one for so many bytes of the store's map, */
#define HNK_SLOTS_MIN (1u << 16)     /* but so many at least */
#define HNK_SLOTS_HEADER_BYTES 4096u
#define HNK_SLOTS_GROUP 512u         /* slots: one page of access times, sixteen of cells */
#define HNK_CELL_BYTES 128u
#define HNK_CELL_KEY_BYTES 112u      /* of a stored key; a longer one goes on in further cells */
#define HNK_CELLS_MAX 5u             /* of one entry: a stored key of 507 bytes */
#define HNK_SLOT_BYTES (HNK_CELL_BYTES + 8u) /* on the disk: a cell and an access time */
#define HNK_BLOCK_BYTES 4096u        /* file system blocks: what a blob is rounded up to */

/* Defaults */
#define HNK_READERS_DEFAULT 510u     /* 64 bytes each in lock.mdb; a busy server has some hundreds of threads */
#define HNK_BLOB_THRESHOLD_DEFAULT_BYTES (256u * 1024u) /* above it a file of its own keeps data.mdb from fragmenting */
/* Address space only, and never grown: see txn.c. */
#define HNK_MAP_DEFAULT_BYTES (sizeof(void *) >= 8 ? (uint64_t)64 << 30 : (uint64_t)1 << 30)
#define HNK_MAP_LEAST_BYTES ((uint64_t)256 << 20)
#define HNK_SYNC_INTERVAL_DEFAULT_MS 1000u

/* Behaviour */
#define HNK_GENERATION_LEAP (1u << 24) /* over more writes than one transaction makes */
#define HNK_EXACT_SLOTS_MAX 4096u    /* up to here all access times are looked at for a victim: 32 KiB, microseconds */
#define HNK_OLDEST_MAX 32u           /* of them are remembered: one look is enough for so many victims */
#define HNK_SAMPLE_SLOTS 8u          /* above it, so many random ones join the oldest drawn before: hit ratio within */
#define HNK_SAMPLE_FIRST_SLOTS 32u   /* 0.0005 of exact; so many where none were */
#define HNK_SAMPLE_TRIES 256u        /* free slots are skipped; after so many draws, the next one in use is taken */
#define HNK_RESERVE_PAGES 64u        /* kept free where the file can't grow: evicting needs some pages first */
#define HNK_STAT_BLOCK_BYTES 512u     /* of st_blocks, on every system we know */
#define HNK_TRIM_WRITES 16u          /* a look at what the disk really holds every so many transactions, */
#define HNK_TRIM_PAGES_MIN 1024u     /* and so many free pages made holes, if there are: about a millisecond */
#define HNK_TRIM_ASK_LOOKS 64u       /* files of buckets that are not open are looked at so seldom */
#define HNK_TRIM_RUN_PAGES_MIN 4u    /* shorter runs are not worth a system call, nor a discard by the file system */
#define HNK_TRIM_SLACK_BYTES (512u * 1024u) /* what an empty store takes: locks, slots, first pages */
#define HNK_SWELL_NONE 1000u         /* entries count their charge; in thousandths of it */
#define HNK_SWELL_MAX 4000u
#define HNK_SWELL_UP 8u              /* a step: less than a hundredth of the capacity is evicted for it */
#define HNK_SWELL_DOWN 2u
#define HNK_POOL_READERS 64u         /* read transactions kept for reuse; more are made for more leases at once */
#define HNK_PROVEN_CHUNK_SLOTS 8192u /* the notes of what was proven grow by 32 KiB */
#define HNK_DAMAGED_KEPT_MS 86400000u /* a file that was salvaged from, for whoever wants to look: a day */
#define HNK_GONE_WRITES 16u          /* a look whether the directory is still there every so many transactions, */
#define HNK_GONE_MS 1000u            /* and whenever the last one is so long ago */
#define HNK_GROWTH_UNASKED_BYTES (16u << 20) /* data.mdb grows so far before the file system is asked again, */
#define HNK_PLENTY 16u               /* where it has so many times as much */
#define HNK_LIST_STEP 256u           /* entries a list reads under one snapshot */
#define HNK_DOOMED_MAX 64u           /* damaged records remembered for removal; one forgotten is met again */
#define HNK_WRITE_BUFFER_BYTES (256u * 1024u) /* of one write() when a blob is copied from a file or verified */

#endif
