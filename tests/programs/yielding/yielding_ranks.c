/* Preloaded into the ranks of real MPI runs in tests. Debian's MPICH polls while it waits, and tests
 * run more ranks than there are processors: a rank that polls keeps the rank that it waits for from
 * running until its time slice ends. Here a rank yields its processor after some polls without an
 * event. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

#define POLLS_BEFORE_YIELD 10

unsigned ucp_worker_progress(void* worker);

/* The function that the caller would have called. Those that are loaded for one library only, as
 * MPI is by Python, are not among the next ones: they are found from the caller's library. */
static void* called_from(const void* address) {
  void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
  Dl_info caller;
  if (found || !dladdr(address, &caller)) return found;
  void* library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, "ucp_worker_progress") : 0;
}

unsigned ucp_worker_progress(void* worker) {
  static __thread unsigned polls;
  static unsigned (*progress)(void*);
  if (!progress) progress = (unsigned (*)(void*))called_from(__builtin_return_address(0));
  const unsigned events = progress(worker);
  polls = events ? 0 : polls + 1;
  if (polls >= POLLS_BEFORE_YIELD) sched_yield();
  return events;
}
