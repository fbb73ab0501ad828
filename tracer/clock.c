#include "clock.h"
#include "system_call.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool sesame_counter_is_clock = false;

static SesameClock first_line;

/* The kernel monitors the counter. It uses it as its own clock only while the counter is steady
 * and the same on all processors. */
static bool kernel_trusts_counter(void) {
#if defined(__aarch64__)
  return true; /* the architecture says so */
#else
  char name[8] = "";
  int file = (int)sesame_system_call(
      SYS_openat, AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
      O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  long length = sesame_system_call(SYS_read, file, name, sizeof name - 1);
  sesame_system_call(SYS_close, file);
  return length >= 3 && strncmp(name, "tsc", 3) == 0;
#endif
}

/* Reads both clocks at the same moment: the fastest of four readings counts. */
static void read_both(uint64_t* ticks, uint64_t* ns) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    uint64_t before = sesame_ticks();
    uint64_t now = sesame_system_ns();
    uint64_t after = sesame_ticks();
    if (after - before < best) {
      best = after - before;
      *ticks = before + (after - before) / 2;
      *ns = now;
    }
  }
}

void sesame_clock_start(void) {
  sesame_counter_is_clock = kernel_trusts_counter();
  first_line = (SesameClock){.ns_per_tick = 1ull << 32};
  read_both(&first_line.base_ticks, &first_line.base_ns);
  if (!sesame_counter_is_clock) return;
  /* A millisecond gives the rate to some 50 millionths; the first second improves it. */
  while (sesame_system_ns() - first_line.base_ns < 1000000) {
  }
  SesameClock line = first_line;
  sesame_clock_renew(&line);
  first_line.ns_per_tick = line.ns_per_tick;
}

uint64_t sesame_clock_renew(SesameClock* clock) {
  uint64_t ticks, ns;
  read_both(&ticks, &ns);
  uint64_t reached =
      clock->base_ns == 0 ? 0 : sesame_ns_at(clock, ticks); /* 0: the thread's first line */
  if (sesame_counter_is_clock && ticks > first_line.base_ticks) {
    clock->ns_per_tick = (uint64_t)(((unsigned __int128)(ns - first_line.base_ns) << 32) /
                                    (ticks - first_line.base_ticks));
  } else {
    clock->ns_per_tick = 1ull << 32;
  }
  clock->base_ticks = ticks;
  clock->base_ns = ns > reached ? ns : reached;
  return (1000000000ull << 32) / clock->ns_per_tick;
}
