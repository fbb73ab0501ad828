#include "counter_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"
#include "system_call.h"

enum { CPU_EVERY = 256, NAME_BYTES = 40 };

/* The counter files of all threads of this process. A thread reuses the file of one that has ended.
 */
struct Slot {
  struct Slot* next;
  SesameCounterFile* cells;
  bool in_use;
};

__thread SesameThreadCounter sesame_counter __attribute__((tls_model("initial-exec")));
const SesameCounterSettings* sesame_counter_settings;

static const char* directory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the slots */
static struct Slot* slots;
static bool failed; /* the reason was reported */
static pthread_key_t thread_end;

static void fail(const char* which, int error) {
  if (!failed) sesame_say("MPI calls are not counted", which, error);
  failed = true;
}

static void path_of(char* path, const char* name) {
  snprintf(path, PATH_MAX + NAME_BYTES, "%s/%s", directory, name);
}

/* --- Beginning ---------------------------------------------------------------------------- */

static const SesameCounterSettings* map_settings(int file) {
  struct stat status;
  if (sesame_system_call(SYS_fstat, file, &status) != 0) return NULL;
  if (!S_ISREG(status.st_mode) || status.st_size != sizeof(SesameCounterSettings)) {
    errno = EPROTO;
    return NULL;
  }
  void* memory = mmap(NULL, sizeof(SesameCounterSettings), PROT_READ, MAP_SHARED, file, 0);
  const SesameCounterSettings* settings = memory == MAP_FAILED ? NULL : memory;
  if (settings == NULL) return NULL;
  if (memcmp(settings->magic, SESAME_COUNTER_FILE_MAGIC, sizeof settings->magic) == 0 &&
      settings->format == SESAME_COUNTER_FILE_FORMAT && settings->calls == SESAME_COUNTED) {
    return settings;
  }
  munmap(memory, sizeof *settings);
  errno = EPROTO; /* of another version */
  return NULL;
}

static void end_thread(void* slot) {
  sesame_counter.inside = true; /* later calls of the thread are not counted */
  sesame_counter.cells = NULL;
  pthread_mutex_lock(&lock);
  ((struct Slot*)slot)->in_use = false;
  pthread_mutex_unlock(&lock);
}

/* A forked child starts without counter files: those mapped are its parent's. */
static void forget_slots(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  while (slots != NULL) {
    struct Slot* slot = slots;
    slots = slot->next;
    munmap(slot->cells, sizeof *slot->cells);
    munmap(slot, sizeof *slot);
  }
  pthread_setspecific(thread_end, NULL);
  sesame_counter = (SesameThreadCounter){0};
}

bool sesame_counter_files_start(const char* wanted) {
  char path[PATH_MAX + NAME_BYTES];
  int saved = errno;
  directory = wanted;
  path_of(path, "settings");
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file >= 0) sesame_counter_settings = map_settings(file);
  if (sesame_counter_settings == NULL) fail(path, errno);
  if (file >= 0) sesame_system_call(SYS_close, file);
  if (sesame_counter_settings != NULL) {
    if (sesame_settings.kinds == 0) sesame_clock_start(); /* else it is running */
    pthread_key_create(&thread_end, end_thread);
    pthread_atfork(NULL, NULL, forget_slots);
  }
  errno = saved;
  return sesame_counter_settings != NULL;
}

/* --- Threads ------------------------------------------------------------------------------ */

/* PIDs are recycled; a process is identified by PID and start time. */
static uint64_t start_time(void) {
  char text[1024];
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
  long length = file < 0 ? 0 : sesame_system_call(SYS_read, file, text, sizeof text - 1);
  if (file >= 0) sesame_system_call(SYS_close, file);
  text[length < 0 ? 0 : length] = '\0';
  const char* at = strrchr(text, ')'); /* the end of field 2 */
  for (int field = 2; at != NULL && field < 22; ++field) at = strchr(at + 1, ' ');
  return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Readable by all users, whatever the umask: the daemon may run as another user. */
static int new_file(void) {
  char name[NAME_BYTES], path[PATH_MAX + NAME_BYTES];
  for (int i = 0;; ++i) {
    snprintf(name, sizeof name, "%d.%d", getpid(), i);
    path_of(path, name);
    int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, path,
                                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return fail(path, errno), -1;
    if (sesame_file_may_have(sizeof(SesameCounterFile)) &&
        sesame_reserve(file, sizeof(SesameCounterFile)) &&
        sesame_system_call(SYS_fchmod, file, 0644) == 0) {
      return file;
    }
    fail(path, errno);
    sesame_system_call(SYS_unlinkat, AT_FDCWD, path, 0);
    sesame_system_call(SYS_close, file);
    return -1;
  }
}

static SesameCounterFile* new_cells(void) {
  struct stat namespace;
  int file = new_file();
  if (file < 0) return NULL;
  void* memory = mmap(NULL, sizeof(SesameCounterFile), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  sesame_system_call(SYS_close, file);
  if (memory == MAP_FAILED) return fail("mmap", errno), NULL;
  if (stat("/proc/self/ns/pid", &namespace) != 0) namespace.st_ino = 0;
  SesameCounterFile* cells = memory;
  cells->format = SESAME_COUNTER_FILE_FORMAT;
  cells->pid = (uint32_t)getpid();
  cells->start_time = start_time();
  cells->pid_namespace = namespace.st_ino;
  cells->calls = SESAME_COUNTED;
  atomic_thread_fence(memory_order_release);
  memcpy(cells->magic, SESAME_COUNTER_FILE_MAGIC, sizeof cells->magic);
  return cells;
}

/* Mapped, not allocated: the program's allocator may hold a lock. */
static struct Slot* new_slot(void) {
  void* memory =
      mmap(NULL, sizeof(struct Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail("mmap", errno), NULL;
  SesameCounterFile* cells = new_cells();
  if (cells == NULL) return munmap(memory, sizeof(struct Slot)), NULL;
  struct Slot* slot = memory;
  *slot = (struct Slot){.next = slots, .cells = cells};
  slots = slot;
  return slot;
}

static bool begin_thread(void) {
  if (failed) return false;
  int saved = errno;
  pthread_mutex_lock(&lock);
  struct Slot* slot = slots;
  while (slot != NULL && slot->in_use) slot = slot->next;
  if (slot == NULL) slot = new_slot();
  if (slot != NULL) slot->in_use = true;
  pthread_mutex_unlock(&lock);
  if (slot != NULL) {
    sesame_counter.cells = slot->cells;
    sesame_counter.until_ns = UINT64_MAX;
    sesame_clock_renew(&sesame_counter.clock);
    pthread_setspecific(thread_end, slot);
  }
  errno = saved;
  return slot != NULL;
}

/* --- Counting ----------------------------------------------------------------------------- */

/* Notifies the daemon that this thread reached its quota. The daemon may not be running. */
static void notify_quota_reached(void) {
  char path[PATH_MAX + NAME_BYTES];
  int saved = errno;
  path_of(path, "quota-reached");
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, path,
                                     O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (file >= 0) {
    sesame_system_call(SYS_write, file, "", 1);
    sesame_system_call(SYS_close, file);
  }
  errno = saved;
}

static __attribute__((noinline)) void update_quota(SesameThreadCounter* counter) {
  const SesameCounterSettings* settings = sesame_counter_settings;
  const uint32_t renewals = __atomic_load_n(&settings->renewals, __ATOMIC_ACQUIRE);
  if (renewals == counter->renewals) {
    counter->until_ns = UINT64_MAX; /* notify once */
    notify_quota_reached();
  } else {
    counter->renewals = renewals;
    counter->until_ns =
        settings->quota_ns != 0 ? counter->cells->charged_ns + settings->quota_ns : UINT64_MAX;
  }
}

static void add_duration(SesameCell* cell, uint64_t ns) {
  const uint32_t epoch = __atomic_load_n(&sesame_counter_settings->epoch, __ATOMIC_RELAXED);
  const unsigned now = epoch % 2;
  cell->timed++;
  cell->total_ns += ns;
  if (cell->epochs[now] != epoch) {
    cell->most_ns[now] = 0;
    cell->epochs[now] = epoch;
  }
  if (ns > cell->most_ns[now]) cell->most_ns[now] = ns;
}

void sesame_count_end(SesameCount begin, int point, int call, uint64_t end, uint64_t bytes) {
  const SesameCounterSettings* settings = sesame_counter_settings;
  SesameThreadCounter* counter = &sesame_counter;
  if (sesame_detail(point) == SESAME_OFF) return;
  if (__builtin_expect(counter->cells == NULL, 0) && !begin_thread()) return;
  SesameCounterFile* cells = counter->cells;
  unsigned group = 0;
  while (group < SESAME_GROUPS - 1 && bytes >= settings->limits[group]) ++group;
  SesameCell* cell = &cells->cells[call][group];
  cell->count++;
  cell->bytes += bytes;
  if (begin.ticks != 0) {
    add_duration(cell, sesame_ticks_to_ns(&counter->clock, end - begin.ticks));
  }
  cells->events[point]++;
  cells->charged_ns += settings->cost_ns[point];
  if (__builtin_expect(counter->turn++ % CPU_EVERY == 0, 0)) {
    const int cpu = sched_getcpu();
    cells->cpu = cpu < 0 ? 0 : (uint32_t)cpu;
  }
  if (__builtin_expect(
          counter->renewals != settings->renewals || cells->charged_ns >= counter->until_ns, 0)) {
    update_quota(counter);
  }
}
