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
} Begun;

/* Whether this thread is in a call whose inner calls are hidden. */
static int is_hidden(void) {
  if (sesame_counter.inside) return 1;
  int kind = sesame_settings.kinds & SESAME_IO ? SESAME_IO : SESAME_MPI;
  return sesame_stream.buffer != NULL && !(sesame_stream.watched & (kind | SESAME_WRITING));
}

/* A stream that is being written to and has no buffer stays so. */
static void* run_unseen(void* begun_) {
  Begun begun = *(Begun*)begun_;
  free(begun_);
  sesame_stream.watched = SESAME_WRITING;
  sesame_counter.inside = true;
  return begun.start(begun.argument);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*start)(void*), void* argument) {
  static __typeof__(&pthread_create) real;
  if (real == NULL) real = (__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
  Begun* begun = is_hidden() ? malloc(sizeof *begun) : NULL;
  if (begun == NULL) return real(thread, attributes, start, argument);
  *begun = (Begun){start, argument};
  int error = real(thread, attributes, run_unseen, begun);
  if (error != 0) free(begun);
  return error;
}
