/* status.c: code -> name -> sentence, in one table; errno -> status; and the versions. */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STATUSES(X)                                                                                                    \
    X(HNK_OK, "done")                                                                                                  \
    X(HNK_NOT_FOUND, "not found")                                                                                      \
    X(HNK_EXPIRED, "the entry's lifetime is over; set it anew, or read it with HNK_GET_EXPIRED")                       \
    X(HNK_DAMAGED, "the entry failed its checksum and will be removed; set it anew")                                   \
    X(HNK_ERROR_IO, "the system refused an operation on the store's files; see the system's error")                    \
    X(HNK_ERROR_MEMORY, "out of memory")                                                                               \
    X(HNK_ERROR_ARGUMENT, "an option or flag is unknown to this version, or out of its range; see haneke.h")           \
    X(HNK_ERROR_KEY_SIZE, "a key must have 1 to 65,536 bytes; shorten it or use a digest of it")                       \
    X(HNK_ERROR_METADATA_SIZE, "metadata may have at most 65,536 bytes; put the rest into the value")                  \
    X(HNK_ERROR_NAME_SIZE, "a bucket's name may have at most 255 bytes; choose a shorter one")                         \
    X(HNK_ERROR_VALUE_TOO_LARGE, "the value alone exceeds the bucket's capacity; raise it or split the value") \
    X(HNK_ERROR_BUFFER_SIZE, "the buffer is too small for the value; pass one of the size that was told")              \
    X(HNK_ERROR_DISK_FULL, "no room on the file system, even after evicting; free some or lower the capacity")         \
    X(HNK_ERROR_ACCESS, "the directory may not be read and written; change its permissions or choose another")         \
    X(HNK_ERROR_NOT_A_DIRECTORY, "a file stands where the directory should be; choose another directory")              \
    X(HNK_ERROR_NOT_A_STORE, "data.mdb in this directory is not a store of this library; choose another directory")    \
    X(HNK_ERROR_NEWER_FORMAT, "a newer version wrote the store; update this program or choose another directory") \
    X(HNK_ERROR_DAMAGED_STORE, "the store is damaged; open it with HNK_DAMAGE_SALVAGE or delete the directory")        \
    X(HNK_ERROR_DIRECTORY_GONE, "the directory was deleted while open; close the store and open it again")             \
    X(HNK_ERROR_FORKED, "the store was opened before fork(); open it anew in the child")                               \
    X(HNK_ERROR_READERS_FULL, "too many leases at once; release some or raise readers_max")                            \
    X(HNK_ERROR_BUCKETS_FULL, "no bucket ids are left in this store; delete the directory and begin anew")             \
    X(HNK_ERROR_CANCELLED, "stopped by the progress function")                                                         \
    X(HNK_ERROR_INTERNAL, "a bug in the store; please report it")

const char *hnk_status_name(hnk_status status)
{
    switch (status) {
#define NAME(code, sentence) case code: return #code;
        STATUSES(NAME)
#undef NAME
    }
    return "HNK_UNKNOWN";
}

const char *hnk_status_text(hnk_status status)
{
    switch (status) {
#define TEXT(code, sentence) case code: return sentence;
        STATUSES(TEXT)
#undef TEXT
    }
    return "a status that this version does not know";
}

hnk_status hnk__from_errno(int os_error)
{
    switch (os_error) {
    case 0: return HNK_OK;
    case ENOMEM: return HNK_ERROR_MEMORY;
    case ENOSPC: case EDQUOT: case EFBIG: return HNK_ERROR_DISK_FULL;
    case EACCES: case EPERM: case EROFS: return HNK_ERROR_ACCESS;
    case ENOTDIR: return HNK_ERROR_NOT_A_DIRECTORY;
    default: return HNK_ERROR_IO;
    }
}

/* glibc's strerror_r under _GNU_SOURCE gives the text, everyone else's an int. */
static const char *system_text(int os_error, char *buffer, size_t size)
{
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
    return strerror_r(os_error, buffer, size);
#else
    return strerror_r(os_error, buffer, size) == 0 ? buffer : "unknown system error";
#endif
}

hnk_status hnk__fail(hnk_error *error, hnk_status status, int os_error, const char *format, ...)
{
    if (error == NULL)
        return status;
    error->status = status;
    error->os_error = os_error;

    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    size_t at = used < 0 ? 0 : (size_t)used < sizeof error->message ? (size_t)used : sizeof error->message - 1;
    if (os_error != 0 && at + 4 < sizeof error->message) {
        char text[96];
        at += (size_t)snprintf(error->message + at, sizeof error->message - at, ": %s",
                               system_text(os_error, text, sizeof text));
        at = at < sizeof error->message ? at : sizeof error->message - 1;
    }
    if (at + 4 < sizeof error->message)
        snprintf(error->message + at, sizeof error->message - at, "%s%s", at > 0 ? ": " : "", hnk_status_text(status));
    return status;
}

const char *hnk_version(void)
{
    return HNK_VERSION_TEXT;
}

static char build_information[128];

static void write_build_information(void)
{
    unsigned hash = hnk__digest_library_version();
    snprintf(build_information, sizeof build_information, "haneke %s, format %u, LMDB %s, xxHash %u.%u.%u",
             HNK_VERSION_TEXT, HNK_FORMAT_VERSION, hnk__lmdb_version(), hash / 10000, hash / 100 % 100, hash % 100);
}

const char *hnk_build_information(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, write_build_information);
    return build_information;
}
