/* reader.c: holds a lease until it is killed, or until its standard input ends.
 *
 *     reader DIRECTORY    leases "held" in the bucket "test", which is there, and prints how long the value is
 *
 * At the end of the input it looks at the value once more and gives the lease back.
 */
#include "check.h"

#include <unistd.h>

int main(int count, char **arguments)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_store *store;
    hnk_bucket *bucket;
    hnk_lease *lease;
    char byte;

    EXPECT(count == 2);
    options.fields = HNK_FIELD_MUST_EXIST;
    EXPECT_STATUS(hnk_store_open(arguments[1], NULL, &store, NULL), HNK_OK);
    EXPECT_STATUS(hnk_bucket_open(store, HNK_TEXT("test"), &options, &bucket, NULL), HNK_OK);
    EXPECT_STATUS(hnk_bucket_get(bucket, HNK_TEXT("held"), 0, &lease), HNK_OK);
    hnk_bytes value = hnk_lease_value(lease);
    unsigned char *copy = malloc(value.size);
    EXPECT(copy != NULL);
    memcpy(copy, value.data, value.size);
    printf("%zu\n", value.size);
    fflush(stdout);
    EXPECT(read(0, &byte, 1) == 0);
    EXPECT(memcmp(copy, value.data, value.size) == 0);
    free(copy);
    hnk_lease_release(lease);
    hnk_bucket_close(bucket);
    hnk_store_close(store);
    return 0;
}
