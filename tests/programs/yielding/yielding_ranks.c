/* Preloaded into the ranks of real MPI runs in tests. Debian's MPICH polls while it waits, and tests
 * run more ranks than there are processors: a rank that polls keeps the rank that it waits for from
 * running until its time slice ends. Here a rank yields its processor after some polls without an
 * event. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

#define POLLS_BEFORE_YIELD 10

unsigned ucp_worker_progress(void* worker);

unsigned ucp_worker_progress(void* worker) {
  static __thread unsigned polls;
  static unsigned (*progress)(void*);
  if (!progress) progress = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned events = progress(worker);
  polls = events ? 0 : polls + 1;
  if (polls >= POLLS_BEFORE_YIELD) sched_yield();
  return events;
}
