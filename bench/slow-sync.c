/* A disk whose syncs take 100 ms longer, for programs that load this library first (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_for_disk(void) {
  struct timespec pause = {0, 100 * 1000 * 1000};
  nanosleep(&pause, 0);
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
