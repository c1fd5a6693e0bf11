/* Records what programs that load this library first (LD_PRELOAD) ask of the disk for the files of the folder
   RECORD_DISK_FOLDER, in order, in the file RECORD_DISK_LOG: writes, truncations, syncs and removals, and what
   they print.

   Every RECORD_DISK_FAIL-th sync of a log of SQLite by a process fails, as if the disk had not taken the pages.
   As Linux does it, every other descriptor that was open then reports the failure once, at its next sync.

   A record is a header and its path and data. Each is appended with one call of the system, so the records of
   several processes are in one order. A write is recorded when it has been made, and a sync when it begins and
   when it ends: what another process can see is recorded before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITTEN = 1, TRUNCATED, SYNC_BEGUN, SYNC_ENDED, SYNC_FAILED, SYNC_REPORTED, REMOVED, TOLD };

struct header {
  uint32_t kind, path_bytes;
  /* Where a write begins, the size after a truncation, or the number of a sync. */
  uint64_t at;
  uint64_t data_bytes;
};

static void record(enum kind kind, const char *path, uint64_t at, const void *data, size_t bytes) {
  static _Atomic int log = -1;
  int file = log;
  if (file < 0) {
    const char *name = getenv("RECORD_DISK_LOG");
    if (!name) return;
    file = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    log = file;
  }
  struct header header = {kind, strlen(path), at, bytes};
  struct iovec parts[] = {{&header, sizeof header}, {(void *)path, header.path_bytes}, {(void *)data, bytes}};
  size_t all = sizeof header + header.path_bytes + bytes;
  if (syscall(SYS_writev, file, parts, 3) != (ssize_t)all) abort();
}

/* The path of a descriptor below the folder, or null for other files. */
static const char *path_of(int fd, char path[PATH_MAX]) {
  const char *folder = getenv("RECORD_DISK_FOLDER");
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (!folder || length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0 ? path : 0;
}

#define NEXT(type, name, ...) \
  static type (*next)(__VA_ARGS__); \
  if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t written(int fd, const void *data, ssize_t bytes, off64_t at) {
  int error = errno;
  char path[PATH_MAX];
  if (bytes > 0 && path_of(fd, path)) record(WRITTEN, path, at, data, bytes);
  errno = error;
  return bytes;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
  NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t);
  return written(fd, data, next(fd, data, bytes, at), at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
  NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  return written(fd, data, next(fd, data, bytes, at), at);
}

ssize_t write(int fd, const void *data, size_t bytes) {
  NEXT(ssize_t, "write", int, const void *, size_t);
  if (fd == 1) record(TOLD, "", 0, data, bytes);
  off64_t at = fd == 1 ? 0 : lseek64(fd, 0, SEEK_CUR);
  ssize_t done = next(fd, data, bytes);
  return fd == 1 ? done : written(fd, data, done, at);
}

static int truncated(int fd, int result, off64_t size) {
  int error = errno;
  char path[PATH_MAX];
  if (result == 0 && path_of(fd, path)) record(TRUNCATED, path, size, 0, 0);
  errno = error;
  return result;
}

int ftruncate(int fd, off_t size) {
  NEXT(int, "ftruncate", int, off_t);
  return truncated(fd, next(fd, size), size);
}

int ftruncate64(int fd, off64_t size) {
  NEXT(int, "ftruncate64", int, off64_t);
  return truncated(fd, next(fd, size), size);
}

int unlink(const char *path) {
  NEXT(int, "unlink", const char *);
  const char *folder = getenv("RECORD_DISK_FOLDER");
  int result = next(path), error = errno;
  if (result == 0 && folder && strncmp(path, folder, strlen(folder)) == 0) record(REMOVED, path, 0, 0, 0);
  errno = error;
  return result;
}

/* The number of failures, which the processes share, and the last one that each descriptor has reported. */
static _Atomic uint64_t *failures;
static _Atomic uint64_t reported[65536];

static void share_failures(void) {
  char name[PATH_MAX];
  const char *log = getenv("RECORD_DISK_LOG");
  if (failures || !log) return;
  snprintf(name, sizeof name, "%s.failures", log);
  int file = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (syscall(SYS_ftruncate, file, sizeof *failures) != 0) abort();
  failures = mmap(0, sizeof *failures, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
}

static int opened(int fd) {
  int error = errno;
  share_failures();
  if (failures && fd >= 0 && fd < 65536) reported[fd] = *failures;
  errno = error;
  return fd;
}

int open(const char *path, int flags, ...) {
  NEXT(int, "open", const char *, int, ...);
  va_list more;
  va_start(more, flags);
  mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return opened(next(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
  NEXT(int, "open64", const char *, int, ...);
  va_list more;
  va_start(more, flags);
  mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return opened(next(path, flags, mode));
}

static int is_log(int fd, const char *path) {
  const char *end = strrchr(path, '-');
  return failures && fd < 65536 && end && strcmp(end, "-wal") == 0;
}

/* Whether this sync fails by itself. */
static int fails(int fd, const char *path) {
  static _Atomic uint64_t tries;
  const char *every = getenv("RECORD_DISK_FAIL");
  if (!every || !is_log(fd, path) || reported[fd] < *failures) return 0;
  if (++tries % strtoull(every, 0, 10) != 0) return 0;
  reported[fd] = ++*failures;
  return 1;
}

/* Whether a sync that has ended has to report the failure of another one. */
static int reports(int fd, const char *path) {
  if (!is_log(fd, path) || reported[fd] == *failures) return 0;
  reported[fd] = *failures;
  return 1;
}

static int synced(int fd, int (*next)(int)) {
  static _Atomic uint64_t count;
  char path[PATH_MAX];
  if (!path_of(fd, path)) return next(fd);
  uint64_t number = ((uint64_t)getpid() << 32) + ++count;
  record(SYNC_BEGUN, path, number, 0, 0);
  int is_failure = fails(fd, path);
  int result = is_failure ? -1 : next(fd), error = is_failure ? EIO : errno;
  int is_report = result == 0 && reports(fd, path);
  record(is_report ? SYNC_REPORTED : result == 0 ? SYNC_ENDED : SYNC_FAILED, path, number, 0, 0);
  errno = is_report ? EIO : error;
  return is_report ? -1 : result;
}

int fsync(int fd) {
  NEXT(int, "fsync", int);
  return synced(fd, next);
}

int fdatasync(int fd) {
  NEXT(int, "fdatasync", int);
  return synced(fd, next);
}
