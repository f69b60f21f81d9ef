/* What a machine does on a bad day, to the one program it is preloaded into and to none that this starts (tests/e2e/test_injected.py):
 *
 *   FAULT_ALLOC=N      the Nth allocation fails; N+: all from the Nth on do
 *   FAULT_COUNT=FILE   how many allocations there were is written there at the end
 *   FAULT_IO=SEED      what is read from and written to sockets, files and the standard descriptors goes a few bytes at a time, is interrupted, and is
 *                      said not to be ready where that may be said
 *   FAULT_SPACE=N      the disk is full behind N bytes that are written to files
 *
 * DESIGN  Allocations are glibc's own behind a count.  The loader's never fail: they are what a new thread needs, and where there is none libuv aborts
 * without a word.  Pipes but the standard ones are left alone: those are libuv's, which writes whole messages to
 * them and may rely on it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

#define SEEN __attribute__((visibility("default")))

static atomic_ulong allocations, drawn;
static unsigned long fails_at;
static bool fails_on, io;
static atomic_long space = -1;

static bool allocation_fails(const void *caller) {
    unsigned long n = atomic_fetch_add(&allocations, 1) + 1;
    Dl_info of;
    if (fails_at == 0 || !(fails_on ? n >= fails_at : n == fails_at)) return false;
    if (dladdr(caller, &of) && strstr(of.dli_fname, "/ld-")) return false;
    errno = ENOMEM;
    return true;
}

SEEN void *malloc(size_t size) {
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

SEEN void *calloc(size_t count, size_t size) {
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

SEEN void *realloc(void *block, size_t size) {
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

/* ---- reading and writing ---------------------------------------------------------------------------------------------------- */

static unsigned draw(unsigned n) {
    uint64_t x = atomic_fetch_add(&drawn, 1) * 0x9e3779b97f4a7c15u;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    return (unsigned)((x >> 33) % n);
}

static bool is_file(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_ours(int fd) {
    struct stat info;
    if (!io || fstat(fd, &info) != 0) return false;
    return fd <= STDERR_FILENO || S_ISSOCK(info.st_mode) || S_ISREG(info.st_mode);
}

/* An error instead, or how many bytes it may be. */
static bool refused(int fd, size_t *count) {
    if (*count == 0 || !is_ours(fd)) return false;
    switch (draw(6)) {
    case 0:
        errno = EINTR;
        return true;
    case 1:
        if (is_file(fd) || !(fcntl(fd, F_GETFL) & O_NONBLOCK)) return false;
        errno = EAGAIN;
        return true;
    case 2:
        return false;
    default:
        if (*count > 7) *count = 1 + draw(7);
        return false;
    }
}

static bool is_full(int fd, size_t *count) {
    long left = atomic_load(&space);
    if (left < 0 || !is_file(fd)) return false;
    if (left == 0) {
        errno = ENOSPC;
        return true;
    }
    if (*count > (size_t)left) *count = (size_t)left;
    atomic_fetch_sub(&space, (long)*count);
    return false;
}

SEEN ssize_t read(int fd, void *bytes, size_t count) {
    return refused(fd, &count) ? -1 : syscall(SYS_read, fd, bytes, count);
}

SEEN ssize_t write(int fd, const void *bytes, size_t count) {
    return refused(fd, &count) || is_full(fd, &count) ? -1 : syscall(SYS_write, fd, bytes, count);
}

/* The first bytes of what many parts hold. */
static int shortened(const struct iovec *parts, int count, size_t limit, struct iovec *out, int max) {
    int n = 0;
    for (; n < count && n < max && limit > 0; n++) {
        out[n] = parts[n];
        if (out[n].iov_len > limit) out[n].iov_len = limit;
        limit -= out[n].iov_len;
    }
    return n;
}

static size_t sum(const struct iovec *parts, int count) {
    size_t total = 0;
    for (int i = 0; i < count; i++) total += parts[i].iov_len;
    return total;
}

SEEN ssize_t writev(int fd, const struct iovec *parts, int count) {
    enum { PARTS = 16 };
    struct iovec some[PARTS];
    size_t all = sum(parts, count), limit = all;
    if (refused(fd, &limit) || is_full(fd, &limit)) return -1;
    if (limit == all) return syscall(SYS_writev, fd, parts, count);
    return syscall(SYS_writev, fd, some, shortened(parts, count, limit, some, PARTS));
}

SEEN ssize_t recv(int fd, void *bytes, size_t count, int flags) {
    return refused(fd, &count) ? -1 : syscall(SYS_recvfrom, fd, bytes, count, flags, NULL, NULL);
}

SEEN ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    return refused(fd, &count) ? -1 : syscall(SYS_sendto, fd, bytes, count, flags, NULL, 0);
}

/* ---- life ------------------------------------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(void) {
    const char *alloc = getenv("FAULT_ALLOC"), *seed = getenv("FAULT_IO"), *bytes = getenv("FAULT_SPACE");
    unsetenv("LD_PRELOAD");
    io = seed != NULL;
    if (seed) atomic_store(&drawn, strtoul(seed, NULL, 10) << 32);
    if (bytes) atomic_store(&space, strtol(bytes, NULL, 10));
    char *end = NULL;
    atomic_store(&allocations, 0);
    if (alloc) fails_at = strtoul(alloc, &end, 10);
    fails_on = end && *end == '+';
}

__attribute__((destructor)) static void finish(void) {
    char line[32];
    const char *path = getenv("FAULT_COUNT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    int n = snprintf(line, sizeof(line), "%lu\n", atomic_load(&allocations));
    if (syscall(SYS_write, fd, line, (size_t)n) != n) abort();
    close(fd);
}
