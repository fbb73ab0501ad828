/* Counts of MPI calls in memory that whoever measures reads while the program runs
 * (docs/formats/counter-files.md). Each thread has a file of cells of its own, to which only it
 * adds, so nothing waits for anything; the reader takes differences. One file of settings, which
 * programs only read, says how closely each point looks. Durations in ns, sizes in bytes. Without
 * SESAME_COUNTERS_DIRECTORY in the environment nothing of this is in the way of any call. */
#ifndef SESAME_TRACER_CELLS_H
#define SESAME_TRACER_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "mpi_points.h"

#define SESAME_COUNTER_FILE_MAGIC "sesamMPI"
#define SESAME_COUNTER_FILE_FORMAT 2

enum { SESAME_GROUPS = 8, SESAME_MOST_POINTS = 8, SESAME_SAMPLING = 16 };
_Static_assert((int)SESAME_POINTS <= SESAME_MOST_POINTS,
               "points have their places in the settings");

/* As in probes/cell.h, whose DETAIL_… these are. */
enum { SESAME_OFF, SESAME_COUNT, SESAME_SAMPLED, SESAME_DURATION };

/* The file `settings`. */
typedef struct {
  char magic[8];
  uint32_t format;
  uint32_t epoch;    /* which longest durations are in use; grows at each pull */
  uint32_t calls;    /* of the reader's table: another one is of another version */
  uint32_t renewals; /* of the allowance */
  uint64_t quota_ns; /* that a thread may spend since then; 0: as much as it likes */
  uint32_t detail[SESAME_MOST_POINTS];
  uint32_t cost_ns[SESAME_MOST_POINTS]; /* of a call that is counted, so closely as now */
  uint64_t limits[SESAME_GROUPS];       /* a size belongs to the first group whose limit it is
                                           below */
} SesameCounterSettings;

typedef struct {
  uint64_t count;
  uint64_t bytes;
  uint64_t timed;
  uint64_t total_ns;   /* of these */
  uint64_t most_ns[2]; /* of these, in an epoch that is even and in one that is odd */
  uint32_t epochs[2];  /* which one each of them is of */
  uint64_t unused;
} SesameCell;
_Static_assert(sizeof(SesameCell) == 64, "a cell is a line of the processor's cache");

/* A file PID.N of one thread, or of several that came after each other. */
typedef struct {
  char magic[8]; /* written last */
  uint32_t format;
  uint32_t pid;
  uint64_t began;     /* the process, as field 22 of /proc/PID/stat says it */
  uint64_t processes; /* the inode of the namespace in which it has its number */
  uint32_t cpu;       /* where the thread was seen last */
  uint32_t calls;
  uint64_t charged_ns; /* for counting */
  uint64_t events[SESAME_MOST_POINTS];
  uint64_t unused[2];
  SesameCell cells[SESAME_COUNTED][SESAME_GROUPS];
} SesameCounterFile;
_Static_assert(sizeof(SesameCounterFile) % 64 == 0, "cells begin at a line of the cache");

typedef struct SesameCounter {
  bool inside;   /* a call: what MPI does in it is not the program's */
  uint32_t turn; /* of the calls that were to be counted */
  uint32_t renewals;
  uint64_t until_ns; /* so much spent is all that is allowed */
  SesameCounterFile* cells;
  SesameClock clock;
} SesameCounter;

extern __thread SesameCounter sesame_counter __attribute__((tls_model("initial-exec")));

/* Null where nothing is counted. */
extern const SesameCounterSettings* sesame_counter_settings;

/* Before the first call; false when there is nothing to count for, which was said. */
bool sesame_counter_files_start(const char* directory);

typedef struct {
  uint64_t ticks; /* 0: its duration is not taken */
  uint8_t detail; /* SESAME_OFF: it is not counted */
  bool was_inside;
} SesameCount;

static inline uint8_t sesame_detail(int point) {
  return (uint8_t)__atomic_load_n(&sesame_counter_settings->detail[point], __ATOMIC_RELAXED);
}

/* A call begins. */
static inline SesameCount sesame_count_begin(int point) {
  SesameCount begun = {.was_inside = sesame_counter.inside};
  if (begun.was_inside) return begun;
  sesame_counter.inside = true;
  begun.detail = sesame_detail(point);
  if (begun.detail == SESAME_DURATION ||
      (begun.detail == SESAME_SAMPLED && sesame_counter.turn % SESAME_SAMPLING == 0)) {
    begun.ticks = sesame_ticks();
  }
  return begun;
}

/* Of a call that was counted from its begin; one whose point was switched off meanwhile is not. */
void sesame_count_end(SesameCount begun, int point, int call, uint64_t end, uint64_t bytes);

/* Ticks at which a call ended; 0 where nobody wants to know. */
static inline uint64_t sesame_count_ticks(SesameCount begun) {
  return begun.ticks != 0 ? sesame_ticks() : 0;
}

#endif
