/* Finds time in which a thread computed or polled for messages, but other threads had its
 * processor. The computation would not need this time on another machine. The system knows a
 * thread's processor time, but asking for it is a system call. So it is asked only after long calls
 * and long computations, where this costs less than a hundredth. */
#include <sys/resource.h>
#include <time.h>

#include "recorder.h"

/* Less lost time, in ns or as a part of the duration (1 / LEAST_PART), is not recorded. */
enum { LEAST_NS = 10000, LEAST_PART = 20 };

/* A thread may be preempted at the end of any system call, so also while it asks. Then the gap
 * continues, and it asks again. */
enum { MOST_QUESTIONS = 4 };

void sesame_ask_processor(SesameStream* stream, uint64_t now) {
  struct timespec had;
  struct rusage usage;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
  getrusage(RUSAGE_THREAD, &usage);
  stream->processor =
      (SesameProcessorTime){.ticks = now,
                            .had_ns = (uint64_t)had.tv_sec * 1000000000 + (uint64_t)had.tv_nsec,
                            .sleeps = (uint64_t)usage.ru_nvcsw};
}

/* Records the time lost since `from`, or since `before` if that is later. If the thread slept
 * meanwhile, the lost time is unknown. */
static void put_lost(SesameStream* stream, SesameProcessorTime before, uint64_t from) {
  const SesameProcessorTime now = stream->processor;
  if (from < before.ticks) from = before.ticks;
  if (now.sleeps != before.sleeps || now.ticks <= from) return;
  uint64_t duration = sesame_ticks_to_ns(&stream->clock, now.ticks - from);
  uint64_t passed = sesame_ticks_to_ns(&stream->clock, now.ticks - before.ticks);
  uint64_t had = now.had_ns - before.had_ns;
  uint64_t lost = had < passed ? passed - had : 0;
  if (lost > duration) lost = duration;
  if (lost <= LEAST_NS || lost <= duration / LEAST_PART) return;
  sesame_put_preempted(now.ticks, &(struct sesame_preempted){.duration = duration, .lost = lost});
}

/* False also while a record is being made: no other can be made inside it. */
static int has_stream(const SesameStream* stream) {
  return stream->buffer != NULL && !(stream->watched & SESAME_WRITING);
}

uint64_t sesame_end_gap(uint64_t now) {
  SesameStream* stream = &sesame_stream;
  if (!has_stream(stream)) return now;
  const SesameProcessorTime before = stream->processor;
  uint64_t asked = now;
  for (int i = 0; i < MOST_QUESTIONS && (i == 0 || now - asked > stream->long_ticks); ++i) {
    asked = now;
    sesame_ask_processor(stream, asked);
    now = sesame_ticks();
  }
  put_lost(stream, before, stream->left);
  return stream->left = sesame_ticks();
}

/* The call ended at `end`: the time for asking is part of the gap after it. */
void sesame_end_long_call(uint64_t begin, uint64_t end) {
  SesameStream* stream = &sesame_stream;
  if (!has_stream(stream)) return;
  const SesameProcessorTime before = stream->processor;
  sesame_ask_processor(stream, end);
  put_lost(stream, before, begin);
}
