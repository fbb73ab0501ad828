#include "hooks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"
#include "system_call.h"

/* --- The real functions ------------------------------------------------------------------- */

extern SesameReal __start_sesame_real[] __attribute__((visibility("hidden")));
extern SesameReal __stop_sesame_real[] __attribute__((visibility("hidden")));

/* Called instead of a function that this C library lacks; all such functions return a number. */
static long absent(void) {
  errno = ENOSYS;
  return -1;
}

/* RTLD_NEXT does not find liburing if only a plug-in, loaded without RTLD_GLOBAL, needs it. */
static void* look_up_out_of_sight(const char* name) {
  if (strstr(name, "io_uring_") == NULL) return NULL;
  void* library = dlopen("liburing.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library != NULL ? dlsym(library, name) : NULL;
}

/* dlsym does not find functions that only old programs may call: they have no default version. */
static void* look_up(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  return function != NULL ? function : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

void* sesame_look_up(SesameReal* real) {
  int saved = errno;
  real->function = look_up(real->name);
  if (real->function == NULL) real->function = look_up_out_of_sight(real->name);
  errno = saved;
  return real->function != NULL ? real->function : (void*)absent;
}

/* A function whose library is loaded later is looked up when it is first called. */
__attribute__((constructor(101))) static void look_up_all(void) {
  for (SesameReal* real = __start_sesame_real; real < __stop_sesame_real; ++real) {
    real->function = look_up(real->name);
  }
  dlerror(); /* clears our errors, so that the program does not see them */
}

/* --- Descriptors -------------------------------------------------------------------------- */

atomic_uint_fast64_t sesame_known[SESAME_DESCRIPTORS / 64];
static atomic_int highest_known = -1;
__thread int sesame_in_vfork __attribute__((tls_model("initial-exec")));

void sesame_know(int file) {
  if ((unsigned)file >= SESAME_DESCRIPTORS) return;
  int highest = atomic_load_explicit(&highest_known, memory_order_relaxed);
  while (file > highest && !atomic_compare_exchange_weak(&highest_known, &highest, file)) {
  }
  atomic_fetch_or_explicit(&sesame_known[file / 64], 1ull << (file % 64), memory_order_relaxed);
}

void sesame_forget(int file) {
  if (!sesame_is_known(file) || sesame_in_vfork) return;
  atomic_fetch_and_explicit(&sesame_known[file / 64], ~(1ull << (file % 64)), memory_order_relaxed);
}

int sesame_highest_known(void) { return highest_known; }

/* A forked child has streams of its own, without records of descriptors. */
void sesame_forget_all(void) {
  for (int i = 0; i <= highest_known / 64; ++i) sesame_known[i] = 0;
  highest_known = -1;
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(NULL, NULL, sesame_forget_all);
}

void sesame_record_unknown_descriptor(int file) {
  struct stat status;
  char link[32], path[PATH_MAX];
  int saved = errno;
  if (sesame_system_call(SYS_fstat, file, &status) == 0) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = sesame_system_call(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    long flags = sesame_system_call(SYS_fcntl, file, F_GETFL);
    struct sesame_descriptor record = {.file = file,
                                       .flags = flags < 0 ? 0 : (uint32_t)flags,
                                       .mode = status.st_mode,
                                       .block_size = (uint32_t)status.st_blksize,
                                       .size = status.st_size,
                                       .offset = sesame_system_call(SYS_lseek, file, 0, SEEK_CUR),
                                       .path = path};
    sesame_put_descriptor(sesame_ticks(), &record);
    sesame_know(file);
  }
  errno = saved;
}

/* --- Records ------------------------------------------------------------------------------ */

void sesame_record_partial(uint64_t begin, int call, int file, size_t size, size_t moved,
                           int64_t offset, uint16_t error) {
  SESAME_RECORD(partial, begin, .call = (uint16_t)call, .file = file, .size = size, .bytes = moved,
                .offset = offset, .error = error);
}

void sesame_record_open(uint64_t begin, int call, int file, int directory, const char* path,
                        int flags) {
  uint64_t end = sesame_leave(begin);
  int saved = errno;
  uint16_t error = sesame_error(file < 0);
  struct stat status = {0};
  if (file >= 0) {
    if (sesame_system_call(SYS_fstat, file, &status) != 0) status = (struct stat){0};
    sesame_know(file);
  }
  struct sesame_open record = {.call = (uint16_t)call,
                               .duration = sesame_ticks_to_ns(&sesame_stream.clock, end - begin),
                               .file = file,
                               .directory = directory,
                               .flags = (uint32_t)flags,
                               .mode = status.st_mode,
                               .block_size = (uint32_t)status.st_blksize,
                               .size = status.st_size,
                               .error = error,
                               .path = sesame_path(path, error)};
  sesame_put_open(end, &record);
  errno = saved;
}

void sesame_record_path(uint64_t begin, int call, int failed, int directory, const char* path,
                        int64_t size) {
  uint16_t error = sesame_error(failed);
  SESAME_RECORD(path, begin, .call = (uint16_t)call, .directory = directory, .size = size,
                .error = error, .path = sesame_path(path, error));
}
