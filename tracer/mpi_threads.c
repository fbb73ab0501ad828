/* Threads that an MPI library starts inside its calls, to make progress or watch its connections,
 * are not the program's: nothing of what they do is recorded or counted. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "counter_files.h"
#include "process.h"
#include "recorder.h"

typedef struct {
  void* (*start)(void*);
  void* argument;
} ThreadStart;

/* Whether this thread is in a call whose inner calls are hidden. */
static int is_hidden(void) {
  if (sesame_counter.inside) return 1;
  int kind = sesame_settings.kinds & SESAME_IO ? SESAME_IO : SESAME_MPI;
  return sesame_stream.buffer != NULL && !(sesame_stream.watched & (kind | SESAME_WRITING));
}

/* The thread never gets a buffer, so `watched` stays SESAME_WRITING and nothing is recorded. */
static void* run_unseen(void* argument_) {
  ThreadStart start_ = *(ThreadStart*)argument_;
  free(argument_);
  sesame_stream.watched = SESAME_WRITING;
  sesame_counter.inside = true;
  return start_.start(start_.argument);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*start)(void*), void* argument) {
  static __typeof__(&pthread_create) real;
  if (real == NULL) real = (__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
  ThreadStart* start_ = is_hidden() ? malloc(sizeof *start_) : NULL;
  if (start_ == NULL) return real(thread, attributes, start, argument);
  *start_ = (ThreadStart){start, argument};
  int error = real(thread, attributes, run_unseen, start_);
  if (error != 0) free(start_);
  return error;
}
