/* A subsystem that is loaded into the kernel; shared by the files of this library only. */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/probes.h"
#include "probes/subsystem.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_PROGRAMS 16

/* A program and its links: one, or one for each CPU. */
struct program {
  struct bpf_program* bpf;
  struct bpf_link** links; /* NULL: not attached */
  char missing[240];       /* why this kernel cannot have it; empty when it can */
};

struct loaded {
  const struct subsystem* subsystem;
  struct bpf_object* object;
  struct program programs[MAX_PROGRAMS];
  unsigned program_count;
  /* The programs of each point, a bit for each: all that it needs, and those that it needs while
   * points only count. */
  uint32_t serving[SESAME_MAX_POINTS], counting[SESAME_MAX_POINTS];
  const char* classless; /* why this kernel cannot find its classes; NULL if it can */
  struct account* cells; /* of all CPUs, each followed by its cells */
  size_t cells_bytes;
  struct settings* settings;
  void* shared; /* what the programs share with their subsystem's user side; NULL: nothing */
  size_t shared_bytes;
  char** names;                /* of classes; NULL: none yet */
  char* class_text;            /* the same as lines; NULL: to be made */
  struct cell_reading* before; /* the counts of each cell at the last reading */
};

/* Sets what sesame_probes_error returns. */
void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* The number of possible CPUs of the kernel. */
unsigned cpu_count(void);

/* Makes an opened object write its events and messages into the rings of all subsystems. -1: errno.
 */
int share_rings(struct bpf_object* object);

/* Call it before a point writes events. -1: fail() was called. */
int read_event_ring(void);
