/* inject.c: the wrapped functions. fsync() and its like do nothing where they don't fail: whatever else happens, this
 * machine stays up. */
#include "inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static injection armed;
static long countdown; /* 0 = nothing is to come */
static bool met;

const char *inject_name(inject_function function)
{
    static const char *const names[] = {
#define INJECT_NAME(name) #name,
        INJECT_FUNCTIONS(INJECT_NAME)
#undef INJECT_NAME
    };
    return names[function];
}

bool inject_fault(unsigned index, injection *out)
{
    /* What lasts is what a disk, a quota or a system that is out of something does. */
    static const injection faults[] = {
        { INJECT_malloc, ENOMEM, false, 0 },         { INJECT_malloc, ENOMEM, true, 0 },
        { INJECT_calloc, ENOMEM, false, 0 },         { INJECT_realloc, ENOMEM, false, 0 },
        { INJECT_posix_memalign, ENOMEM, false, 0 }, { INJECT_strdup, ENOMEM, false, 0 },
        { INJECT_realpath, EACCES, false, 0 },       { INJECT_pthread_create, EAGAIN, false, 0 },
        { INJECT_open, EMFILE, false, 0 },           { INJECT_open, EACCES, false, 0 },
        { INJECT_openat, EMFILE, false, 0 },         { INJECT_openat, EACCES, false, 0 },
        { INJECT_openat, ENOSPC, true, 0 },          { INJECT_fdopendir, ENOMEM, false, 0 },
        { INJECT_faccessat, EACCES, false, 0 },      { INJECT_fstat, EIO, false, 0 },
        { INJECT_fstatat, EIO, false, 0 },           { INJECT_mkdir, ENOSPC, false, 0 },
        { INJECT_mkdirat, ENOSPC, false, 0 },        { INJECT_unlinkat, EIO, false, 0 },
        { INJECT_unlinkat, EACCES, true, 0 },        { INJECT_renameat, ENOSPC, false, 0 },
        { INJECT_read, EIO, false, 0 },              { INJECT_pread, EIO, false, 0 },
        { INJECT_write, ENOSPC, false, 0 },          { INJECT_write, EIO, true, 0 },
        { INJECT_write, 0, false, 0 },
        { INJECT_pwrite, ENOSPC, false, 0 },         { INJECT_pwrite, EIO, true, 0 },
        { INJECT_pwrite, 0, false, 0 },              { INJECT_writev, ENOSPC, false, 0 },
        { INJECT_writev, EIO, true, 0 },             { INJECT_writev, 0, false, 0 },
        { INJECT_lseek, EIO, false, 0 },             { INJECT_ftruncate, ENOSPC, false, 0 },
        { INJECT_posix_fallocate, ENOSPC, false, 0 }, { INJECT_posix_fallocate, ENOSPC, true, 0 },
        { INJECT_fallocate, EIO, false, 0 },         { INJECT_fallocate, EOPNOTSUPP, true, 0 },
        { INJECT_fsync, EIO, false, 0 },             { INJECT_fsync, ENOSPC, true, 0 },
        { INJECT_fdatasync, EIO, false, 0 },         { INJECT_fdatasync, ENOSPC, true, 0 },
        { INJECT_msync, EIO, false, 0 },             { INJECT_mmap, ENOMEM, false, 0 },
        { INJECT_mprotect, ENOMEM, false, 0 },       { INJECT_flock, ENOLCK, false, 0 },
        { INJECT_fcntl, ENOLCK, false, 0 },
    };
    if (index >= sizeof faults / sizeof *faults)
        return false;
    *out = faults[index];
    return true;
}

void inject_arm(const injection *what)
{
    armed = *what;
    met = false;
    countdown = what->nth;
}

bool inject_has_struck(void)
{
    return met;
}

void inject_disarm(void)
{
    countdown = 0;
}

/* Whether this call is the one. */
static bool strikes(inject_function function)
{
    if (countdown == 0 || armed.function != function || --countdown > 0)
        return false;
    countdown = armed.lasts ? 1 : 0;
    met = true;
    errno = armed.os_error;
    return true;
}

#define WRAP(result, name, parameters, arguments, failure) \
    result __real_##name parameters; \
    result __wrap_##name parameters; \
    result __wrap_##name parameters { return strikes(INJECT_##name) ? (failure) : __real_##name arguments; }

/* A call that can also do half of `size`. */
#define WRAP_SIZED(result, name, parameters, arguments, half) \
    result __real_##name parameters; \
    result __wrap_##name parameters; \
    result __wrap_##name parameters \
    { \
        if (!strikes(INJECT_##name)) \
            return __real_##name arguments; \
        return armed.os_error != 0 ? -1 : __real_##name half; \
    }

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL)
WRAP(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size), armed.os_error)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, realpath, (const char *path, char *out), (path, out), NULL)
WRAP(int, pthread_create,
     (pthread_t *out, const pthread_attr_t *attributes, void *(*start)(void *), void *context),
     (out, attributes, start, context), armed.os_error)
WRAP(DIR *, fdopendir, (int file), (file), NULL)
WRAP(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), -1)
WRAP(int, fstat, (int file, struct stat *out), (file, out), -1)
WRAP(int, fstatat, (int folder, const char *path, struct stat *out, int flags), (folder, path, out, flags), -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), -1)
WRAP(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), -1)
WRAP(int, renameat, (int from, const char *old, int to, const char *path), (from, old, to, path), -1)
WRAP(off_t, lseek, (int file, off_t at, int from), (file, at, from), -1)
WRAP(int, ftruncate, (int file, off_t size), (file, size), -1)
WRAP(int, posix_fallocate, (int file, off_t offset, off_t size), (file, offset, size), armed.os_error)
WRAP(int, fallocate, (int file, int mode, off_t offset, off_t size), (file, mode, offset, size), -1)
WRAP(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t offset),
     (at, size, protection, flags, file, offset), MAP_FAILED)
WRAP(int, mprotect, (void *at, size_t size, int protection), (at, size, protection), -1)
WRAP(int, flock, (int file, int how), (file, how), -1)
WRAP(ssize_t, read, (int file, void *out, size_t size), (file, out, size), -1)
WRAP(ssize_t, pread, (int file, void *out, size_t size, off_t at), (file, out, size, at), -1)
WRAP_SIZED(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size), (file, bytes, size / 2))
WRAP_SIZED(ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at),
           (file, bytes, size / 2, at))

ssize_t __real_writev(int file, const struct iovec *parts, int count);
ssize_t __wrap_writev(int file, const struct iovec *parts, int count);
ssize_t __wrap_writev(int file, const struct iovec *parts, int count)
{
    struct iovec half = parts[0];
    if (!strikes(INJECT_writev))
        return __real_writev(file, parts, count);
    half.iov_len /= 2;
    return armed.os_error != 0 ? -1 : __real_writev(file, &half, 1);
}

#define WRAP_SYNC(name, parameters) \
    int __wrap_##name parameters; \
    int __wrap_##name parameters { return strikes(INJECT_##name) ? -1 : 0; }

WRAP_SYNC(fsync, (int file __attribute__((unused))))
WRAP_SYNC(fdatasync, (int file __attribute__((unused))))
WRAP_SYNC(msync, (void *at __attribute__((unused)), size_t size __attribute__((unused)),
                  int flags __attribute__((unused))))

static mode_t mode_of(int flags, va_list arguments)
{
    return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return strikes(INJECT_openat) ? -1 : __real_openat(folder, path, flags, mode);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return strikes(INJECT_open) ? -1 : __real_open(path, flags, mode);
}

/* Of its third arguments all that are used here are pointers or fit into one. */
int __real_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return strikes(INJECT_fcntl) ? -1 : __real_fcntl(file, command, argument);
}
