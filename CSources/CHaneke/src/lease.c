/* lease.c: values pinned for reading in place. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* A blob's value is mapped from its own file, so its snapshot can end at once; key and metadata are copied for that. */
static hnk_status unpin_pages(hnk_lease *lease)
{
    hnk__record *record = &lease->found.record;
    size_t size = record->key.size + record->metadata.size;
    char *copies = malloc(size);
    if (copies == NULL)
        return HNK_ERROR_MEMORY;
    memcpy(copies, record->key.data, record->key.size);
    if (record->metadata.size > 0)
        memcpy(copies + record->key.size, record->metadata.data, record->metadata.size);
    record->key.data = copies;
    record->metadata.data = copies + record->key.size;
    lease->copies = copies;
    hnk__read_end(&lease->found.txn);
    return HNK_OK;
}

static hnk_status lease_apart(hnk_store *store, const hnk__found *found, hnk_lease **out)
{
    hnk_lease *lease;
    if (posix_memalign((void **)&lease, _Alignof(hnk_lease), sizeof *lease) != 0)
        return HNK_ERROR_MEMORY;
    memset(lease, 0, sizeof *lease);
    lease->store = store;
    lease->found = *found;
    if (found->record.key.data == found->raw_key)
        lease->found.record.key.data = lease->found.raw_key;
    lease->separate = true;
    if (found->blob >= 0 && unpin_pages(lease) != HNK_OK) {
        free(lease);
        return HNK_ERROR_MEMORY;
    }
    hnk__store_retain(store);
    pthread_mutex_lock(&store->listing);
    lease->next = store->separate;
    if (lease->next != NULL)
        lease->next->previous = lease;
    store->separate = lease;
    pthread_mutex_unlock(&store->listing);
    *out = lease;
    return HNK_OK;
}

hnk_status hnk_bucket_get(hnk_bucket *bucket, hnk_bytes key, uint32_t flags, hnk_lease **out_lease)
{
    hnk__found spare, *found = NULL;
    hnk_lease *lease;
    hnk_status status;

    *out_lease = NULL;
    if ((status = hnk__find(bucket, key, flags, &spare, &found)) != HNK_OK)
        return status;
    if (found->blob < 0 && found != &spare) {
        lease = &bucket->store->leases[hnk__read_index(found->txn)]; /* that found lies in: nothing is allocated */
        lease->store = bucket->store;
    } else if ((status = lease_apart(bucket->store, found, &lease)) != HNK_OK) {
        hnk__found_end(found);
        return status;
    }
    atomic_store_explicit(&lease->since_ns, lease->found.now_ns, memory_order_relaxed);
    *out_lease = lease;
    return HNK_OK;
}

hnk_bytes hnk_lease_value(const hnk_lease *lease)
{
    return lease->found.record.value;
}

hnk_bytes hnk_lease_metadata(const hnk_lease *lease)
{
    return lease->found.record.metadata;
}

void hnk_lease_entry(const hnk_lease *lease, hnk_entry *out_entry)
{
    hnk_entry entry;
    hnk__found_describe(lease->store, &lease->found, &entry);
    hnk__options_give(out_entry, &entry, sizeof entry);
}

void hnk_lease_release(hnk_lease *lease)
{
    if (lease == NULL)
        return;
    hnk_store *store = lease->store;
    if (hnk__store_check(store) != HNK_OK)
        return; /* a forked child must not touch its parent's places in the table of readers */
    atomic_store(&lease->since_ns, 0);
    if (!lease->separate) {
        /* Once our reader is back, the store may be closed by whoever was waiting for it: nothing is touched after
         * that. The closer sets `closing`, then looks at since_ns; we do it the other way round, so one of us sees
         * the other. */
        if (atomic_load(&store->closing)) {
            hnk__store_end_last(store, lease);
            return;
        }
        hnk__txn *txn = lease->found.txn;
        hnk__read_end(&txn);
        return;
    }
    pthread_mutex_lock(&store->listing);
    if (lease->next != NULL)
        lease->next->previous = lease->previous;
    if (lease->previous != NULL)
        lease->previous->next = lease->next;
    else
        store->separate = lease->next;
    pthread_mutex_unlock(&store->listing);
    hnk__found_end(&lease->found);
    free(lease->copies);
    free(lease);
    hnk_store_close(store);
}
