/* Time in which a thread computed, or asked for messages again and again, and yet did not have the
 * processor: something else had it. It is no part of what the thread would take elsewhere. The
 * system knows a thread's processor time, and to ask is a call; so that is done only behind what
 * took long, where it is less than a hundredth. */
#include <sys/resource.h>
#include <time.h>

#include "recorder.h"

/* What is smaller is not worth a record. */
enum { LEAST_NS = 10000, LEAST_PART = 20 };

void sesame_ask_processor(SesameStream* stream) {
  struct timespec had;
  struct rusage usage;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
  getrusage(RUSAGE_THREAD, &usage);
  stream->processor =
      (SesameProcessorTime){.ticks = sesame_ticks(),
                            .had_ns = (uint64_t)had.tv_sec * 1000000000 + (uint64_t)had.tv_nsec,
                            .sleeps = (uint64_t)usage.ru_nvcsw};
}

/* Of the time from `from` to `to`; what lies between the last answer and `from` is short. A thread
 * that slept did not want the processor, and nobody can tell for how long. */
static void end_stretch(SesameStream* stream, uint64_t from, uint64_t to) {
  const SesameProcessorTime before = stream->processor;
  sesame_ask_processor(stream);
  if (stream->processor.sleeps != before.sleeps) return;
  uint64_t passed = sesame_ticks_to_ns(&stream->clock, to - before.ticks);
  uint64_t had = stream->processor.had_ns - before.had_ns;
  if (from < before.ticks) from = before.ticks;
  if (to <= from || had >= passed) return;
  uint64_t duration = sesame_ticks_to_ns(&stream->clock, to - from);
  uint64_t lost = passed - had < duration ? passed - had : duration;
  if (lost <= LEAST_NS || lost <= duration / LEAST_PART) return;
  sesame_put_preempted(to, &(struct sesame_preempted){.duration = duration, .lost = lost});
}

/* Of a thread without a stream nothing is known, nor is a record to be made inside another. */
static int has_stream(const SesameStream* stream) {
  return stream->buffer != NULL && !(stream->watched & SESAME_WRITING);
}

uint64_t sesame_end_gap(uint64_t now) {
  SesameStream* stream = &sesame_stream;
  if (!has_stream(stream)) return now;
  end_stretch(stream, stream->left, now);
  return stream->left = sesame_ticks();
}

void sesame_end_long_call(uint64_t begin, uint64_t end) {
  SesameStream* stream = &sesame_stream;
  if (!has_stream(stream)) return;
  end_stretch(stream, begin, end);
  stream->left = sesame_ticks();
}
