/* platform.c: clock, randomness, boot identity, disk blocks: what differs between systems. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#  include <stdlib.h>
#  include <sys/sysctl.h>
#elif defined(__linux__)
#  include <sys/random.h>
#endif

uint64_t hnk__now_ns(bool precise)
{
    struct timespec now;
#if defined(CLOCK_REALTIME_COARSE)
    clockid_t clock = precise ? CLOCK_REALTIME : CLOCK_REALTIME_COARSE;
#else
    clockid_t clock = CLOCK_REALTIME;
    (void)precise;
#endif
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hnk__now_ms(void)
{
    return hnk__now_ns(false) / 1000000u;
}

/* The kernel's name for this boot, so that a marker written before a crash of the system can be told from one of
 * today. */
bool hnk__boot_identity(uint8_t out[16])
{
    memset(out, 0, 16);
#if defined(__linux__)
    char text[36];
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text);
    if (file >= 0)
        close(file);
    if (got != (ssize_t)sizeof text)
        return false;
    unsigned digits = 0;
    for (size_t i = 0; i < sizeof text && digits < 32; i++) {
        char c = text[i];
        unsigned value;
        if (c >= '0' && c <= '9')
            value = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = (unsigned)(c - 'a') + 10;
        else
            continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | value);
        digits++;
    }
    return digits == 32;
#elif defined(__APPLE__)
    struct timeval boot;
    size_t size = sizeof boot;
    int name[2] = { CTL_KERN, KERN_BOOTTIME };
    if (sysctl(name, 2, &boot, &size, NULL, 0) != 0)
        return false;
    uint64_t seconds = (uint64_t)boot.tv_sec;
    memcpy(out, &seconds, sizeof seconds);
    return true;
#else
    return false;
#endif
}

uint64_t hnk__boot_digest(void)
{
    uint8_t boot[16];
    hnk__boot_identity(boot); /* all zero where the system gives none */
    uint64_t digest = hnk__digest(boot, sizeof boot, 0);
    return digest != 0 ? digest : 1;
}

void hnk__random(void *bytes, size_t size)
{
#if defined(__APPLE__)
    arc4random_buf(bytes, size);
#else
    unsigned char *at = bytes;
    size_t left = size;
#  if defined(__linux__)
    while (left > 0) {
        ssize_t got = getrandom(at, left, 0);
        if (got <= 0 && errno != EINTR)
            break;
        if (got > 0) {
            at += got;
            left -= (size_t)got;
        }
    }
#  endif
    /* No randomness to be had: the identity and the eviction samples only have to differ, not to be secret. */
    uint64_t state = hnk__now_ns(true) ^ (uint64_t)(uintptr_t)bytes ^ (uint64_t)getpid() << 32;
    for (; left > 0; left--, at++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        *at = (unsigned char)(state >> 56);
    }
#endif
}

/* A hole under a shared mapping is a SIGBUS when the disk is full; blocks reserved now are an errno instead. */
bool hnk__reserve(int file, uint64_t offset, uint64_t size)
{
#if defined(__linux__)
    int os_error;
    do
        os_error = posix_fallocate(file, (off_t)offset, (off_t)size);
    while (os_error == EINTR);
    errno = os_error;
    return os_error == 0;
#else
    static const unsigned char zeros[4096];
    for (uint64_t done = 0; done < size; done += sizeof zeros) {
        size_t step = size - done < sizeof zeros ? (size_t)(size - done) : sizeof zeros;
        if (pwrite(file, zeros, step, (off_t)(offset + done)) != (ssize_t)step)
            return false;
    }
    return true;
#endif
}

/* The same past the end of the file, whose size stays. Where that can't be asked for, nothing is reserved. */
bool hnk__reserve_past_end(int file, uint64_t size)
{
#if defined(__linux__) && defined(FALLOC_FL_KEEP_SIZE)
    return fallocate(file, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
#else
    (void)file, (void)size;
    return true;
#endif
}

bool hnk__punch(int file, uint64_t offset, uint64_t size)
{
#if defined(__linux__) && defined(FALLOC_FL_PUNCH_HOLE)
    return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) == 0;
#elif defined(F_PUNCHHOLE)
    struct fpunchhole hole = { 0, 0, (off_t)offset, (off_t)size };
    return fcntl(file, F_PUNCHHOLE, &hole) == 0;
#else
    (void)file, (void)offset, (void)size;
    errno = ENOTSUP;
    return false;
#endif
}

/* What can be mapped at once: `wanted`, or where that fails (valgrind, ulimit -v) a half of it, or less. */
uint64_t hnk__address_space(uint64_t wanted)
{
    for (; wanted > HNK_MAP_LEAST_BYTES; wanted /= 2) {
        size_t bytes = (size_t)(wanted + wanted / 4); /* slots are mapped, too */
        void *mapping = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
        if (mapping != MAP_FAILED) {
            munmap(mapping, bytes);
            break;
        }
    }
    return wanted;
}
