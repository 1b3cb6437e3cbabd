/* inject.h: one call of a chosen function fails, by its place among the calls of that function. */
#ifndef HNK_TESTS_INJECT_H
#define HNK_TESTS_INJECT_H

#include <stdbool.h>

/* What is wrapped: with -Wl,--wrap of each, also in LMDB where it is linked statically. */
#define INJECT_FUNCTIONS(X) \
    X(malloc) X(calloc) X(realloc) X(posix_memalign) X(strdup) X(realpath) X(pthread_create) \
    X(open) X(openat) X(fdopendir) X(faccessat) X(fstat) X(fstatat) X(mkdir) X(mkdirat) X(unlinkat) X(renameat) \
    X(read) X(pread) X(write) X(pwrite) X(writev) X(lseek) X(ftruncate) X(posix_fallocate) X(fallocate) \
    X(fsync) X(fdatasync) X(msync) X(mmap) X(mprotect) X(flock) X(fcntl)

typedef enum inject_function {
#define INJECT_ENUM(name) INJECT_##name,
    INJECT_FUNCTIONS(INJECT_ENUM)
#undef INJECT_ENUM
    INJECT_COUNT
} inject_function;

/* What happens to a call. */
typedef struct injection {
    inject_function function;
    int os_error;  /* it fails with this; 0: it does half of what was asked for */
    bool lasts;    /* and so do all of the same function after it */
    long nth;      /* counted from 1 */
} injection;

const char *inject_name(inject_function function);

/* The faults of which each is to be tried at each place: the one numbered `index`; false if there are no more. */
bool inject_fault(unsigned index, injection *out);

void inject_arm(const injection *what);

/* Whether the call has come to pass. */
bool inject_has_struck(void);

/* Ends it. */
void inject_disarm(void);

#endif
