/* writer.c: values that come in pieces. A draft file takes them; the commit decides whether it becomes a blob or a
 * row. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct hnk_writer {
    hnk_bucket *bucket;
    hnk__blob_draft draft;
    hnk_set_options options; /* metadata points into `copies` */
    hnk_bytes key;           /* likewise */
    char *copies;
    hnk_status broken;       /* of the append that failed */
};

hnk_status hnk_writer_begin(hnk_bucket *bucket, hnk_bytes key, const hnk_set_options *options, hnk_writer **out_writer)
{
    hnk_set_options resolved = HNK_SET_OPTIONS_INIT;
    hnk_writer *writer = NULL;
    hnk_status status;

    assert(bucket != NULL);
    *out_writer = NULL;
    if (!hnk__options_resolve(&resolved, sizeof resolved, sizeof resolved, options) || resolved.reserved != 0 ||
        (resolved.flags & ~HNK_SET_SLIDING) != 0)
        return HNK_ERROR_ARGUMENT;
    if ((status = hnk__store_check(bucket->store)) != HNK_OK)
        return status;
    if (key.size == 0 || key.size > HNK_KEY_MAX_BYTES)
        return HNK_ERROR_KEY_SIZE;
    if (resolved.metadata.size > HNK_METADATA_MAX_BYTES)
        return HNK_ERROR_METADATA_SIZE;
    if ((writer = calloc(1, sizeof *writer)) == NULL ||
        (writer->copies = malloc(key.size + resolved.metadata.size)) == NULL) {
        free(writer);
        return HNK_ERROR_MEMORY;
    }
    writer->bucket = bucket;
    writer->options = resolved;
    memcpy(writer->copies, key.data, key.size);
    writer->key = (hnk_bytes){ writer->copies, key.size };
    if (resolved.metadata.size > 0)
        memcpy(writer->copies + key.size, resolved.metadata.data, resolved.metadata.size);
    writer->options.metadata.data = writer->copies + key.size;
    hnk__bucket_retain(bucket);
    if ((status = hnk__blob_begin(&writer->draft, bucket->store)) != HNK_OK) {
        hnk_writer_abort(writer);
        return status;
    }
    *out_writer = writer;
    return HNK_OK;
}

hnk_status hnk_writer_append(hnk_writer *writer, hnk_bytes bytes)
{
    hnk_status status;

    assert(writer != NULL);
    if ((status = hnk__store_check(writer->bucket->store)) != HNK_OK || (status = writer->broken) != HNK_OK)
        return status;
    return writer->broken = bytes.size == 0 ? HNK_OK : hnk__blob_append(&writer->draft, bytes);
}

/* A value that stayed small goes into data.mdb like any other. */
static hnk_status commit_small(hnk_writer *writer)
{
    size_t size = (size_t)writer->draft.size;
    hnk_bytes value = { "", 0 };
    hnk_status status;

    if (size > 0) {
        void *mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, writer->draft.file, 0);
        if (mapping == MAP_FAILED)
            return HNK_ERROR_MEMORY;
        value = (hnk_bytes){ mapping, size };
    }
    status = hnk_bucket_set(writer->bucket, writer->key, value, &writer->options);
    if (size > 0)
        munmap((void *)(uintptr_t)value.data, size);
    return status;
}

static hnk_status commit_blob(hnk_writer *writer)
{
    hnk_store *store = writer->bucket->store;
    hnk_operation operation = {
        .bucket = writer->bucket, .kind = HNK_OPERATION_SET, .flags = writer->options.flags, .key = writer->key,
        .metadata = writer->options.metadata, .lifetime_ms = writer->options.lifetime_ms,
        .user_flags = writer->options.user_flags,
    };
    hnk__touched *in;
    hnk__write write;
    hnk_status refusal = HNK_OK, status = HNK_OK;

    if (store->options.sync_mode == HNK_SYNC_COMMIT && (status = hnk__blob_sync(&writer->draft)) != HNK_OK)
        return status;
    if ((status = hnk__write_open(store, &write, NULL)) != HNK_OK)
        return status;
    if ((status = hnk__write_touch(&write, writer->bucket, &in)) == HNK_OK)
        status = hnk__entry_set(&write, in, &operation, &writer->draft, &refusal);
    status = hnk__write_close(&write, status, NULL);
    return status != HNK_OK ? status : refusal;
}

hnk_status hnk_writer_commit(hnk_writer *writer)
{
    hnk_status status;

    assert(writer != NULL);
    if ((status = hnk__store_check(writer->bucket->store)) == HNK_OK && (status = writer->broken) == HNK_OK)
        status = writer->draft.size > writer->bucket->store->options.blob_threshold_bytes ? commit_blob(writer)
                                                                                          : commit_small(writer);
    hnk_writer_abort(writer);
    return status;
}

void hnk_writer_abort(hnk_writer *writer)
{
    if (writer == NULL)
        return;
    if (hnk__store_check(writer->bucket->store) != HNK_OK)
        writer->draft.path[0] = '\0'; /* a forked child's copy: the file is its parent's */
    hnk__blob_discard(&writer->draft, writer->bucket->store);
    hnk_bucket_close(writer->bucket);
    free(writer->copies);
    free(writer);
}

/* Opens a regular file for reading; -1 and errno if it is none. Never waits for a pipe. */
static int open_regular(const char *path)
{
    struct stat stat;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || (fstat(file, &stat) == 0 && S_ISREG(stat.st_mode)))
        return file;
    close(file);
    errno = EINVAL;
    return -1;
}

static hnk_status append_file(hnk_writer *writer, int file, const char *path, hnk_error *error)
{
    hnk_status status = HNK_OK;
    char *buffer = malloc(HNK_WRITE_BUFFER_BYTES);
    if (buffer == NULL)
        return hnk__fail(error, HNK_ERROR_MEMORY, 0, "reading %s", path);
    for (ssize_t got = 1; got != 0 && status == HNK_OK;) {
        got = read(file, buffer, HNK_WRITE_BUFFER_BYTES);
        if (got > 0 && (status = hnk_writer_append(writer, (hnk_bytes){ buffer, (size_t)got })) != HNK_OK)
            hnk__fail(error, status, 0, "storing %s", path);
        else if (got < 0 && errno != EINTR)
            status = hnk__fail(error, hnk__from_errno(errno), errno, "reading %s", path);
    }
    free(buffer);
    return status;
}

hnk_status hnk_bucket_set_file(
    hnk_bucket *bucket, hnk_bytes key, const char *path, const hnk_set_options *options, hnk_error *error)
{
    hnk_writer *writer;
    hnk_status status;

    int file = open_regular(path);
    if (file < 0)
        return hnk__fail(error, errno == ENOENT ? HNK_NOT_FOUND : hnk__from_errno(errno), errno, "opening %s", path);
    if ((status = hnk_writer_begin(bucket, key, options, &writer)) != HNK_OK) {
        hnk__fail(error, status, 0, "storing %s", path);
    } else if ((status = append_file(writer, file, path, error)) != HNK_OK) {
        hnk_writer_abort(writer);
    } else if ((status = hnk_writer_commit(writer)) != HNK_OK) {
        hnk__fail(error, status, 0, "storing %s", path);
    }
    close(file);
    return status;
}
