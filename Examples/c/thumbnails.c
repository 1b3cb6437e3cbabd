/* thumbnails.c: a thumbnail cache. Pictures are grey ones of netpbm (PGM, binary, 8 bits); their thumbnails are written
 * one behind the other, as that format allows.
 *
 *     thumbnails CACHE PICTURE.pgm ... > thumbnails.pgm
 */
#include <haneke.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { EDGE = 64, THUMBNAIL_MAX_BYTES = EDGE * EDGE + 32, CAPACITY_BYTES = 16 << 20 };

/* Takes every n-th pixel of every n-th row. The thumbnail's size in bytes, or 0: the file is no such picture. */
static size_t shrink(FILE *picture, char *thumbnail)
{
    unsigned width, height, white;

    if (fscanf(picture, "P5 %u %u %u%*c", &width, &height, &white) != 3 || white == 0 || white > 255 ||
        width == 0 || width > 65535 || height == 0 || height > 65535)
        return 0;
    unsigned n = ((width > height ? width : height) - 1) / EDGE + 1;
    size_t size = (size_t)sprintf(thumbnail, "P5\n%u %u\n%u\n", (width - 1) / n + 1, (height - 1) / n + 1, white);
    for (unsigned pixel = 0; pixel < width * height; pixel++) {
        int grey = getc(picture);
        if (pixel / width % n == 0 && pixel % width % n == 0)
            thumbnail[size++] = (char)grey;
    }
    return feof(picture) || ferror(picture) ? 0 : size; /* cut short? */
}

/* Writes the thumbnail that is kept of a picture, or makes one and keeps it. Tells whether one was written. */
static int show(hnk_bucket *thumbnails, const char *path)
{
    char text[4096 + 64], made[THUMBNAIL_MAX_BYTES];
    hnk_bytes key = { text, 0 }, thumbnail = { made, 0 };
    hnk_lease *kept = NULL;
    hnk_status status = HNK_OK;
    struct stat now;
    FILE *picture = fopen(path, "rb");

    if (picture != NULL && stat(path, &now) == 0) {
        /* A changed picture has another key. Nobody asks for the old one again, so its thumbnail is evicted soon. */
        key.size = (size_t)sprintf(text, "%jd %jd %s", (intmax_t)now.st_mtime, (intmax_t)now.st_size, path);
        if ((status = hnk_bucket_get(thumbnails, key, 0, &kept)) == HNK_OK)
            thumbnail = hnk_lease_value(kept); /* in place, no copy */
        else if ((thumbnail.size = shrink(picture, made)) > 0)
            status = hnk_bucket_set(thumbnails, key, thumbnail, NULL);
    }
    if (thumbnail.size == 0)
        fprintf(stderr, "%s: no picture\n", path);
    else if (status != HNK_OK) /* shown all the same: it is only a cache */
        fprintf(stderr, "%s: not kept: %s\n", path, hnk_status_text(status));
    int written = fwrite(thumbnail.data, 1, thumbnail.size, stdout) == thumbnail.size && thumbnail.size > 0;
    hnk_lease_release(kept);
    if (picture != NULL)
        fclose(picture);
    return written;
}

int main(int argc, char **argv)
{
    hnk_bucket_options options = HNK_BUCKET_OPTIONS_INIT;
    hnk_statistics counts = HNK_STATISTICS_INIT;
    hnk_store *store = NULL;
    hnk_bucket *thumbnails = NULL;
    hnk_status status = HNK_ERROR_ARGUMENT;
    int shown = 0;

    options.fields = HNK_FIELD_CAPACITY; /* over it, the least recently used go */
    options.capacity_bytes = CAPACITY_BYTES;
    if (argc > 1 && (status = hnk_store_open(argv[1], NULL, &store, NULL)) == HNK_OK &&
        (status = hnk_bucket_open(store, HNK_TEXT("64x64"), &options, &thumbnails, NULL)) == HNK_OK) {
        for (int i = 2; i < argc; i++)
            shown += show(thumbnails, argv[i]);
        status = hnk_bucket_statistics(thumbnails, &counts);
    }
    if (status == HNK_OK)
        fprintf(stderr, "%" PRIu64 " thumbnails take %" PRIu64 " of %" PRIu64 " bytes; %" PRIu64 " hits, %" PRIu64
                " misses\n", counts.entries, counts.bytes, counts.capacity_bytes, counts.hits, counts.misses);
    else
        fprintf(stderr, "%s: %s\n", argv[0], hnk_status_text(status));
    hnk_bucket_close(thumbnails);
    hnk_store_close(store);
    return status == HNK_OK && shown == argc - 2 && fflush(stdout) == 0 ? 0 : 1;
}
