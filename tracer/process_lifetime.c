#include "process_lifetime.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "counters.h"
#include "mappings.h"
#include "process.h"
#include "recorder.h"
#include "rings.h"
#include "streams.h"

static uint64_t processor_ns(void) {
  struct timespec used = {0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void put_counted(void) {
  const SesameProcessState* state = sesame_process_state();
  SesameMoved moved;
  if (!(sesame_settings.kinds & SESAME_IO) || !sesame_counters_read(&moved)) return;
  struct sesame_counted record = {
      .read = moved.read, .written = moved.written, .operations = sesame_rings_unrecorded()};
  for (uint32_t i = 0; i < SESAME_STATE_THREADS; ++i) {
    record.stream_read += state->thread[i].stream_read;
    record.stream_written += state->thread[i].stream_written;
  }
  sesame_put_counted(sesame_ticks(), &record);
}

/* Whether a process without records did I/O past the tracer: only the kernel's counters show it. */
static bool has_unrecorded_io(void) {
  SesameMoved moved;
  return sesame_process_state() == NULL && (sesame_settings.kinds & SESAME_IO) &&
         sesame_counters_read(&moved) && moved.read + moved.written + sesame_rings_unrecorded() > 0;
}

void sesame_process_end(int how) {
  /* This is a signal handler that has interrupted the recorder, which may hold a lock. */
  if (sesame_stream.watched & SESAME_WRITING) return;
  /* A child without records may have touched pages that its parent has mapped. */
  if (sesame_mappings_overlap(NULL, SIZE_MAX) || has_unrecorded_io()) {
    (void)sesame_watches(SESAME_IO);
  }
  SesameProcessState* state = sesame_process_state();
  if (state == NULL || state->ended != 0) return;
  if (sesame_stream.buffer != NULL) {
    sesame_mappings_record_pages(NULL, SIZE_MAX, how != 1);
    put_counted();
    sesame_put_ended(sesame_ticks(),
                     &(struct sesame_ended){.how = (uint8_t)how, .processor = processor_ns()});
  }
  sesame_streams_stop();
  state->ended = (uint32_t)how;
}

void sesame_process_resume(void) {
  SesameProcessState* state = sesame_process_state();
  if (state == NULL) return;
  state->ended = 0;
  sesame_streams_resume();
}

void sesame_process_forked(void) {
  sesame_process_forget();
  const uint64_t since_ns = sesame_system_ns();
  sesame_streams_forget();
  sesame_rings_forget();
  if (sesame_settings.kinds & SESAME_IO) sesame_counters_begin(true);
  sesame_process_ready(since_ns);
}

__attribute__((constructor)) static void begin(void) {
  if (!sesame_process_prepare()) return;
  const uint64_t since_ns = sesame_system_ns();
  sesame_clock_start();
  pthread_atfork(NULL, NULL, sesame_process_forked);
  if (sesame_settings.kinds & SESAME_IO) sesame_counters_begin(false);
  sesame_process_ready(since_ns);
}

__attribute__((destructor)) static void end(void) { sesame_process_end(1); }
