/* Preloaded into the ranks of real MPI runs in tests. MPI polls while it waits, and tests run more
 * ranks than there are processors: a rank that polls keeps the rank that it waits for from running
 * until its time slice ends. Here a rank that has polled for some time without an event yields its
 * processor, and then sleeps between polls. Debian's MPICH polls UCX; the wheel of MPICH, and Open
 * MPI with mpi_yield_when_idle, call sched_yield after each poll. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define POLLS_BEFORE_YIELD 10
#define POLLS_BEFORE_SLEEP 300
#define SLEEP_NS 50000
/* Polls that are further apart belong to different waits. */
#define LONGEST_POLL_NS 20000

unsigned ucp_worker_progress(void* worker);

struct wait {
  unsigned polls;
  long long last_ns; /* the end of the last one */
};

/* The function that the caller would have called. Those that are loaded for one library only, as
 * MPI is by Python, are not among the next ones: they are found from the caller's library. */
static void* called_from(const void* address) {
  void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
  Dl_info caller;
  if (found || !dladdr(address, &caller)) return found;
  void* library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, "ucp_worker_progress") : 0;
}

static int real_yield(void) {
  static int (*yield)(void);
  if (!yield) yield = (int (*)(void))dlsym(RTLD_NEXT, "sched_yield");
  return yield();
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* After a poll without an event. */
static void pause_in(struct wait* wait) {
  const struct timespec pause = {0, SLEEP_NS};
  wait->polls = now_ns() - wait->last_ns > LONGEST_POLL_NS ? 0 : wait->polls + 1;
  if (wait->polls >= POLLS_BEFORE_SLEEP)
    nanosleep(&pause, 0);
  else if (wait->polls >= POLLS_BEFORE_YIELD)
    real_yield();
  wait->last_ns = now_ns();
}

unsigned ucp_worker_progress(void* worker) {
  static __thread struct wait wait;
  static unsigned (*progress)(void*);
  if (!progress) progress = (unsigned (*)(void*))called_from(__builtin_return_address(0));
  const unsigned events = progress(worker);
  if (events)
    wait.polls = 0;
  else
    pause_in(&wait);
  return events;
}

static int is_mpi(const void* address) {
  static __thread const void* known;
  static __thread int known_is_mpi;
  Dl_info caller;
  if (address != known) {
    known_is_mpi = dladdr(address, &caller) && (strstr(caller.dli_fname, "/libmpi") ||
                                                strstr(caller.dli_fname, "/libopen-pal"));
    known = address;
  }
  return known_is_mpi;
}

int sched_yield(void) {
  static __thread struct wait wait;
  if (!is_mpi(__builtin_return_address(0))) return real_yield();
  if (wait.polls < POLLS_BEFORE_YIELD) real_yield();
  pause_in(&wait);
  return 0;
}
