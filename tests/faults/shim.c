/* Stands between a program and the disk, for tests of what happens when either fails.
 *
 * Loaded with LD_PRELOAD. Every call that changes something under one folder is a point, counted
 * from 1. A program arms the shim with fault_arm() and a mode: kill the process before the n-th
 * point, or in the midst of it; let the disk be full from the n-th point on; or write every change
 * to a file, from which the state after a power cut can be worked out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, TEAR, FULL, TRACE };

static int mode = OFF, log_file = -1;
static long target = 0, points = 0;
static char root[PATH_MAX];

void fault_arm(int new_mode, long new_target, const char *new_root, int new_log) {
    mode = new_mode;
    target = new_target;
    points = 0;
    log_file = new_log;
    snprintf(root, sizeof root, "%s", new_root);
}

long fault_points(void) { return points; }

/* ---- what a call is about ---- */

static int inside(const char *path) {
    size_t length = strlen(root);
    return mode != OFF && length > 0 && strncmp(path, root, length) == 0 &&
           (path[length] == '/' || path[length] == 0);
}

static void absolute(int folder, const char *path, char *whole) {
    char base[PATH_MAX];
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
        return;
    }
    if (folder == AT_FDCWD) {
        if (getcwd(base, sizeof base) == NULL) base[0] = 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, base, sizeof base - 1);
        base[length < 0 ? 0 : length] = 0;
    }
    if (snprintf(whole, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) whole[0] = 0;
}

static int named(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0 && inside(path);
}

static unsigned long inode(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0 ? (unsigned long)found.st_ino : 0;
}

static unsigned long inode_of(int file) {
    struct stat found;
    return fstat(file, &found) == 0 ? (unsigned long)found.st_ino : 0;
}

/* ---- points ---- */

static void put(const void *bytes, size_t length) {
    const char *next = bytes;
    while (length > 0) {
        long done = syscall(SYS_write, log_file, next, length);
        if (done <= 0) abort();
        next += done;
        length -= done;
    }
}

static void record(const char *what, unsigned long id, long offset, const char *first,
                   const char *second, const void *data, size_t length) {
    char head[128];
    if (mode != TRACE) return;
    int size = snprintf(head, sizeof head, "%s %lu %ld %zu %zu %zu\n", what, id, offset,
                        strlen(first), strlen(second), length);
    put(head, size);
    put(first, strlen(first));
    put(second, strlen(second));
    put(data, length);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Count a point; die before it if that is asked for. Tells whether the disk is full by now. */
static int point(void) {
    points++;
    if (mode == KILL && points == target) die();
    return mode == FULL && points >= target;
}

static int tearing(void) { return mode == TEAR && points == target; }

static int grows(int file, off_t end) {
    struct stat found;
    return fstat(file, &found) == 0 && end > (off_t)found.st_blocks * 512;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- names ---- */

static int opened(int (*real)(int, const char *, int, ...), int folder, const char *path,
                  int flags, mode_t rights) {
    char whole[PATH_MAX];
    int fresh = 0;
    absolute(folder, path, whole);
    if (inside(whole) && (flags & (O_CREAT | O_TRUNC))) {
        fresh = (flags & O_CREAT) && inode(whole) == 0;
        if (fresh || (flags & O_TRUNC)) {
            if (point() && fresh) {
                errno = ENOSPC;
                return -1;
            }
        }
    }
    int file = real(folder, path, flags, rights);
    if (file >= 0 && fresh) record("create", inode_of(file), 0, whole, "", "", 0);
    if (file >= 0 && !fresh && (flags & O_TRUNC) && inside(whole))
        record("truncate", inode_of(file), 0, whole, "", "", 0);
    return file;
}

#define RIGHTS                                   \
    mode_t rights = 0;                           \
    if (flags & (O_CREAT | __O_TMPFILE)) {       \
        va_list rest;                            \
        va_start(rest, flags);                   \
        rights = va_arg(rest, mode_t);           \
        va_end(rest);                            \
    }

int open(const char *path, int flags, ...) {
    RIGHTS
    return opened(REAL(openat), AT_FDCWD, path, flags, rights);
}
int open64(const char *path, int flags, ...) {
    RIGHTS
    return opened(REAL(openat64), AT_FDCWD, path, flags, rights);
}
int openat(int folder, const char *path, int flags, ...) {
    RIGHTS
    return opened(REAL(openat), folder, path, flags, rights);
}
int openat64(int folder, const char *path, int flags, ...) {
    RIGHTS
    return opened(REAL(openat64), folder, path, flags, rights);
}

int mkdirat(int folder, const char *path, mode_t rights) {
    char whole[PATH_MAX];
    absolute(folder, path, whole);
    int watched = inside(whole);
    if (watched && point()) {
        errno = ENOSPC;
        return -1;
    }
    int result = REAL(mkdirat)(folder, path, rights);
    if (watched && result == 0) record("mkdir", inode(whole), 0, whole, "", "", 0);
    return result;
}
int mkdir(const char *path, mode_t rights) { return mkdirat(AT_FDCWD, path, rights); }

int unlinkat(int folder, const char *path, int flags) {
    char whole[PATH_MAX];
    absolute(folder, path, whole);
    int watched = inside(whole);
    if (watched) point();
    int result = REAL(unlinkat)(folder, path, flags);
    if (watched && result == 0) record("unlink", 0, 0, whole, "", "", 0);
    return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int renameat(int from, const char *old, int to, const char *new) {
    char first[PATH_MAX], second[PATH_MAX];
    absolute(from, old, first);
    absolute(to, new, second);
    int watched = inside(first) || inside(second);
    if (watched) point();
    int result = REAL(renameat)(from, old, to, new);
    if (watched && result == 0) record("rename", 0, 0, first, second, "", 0);
    return result;
}
int rename(const char *old, const char *new) { return renameat(AT_FDCWD, old, AT_FDCWD, new); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
    char first[PATH_MAX], second[PATH_MAX];
    absolute(from, old, first);
    absolute(to, new, second);
    int watched = inside(second);
    if (watched) point();
    int result = REAL(linkat)(from, old, to, new, flags);
    if (watched && result == 0) record("link", 0, 0, first, second, "", 0);
    return result;
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

/* ---- contents ---- */

static ssize_t written(int file, const void *data, size_t length, off_t offset, int moves) {
    char path[PATH_MAX];
    int watched = named(file, path);
    off_t place = watched && moves ? lseek(file, 0, SEEK_CUR) : offset;
    if (watched) {
        if (point() && grows(file, place + length)) {
            errno = ENOSPC;
            return -1;
        }
        if (tearing()) {
            syscall(SYS_pwrite64, file, data, length / 2, place);
            die();
        }
    }
    ssize_t done = moves ? syscall(SYS_write, file, data, length)
                         : syscall(SYS_pwrite64, file, data, length, offset);
    if (watched && done > 0) record("write", inode_of(file), place, path, "", data, done);
    return done;
}

ssize_t write(int file, const void *data, size_t length) {
    return written(file, data, length, 0, 1);
}
ssize_t pwrite(int file, const void *data, size_t length, off_t offset) {
    return written(file, data, length, offset, 0);
}
ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) {
    return written(file, data, length, offset, 0);
}

int ftruncate(int file, off_t length) {
    char path[PATH_MAX];
    int watched = named(file, path);
    if (watched) point();
    int result = syscall(SYS_ftruncate, file, length);
    if (watched && result == 0) record("truncate", inode_of(file), length, path, "", "", 0);
    return result;
}
int ftruncate64(int file, off64_t length) { return ftruncate(file, length); }

static int allocated(int file, off_t offset, off_t length) {
    char path[PATH_MAX];
    struct stat found;
    int watched = named(file, path);
    if (watched && point() && grows(file, offset + length)) return ENOSPC;
    if (syscall(SYS_fallocate, file, 0, offset, length) != 0) return errno;
    if (watched && fstat(file, &found) == 0)
        record("truncate", inode_of(file), found.st_size, path, "", "", 0);
    return 0;
}
int posix_fallocate(int file, off_t offset, off_t length) {
    return allocated(file, offset, length);
}
int posix_fallocate64(int file, off64_t offset, off64_t length) {
    return allocated(file, offset, length);
}

static int synced(int file, int number) {
    char path[PATH_MAX];
    int watched = named(file, path);
    if (watched) point();
    int result = syscall(number, file);
    if (watched && result == 0) record("sync", inode_of(file), 0, path, "", "", 0);
    return result;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }
