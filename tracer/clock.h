/* The tracer's clock. Hooks take ticks of the processor's counter, which cost half of what the
 * system's clock does. Records have nanoseconds of CLOCK_MONOTONIC. Each thread converts ticks with
 * a line of its own through two points of both clocks, so no lock is needed. It computes the line
 * anew every second, so errors of the rate do not accumulate. If the counter is not reliable, a
 * tick is a nanosecond. */
#ifndef SESAME_TRACER_CLOCK_H
#define SESAME_TRACER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct {
  uint64_t base_ticks;
  uint64_t base_ns;
  uint64_t ns_per_tick; /* in units of 2^-32 */
} SesameClock;

extern bool sesame_counter_is_clock;

static inline uint64_t sesame_system_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* <x86intrin.h> has a name for the built-in function, but takes long to compile. */
static inline uint64_t sesame_ticks(void) {
#if defined(__x86_64__)
  if (__builtin_expect(sesame_counter_is_clock, 1)) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  if (__builtin_expect(sesame_counter_is_clock, 1)) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  return sesame_system_ns();
}

static inline uint64_t sesame_ticks_to_ns(const SesameClock* clock, uint64_t ticks) {
  return (uint64_t)(((unsigned __int128)ticks * clock->ns_per_tick) >> 32);
}

/* The ticks may lie before the line's first point: a record ended before the line was renewed. */
static inline uint64_t sesame_ns_at(const SesameClock* clock, uint64_t ticks) {
  __int128 since = (int64_t)(ticks - clock->base_ticks);
  return clock->base_ns + (uint64_t)((since * (int64_t)clock->ns_per_tick) >> 32);
}

/* Call it once in a process, while it has one thread. Takes about a millisecond. */
void sesame_clock_start(void);

/* Computes the line anew; the clock never goes back. Returns the ticks of about a second. */
uint64_t sesame_clock_renew(SesameClock* clock);

#endif
