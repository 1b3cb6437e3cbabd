/* notice.c: tells callers of entries that were evicted, once that is committed and no lock is held. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct hnk__notice {
    hnk__notice *next;
    hnk_bucket *bucket; /* of the transaction, whose caller has it open */
    uint64_t value_bytes;
    size_t key_bytes;
    uint8_t key[];
};

hnk_status hnk_bucket_on_eviction(hnk_bucket *bucket, hnk_eviction_notice notice, void *context)
{
    hnk_status status;

    assert(bucket != NULL);
    if ((status = hnk__store_check(bucket->store)) != HNK_OK)
        return status;
    pthread_mutex_lock(&bucket->store->listing);
    bucket->notice = notice;
    bucket->notice_context = context;
    atomic_store_explicit(&bucket->notified, notice != NULL, memory_order_relaxed);
    pthread_mutex_unlock(&bucket->store->listing);
    return HNK_OK;
}

hnk_status hnk__notice_note(hnk__write *write, hnk_bucket *bucket, const hnk__record *record)
{
    if (!atomic_load_explicit(&bucket->notified, memory_order_relaxed))
        return HNK_OK;
    hnk__notice *notice = malloc(sizeof *notice + record->key.size);
    if (notice == NULL)
        return HNK_ERROR_MEMORY;
    *notice = (hnk__notice){
        .bucket = bucket, .value_bytes = record->header.value_bytes, .key_bytes = record->key.size
    };
    memcpy(notice->key, record->key.data, record->key.size);
    if (write->last_notice != NULL)
        write->last_notice->next = notice;
    else
        write->notices = notice;
    write->last_notice = notice;
    return HNK_OK;
}

static void give(const hnk__notice *notice)
{
    pthread_mutex_lock(&notice->bucket->store->listing);
    hnk_eviction_notice tell = notice->bucket->notice;
    void *context = notice->bucket->notice_context;
    pthread_mutex_unlock(&notice->bucket->store->listing);
    if (tell != NULL)
        tell(context, (hnk_bytes){ notice->key, notice->key_bytes }, notice->value_bytes);
}

void hnk__notices_end(hnk__write *write, bool committed)
{
    while (write->notices != NULL) {
        hnk__notice *notice = write->notices;
        write->notices = notice->next;
        if (committed)
            give(notice);
        free(notice);
    }
}
