/* quickstart.c: open a store, keep a value in it, read it back in place. */
#include <haneke.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "/tmp/haneke-quickstart";
    hnk_store *store = NULL;
    hnk_bucket *bucket = NULL;
    hnk_lease *lease = NULL;
    hnk_status status;

    if ((status = hnk_store_open(directory, NULL, &store, NULL)) == HNK_OK &&
        (status = hnk_bucket_open(store, HNK_TEXT("pages"), NULL, &bucket, NULL)) == HNK_OK &&
        (status = hnk_bucket_set(bucket, HNK_TEXT("greeting"), HNK_TEXT("hello"), NULL)) == HNK_OK &&
        (status = hnk_bucket_get(bucket, HNK_TEXT("greeting"), 0, &lease)) == HNK_OK) {
        hnk_bytes value = hnk_lease_value(lease);
        printf("%.*s\n", (int)value.size, (const char *)value.data);
    }
    if (status != HNK_OK)
        fprintf(stderr, "quickstart: %s: %s\n", directory, hnk_status_text(status));

    hnk_lease_release(lease); /* releasing NULL does nothing */
    hnk_bucket_close(bucket);
    hnk_store_close(store);
    return status == HNK_OK ? 0 : 1;
}
