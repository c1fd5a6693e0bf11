/* A slow disk, for programs that load this library first (LD_PRELOAD): a sync takes SLOW_SYNC_MS longer, and
   waits as long as the file SLOW_SYNC_GATE exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void rest(long ms) {
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, 0);
}

static void wait_for_disk(void) {
  const char *ms = getenv("SLOW_SYNC_MS"), *gate = getenv("SLOW_SYNC_GATE");
  if (ms) rest(atol(ms));
  while (gate && access(gate, F_OK) == 0) rest(5);
}

int fsync(int fd) {
  static int (*next)(int);
  if (!next) next = dlsym(RTLD_NEXT, "fsync");
  wait_for_disk();
  return next(fd);
}

int fdatasync(int fd) {
  static int (*next)(int);
  if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
  wait_for_disk();
  return next(fd);
}
