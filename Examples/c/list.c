/* list.c: what is in a store, whoever wrote it: each bucket, its entries, least recently used first, and one value.
 *
 *     list DIRECTORY            lists every bucket
 *     list DIRECTORY BUCKET KEY writes one value to standard output
 */
#include <haneke.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static hnk_status list_bucket(hnk_store *store, const hnk_bucket_name *name, hnk_error *error)
{
    hnk_list_options by_access = HNK_LIST_OPTIONS_INIT;
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_entry entry = HNK_ENTRY_INIT;
    hnk_bytes bytes = { name->bytes, name->size };
    hnk_bucket *bucket = NULL;
    hnk_list *list = NULL;
    hnk_status status;

    by_access.order = HNK_LIST_BY_ACCESS;
    if ((status = hnk_bucket_open(store, bytes, NULL, &bucket, error)) != HNK_OK ||
        (status = hnk_bucket_statistics(bucket, &counts)) != HNK_OK ||
        (status = hnk_list_open(bucket, &by_access, &list)) != HNK_OK)
        goto done;
    printf("bucket \"%.*s\": %" PRIu64 " entries, %" PRIu64 " bytes charged\n",
           (int)name->size, name->bytes, counts.entries, counts.bytes);
    while ((status = hnk_list_next(list, &entry)) == HNK_OK)
        printf("%12" PRIu64 "  %.*s\n", entry.value_bytes, (int)entry.key.size, (const char *)entry.key.data);
    if (status == HNK_NOT_FOUND) /* the end of the list */
        status = HNK_OK;
done:
    hnk_list_close(list);
    hnk_bucket_close(bucket);
    return status;
}

static hnk_status list_store(hnk_store *store, hnk_error *error)
{
    hnk_bucket_name name;
    hnk_status status = hnk_store_next_bucket(store, NULL, &name);

    while (status == HNK_OK && (status = list_bucket(store, &name, error)) == HNK_OK)
        status = hnk_store_next_bucket(store, &name, &name);
    return status == HNK_NOT_FOUND ? HNK_OK : status;
}

static hnk_status write_value(hnk_store *store, const char *bucket_name, const char *key, hnk_error *error)
{
    hnk_bucket_options existing = HNK_BUCKET_OPTIONS_INIT;
    hnk_bytes name_bytes = { bucket_name, strlen(bucket_name) };
    hnk_bytes key_bytes = { key, strlen(key) };
    hnk_bucket *bucket = NULL;
    hnk_lease *lease = NULL;
    hnk_status status;

    existing.fields = HNK_FIELD_MUST_EXIST;
    if ((status = hnk_bucket_open(store, name_bytes, &existing, &bucket, error)) == HNK_OK &&
        (status = hnk_bucket_get(bucket, key_bytes, HNK_GET_QUIET, &lease)) == HNK_OK) {
        hnk_bytes value = hnk_lease_value(lease);
        if (fwrite(value.data, 1, value.size, stdout) != value.size)
            status = HNK_ERROR_IO;
    }
    hnk_lease_release(lease);
    hnk_bucket_close(bucket);
    return status;
}

int main(int argc, char **argv)
{
    hnk_store_options existing = HNK_STORE_OPTIONS_INIT;
    hnk_error error = { HNK_OK, 0, "" };
    hnk_store *store = NULL;
    hnk_status status;

    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: %s DIRECTORY [BUCKET KEY]\n", argv[0]);
        return 2;
    }
    existing.flags = HNK_STORE_MUST_EXIST;
    status = hnk_store_open(argv[1], &existing, &store, &error);
    if (status == HNK_OK)
        status = argc == 2 ? list_store(store, &error) : write_value(store, argv[2], argv[3], &error);
    hnk_store_close(store);
    if (status != HNK_OK)
        fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1],
                error.status == status ? error.message : hnk_status_text(status));
    return status == HNK_OK ? 0 : status > 0 ? 1 : 3;
}
