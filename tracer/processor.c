/* Time in which a thread computed, or asked for messages again and again, and yet did not have the
 * processor: something else had it. It is no part of what the thread would take elsewhere. The
 * system knows a thread's processor time, and to ask is a call; so that is done only behind what
 * took long, where it is less than a hundredth. */
#include <sys/resource.h>
#include <time.h>

#include "recorder.h"

/* What is smaller is not worth a record. */
enum { LEAST_NS = 10000, LEAST_PART = 20 };

/* The system may give the processor to something else at the end of every call of it, so also while
 * it is asked: then the gap continues, and it is asked again. */
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

/* Of the time since `from` and the last answer but one; what lies between these two is short. A
 * thread that slept did not want the processor, and the time is unknown. */
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

/* Of a thread without a stream nothing is known, nor is a record to be made inside another. */
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

/* The call is over at `end`: what passes while the system is asked is part of the gap behind it. */
void sesame_end_long_call(uint64_t begin, uint64_t end) {
  SesameStream* stream = &sesame_stream;
  if (!has_stream(stream)) return;
  const SesameProcessorTime before = stream->processor;
  sesame_ask_processor(stream, end);
  put_lost(stream, before, begin);
}
