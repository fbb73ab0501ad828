#include "counters.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entries.h"
#include "system_call.h"

/* What glibc's dynamic linker reads of each library before it maps it (elf/dl-load.c, struct
 * filebuf, on machines of 64 bits). */
enum { LIBRARY_HEAD_BYTES = 832 };

atomic_uint_fast64_t sesame_unrecorded_read, sesame_unrecorded_written;

static SesameMoved first;
static unsigned long long first_libraries;
static atomic_uint_fast64_t ended_read, ended_written; /* by threads that have ended */
static __thread SesameMoved counted_of_thread;         /* of these by this one */

static uint64_t number_after(const char* text, const char* name) {
  const char* at = strstr(text, name);
  return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

/* Adds the counters of one thread. Returns the bytes read for this, which the kernel counts after
 * it has made the text. The counters of the whole process would include children that have ended.
 */
static long read_thread(const char* path, SesameMoved* moved) {
  char text[512];
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long length = file < 0 ? 0 : sesame_system_call(SYS_read, file, text, sizeof text - 1);
  if (file >= 0) sesame_system_call(SYS_close, file);
  if (length <= 0) return 0;
  text[length] = '\0';
  moved->read += number_after(text, "rchar:");
  moved->written += number_after(text, "wchar:");
  return length;
}

/* Reading counters is itself unrecorded, so call this just before reading this thread's counters.
 */
static void take_unrecorded(SesameMoved* moved) {
  moved->read -= sesame_unrecorded_read;
  moved->written -= sesame_unrecorded_written;
}

typedef struct {
  SesameMoved moved;
  bool is_known;
} Threads;

static void read_listed(const char* name, void* of_threads) {
  Threads* threads = of_threads;
  char path[64];
  const bool is_self = strtol(name, NULL, 10) == sesame_system_call(SYS_gettid);
  snprintf(path, sizeof path, "/proc/self/task/%s/io", name);
  if (is_self) take_unrecorded(&threads->moved);
  const long length = read_thread(path, &threads->moved);
  sesame_unrecorded(false, length);
  if (is_self && length > 0) threads->is_known = true;
}

static int ask_loaded(struct dl_phdr_info* info, size_t size, void* count) {
  (void)size;
  *(unsigned long long*)count = info->dlpi_adds;
  return 1;
}

static unsigned long long libraries_loaded(void) {
  unsigned long long count = 0;
  dl_iterate_phdr(ask_loaded, &count);
  return count;
}

void sesame_counters_begin(bool is_forked) {
  first = counted_of_thread = (SesameMoved){0};
  first_libraries = libraries_loaded();
  atomic_store(&ended_read, 0);
  atomic_store(&ended_written, 0);
  atomic_store(&sesame_unrecorded_read, 0);
  atomic_store(&sesame_unrecorded_written, 0);
  if (!is_forked) sesame_unrecorded(false, read_thread("/proc/thread-self/io", &first));
}

void sesame_counters_end_thread(void) {
  SesameMoved now = {0};
  int saved = errno;
  if (read_thread("/proc/thread-self/io", &now)) {
    atomic_fetch_add(&ended_read, now.read - counted_of_thread.read);
    atomic_fetch_add(&ended_written, now.written - counted_of_thread.written);
    counted_of_thread = now;
  }
  errno = saved;
}

/* `now` may be less: other threads add unrecorded bytes between two readings. */
static uint64_t difference(uint64_t now, uint64_t before) {
  return (int64_t)(now - before) > 0 ? now - before : 0;
}

bool sesame_counters_read(SesameMoved* moved) {
  int saved = errno;
  Threads threads = {.moved = {ended_read, ended_written}};
  sesame_each_entry("/proc/self/task", read_listed, &threads);
  errno = saved;
  if (!threads.is_known) return false;
  uint64_t heads = (libraries_loaded() - first_libraries) * LIBRARY_HEAD_BYTES;
  moved->read = difference(threads.moved.read, first.read + heads);
  moved->written = difference(threads.moved.written, first.written);
  return true;
}

SesameMoved sesame_counters_hide(void) {
  SesameMoved before = {0};
  int saved = errno;
  take_unrecorded(&before);
  sesame_unrecorded(false, read_thread("/proc/thread-self/io", &before));
  errno = saved;
  return before;
}

void sesame_counters_unhide(SesameMoved before) {
  SesameMoved now = {0};
  int saved = errno;
  take_unrecorded(&now);
  const long length = read_thread("/proc/thread-self/io", &now);
  sesame_unrecorded(false, length);
  if (length > 0) {
    sesame_unrecorded(false, (ssize_t)difference(now.read, before.read));
    sesame_unrecorded(true, (ssize_t)difference(now.written, before.written));
  }
  errno = saved;
}
