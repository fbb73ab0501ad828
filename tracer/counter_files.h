/* Counts MPI calls in files that the daemon reads while the program runs
 * (docs/formats/counter-files.md). Each thread has a counter file of its own that only it writes,
 * so nothing is locked; the daemon takes differences. The daemon's file of settings, mapped
 * read-only, has the level of detail of each point. Durations in ns, sizes in bytes. Without
 * SESAME_COUNTERS_DIRECTORY in the environment the hooks that count are not used.
 *
 * A hook calls sesame_count_begin before the real function and sesame_count_end after it. Costs are
 * charged to the thread; when they reach the quota of the settings, the daemon is notified once. */
#ifndef SESAME_TRACER_COUNTER_FILES_H
#define SESAME_TRACER_COUNTER_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "mpi_points.h"

#define SESAME_COUNTER_FILE_MAGIC "sesamMPI"
#define SESAME_COUNTER_FILE_FORMAT 2

enum { SESAME_GROUPS = 8, SESAME_MOST_POINTS = 8, SESAME_SAMPLING = 16 };
_Static_assert((int)SESAME_POINTS <= SESAME_MOST_POINTS,
               "the settings have an entry for each point");

/* Levels of detail: the values of DETAIL_… in probes/cell.h. */
enum { SESAME_OFF, SESAME_COUNT, SESAME_SAMPLED, SESAME_DURATION };

/* The file `settings`. */
typedef struct {
  char magic[8];
  uint32_t format;
  uint32_t epoch;    /* of the longest durations; grows at each reading */
  uint32_t calls;    /* number of calls; differs in another version */
  uint32_t renewals; /* of the quota */
  uint64_t quota_ns; /* charged to a thread at most since then; 0: unlimited */
  uint32_t detail[SESAME_MOST_POINTS];
  uint32_t cost_ns[SESAME_MOST_POINTS]; /* of a counted call at the present detail */
  uint64_t limits[SESAME_GROUPS];       /* a size belongs to the first group whose limit it is
                                           below */
} SesameCounterSettings;

typedef struct {
  uint64_t count;
  uint64_t bytes;
  uint64_t timed;
  uint64_t total_ns;   /* of these */
  uint64_t most_ns[2]; /* of these, in an epoch that is even and in one that is odd */
  uint32_t epochs[2];  /* the epoch of each of these two */
  uint64_t unused;
} SesameCell;
_Static_assert(sizeof(SesameCell) == 64, "a cell is a line of the processor's cache");

/* A file PID.N of one thread, or of several one after the other. */
typedef struct {
  char magic[8]; /* written last */
  uint32_t format;
  uint32_t pid;
  uint64_t start_time;    /* of the process, field 22 of /proc/PID/stat */
  uint64_t pid_namespace; /* inode of the process's PID namespace */
  uint32_t cpu;           /* on which the thread ran recently */
  uint32_t calls;
  uint64_t charged_ns; /* for counting */
  uint64_t events[SESAME_MOST_POINTS];
  uint64_t unused[2];
  SesameCell cells[SESAME_COUNTED][SESAME_GROUPS];
} SesameCounterFile;
_Static_assert(sizeof(SesameCounterFile) % 64 == 0, "cells begin at a line of the cache");

typedef struct SesameThreadCounter {
  bool inside;   /* a call: calls made by MPI itself are not counted */
  uint32_t turn; /* number of counted calls, for sampling */
  uint32_t renewals;
  uint64_t until_ns; /* charged_ns at which the quota is reached */
  SesameCounterFile* cells;
  SesameClock clock;
} SesameThreadCounter;

extern __thread SesameThreadCounter sesame_counter __attribute__((tls_model("initial-exec")));

/* Null: nothing is counted. */
extern const SesameCounterSettings* sesame_counter_settings;

/* Opens the settings; called before the first MPI call. False if that fails, which is reported. */
bool sesame_counter_files_start(const char* directory);

typedef struct {
  uint64_t ticks; /* 0: its duration is not measured */
  uint8_t detail; /* SESAME_OFF: it is not counted */
  bool was_inside;
} SesameCount;

static inline uint8_t sesame_detail(int point) {
  return (uint8_t)__atomic_load_n(&sesame_counter_settings->detail[point], __ATOMIC_RELAXED);
}

/* At the begin of a call. The result goes to sesame_count_end. */
static inline SesameCount sesame_count_begin(int point) {
  SesameCount begin = {.was_inside = sesame_counter.inside};
  if (begin.was_inside) return begin;
  sesame_counter.inside = true;
  begin.detail = sesame_detail(point);
  if (begin.detail == SESAME_DURATION ||
      (begin.detail == SESAME_SAMPLED && sesame_counter.turn % SESAME_SAMPLING == 0)) {
    begin.ticks = sesame_ticks();
  }
  return begin;
}

/* At the end of a call that is counted (detail is not SESAME_OFF): adds it to the cells, unless its
 * point was switched off meanwhile. `end`: from sesame_count_ticks; `bytes`: the data moved. */
void sesame_count_end(SesameCount begin, int point, int call, uint64_t end, uint64_t bytes);

/* The ticks now, for sesame_count_end; 0 if the duration is not measured. */
static inline uint64_t sesame_count_ticks(SesameCount begin) {
  return begin.ticks != 0 ? sesame_ticks() : 0;
}

#endif
