/* The library that puts probes into the running kernel and reads what they count. One thread
 * calls it at a time. What fails returns NULL or -1 and leaves a sentence in sesame_probes_error.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/cell.h"

struct loaded;

/* All subsystems, their points, classes and groups, as JSON. */
const char* sesame_probes_describe(void);
const char* sesame_probes_error(void);

/* A subsystem's programs are checked by the kernel and wait, attached to nothing. Needs CAP_BPF and
 * CAP_PERFMON. */
struct loaded* sesame_probes_load(const char* subsystem);
void sesame_probes_unload(struct loaded* loaded);

/* Whether this process has these capabilities, or all. What is refused all the same is refused to
 * everybody here: a container, or a policy of the kernel. */
int sesame_probes_has_rights(void);

/* Why a point cannot be had in this kernel; NULL when it can. */
const char* sesame_probes_missing(struct loaded* loaded, unsigned point);

/* How closely a point looks, and whether it writes a trace; attaches and detaches what is needed.
 */
int sesame_probes_set(struct loaded* loaded, unsigned point, enum detail detail, int tracing);

/* Returns when no program runs any more that began before; takes some 10 ms. */
void sesame_probes_wait(void);

/* The names of the classes, a line for each; one that has none yet is empty. They are of what was
 * pulled last: a class whose name changes has no other's events in it. Until the next call. */
const char* sesame_probes_classes(struct loaded* loaded);

/* Before a pull: classes that can have no events since the pull before last, as of a file system
 * that was unmounted, are given to others from now on; whether there were any. Without this each
 * class means one thing until it is unloaded. */
int sesame_probes_free_classes(struct loaded* loaded);

/* For each CPU what was spent and its cells, [point][class][group], `stride` bytes apart; and the
 * settings. Mapped until unloaded. */
struct account* sesame_probes_cells(struct loaded* loaded, unsigned* cpus, size_t* stride);
struct settings* sesame_probes_settings(struct loaded* loaded);

/* What a cell has counted since the last pull, on all CPUs together. */
struct cell_reading {
  uint64_t place; /* the number of the cell in [point][class][group] */
  uint64_t count;
  uint64_t bytes;
  uint64_t timed;
  uint64_t total_ns;
  uint64_t max_ns;
};

/* The cells with events since the last pull; there is room for as many as there are cells. Nothing
 * is counted twice or lost between two pulls. Returns how many. */
unsigned sesame_probes_read(struct loaded* loaded, struct cell_reading* changed);

/* Since it was loaded, for each CPU: what was spent, runs, and the events of each point. A CPU's
 * row is the next one's before by `stride` numbers. */
void sesame_probes_sums(struct loaded* loaded, uint64_t* row, unsigned stride);

/* What is new between two such readings of several subsystems, whose rows stand side by side: those
 * of subsystem i begin at begins[i], and there is one begin more. Gives for each what the CPU that
 * spent most has spent on it, and the events of all CPUs; at last what the CPU that spent most on
 * all of them has spent. */
void sesame_probes_compare(const uint64_t* before, const uint64_t* now, unsigned cpus,
                           const unsigned* begins, unsigned subsystems, uint64_t* found);

/* Each CPU may spend so much from now on; the first to do so sends an event. */
void sesame_probes_set_quota(struct loaded* loaded, uint64_t ns);

/* ---- A watch: a thread that closes intervals while there is nothing to decide ---- */

struct idle_reader;

struct idle_order {
  uint64_t due_ns; /* monotonic: when the first interval is over */
  uint64_t interval_ns;
  uint64_t own_ns;              /* processor time of this process when it began */
  uint64_t part_ns;             /* what each subsystem may spend in an interval */
  uint64_t whole_ns;            /* all of them, and this process */
  uint64_t renewal_ns;          /* what each is allowed for the next one; 0: nothing is limited */
  uint64_t changed_ns;          /* when `directory` changed last */
  uint64_t* sums;               /* as sesame_probes_sums gives them, at the begin of the interval */
  const unsigned* begins;       /* of the subsystems' columns in it, and the end */
  struct loaded* const* loaded; /* NULL: of others, which have nothing new while it is calm */
  unsigned subsystems, cpus, most_samples;
  int directory;  /* where it is seen whether these have; -1: nowhere */
  int processors; /* /proc/stat */
};

/* What there is of an interval: this, a struct subsystem_sample for each subsystem, `text_bytes` of
 * /proc/stat and zeroes up to the next word, and the subsystems' cells, each a struct cell_reading.
 */
struct interval_sample {
  uint64_t time_ns; /* monotonic: its end */
  uint64_t own_ns;  /* processor time of this process until then */
  uint64_t text_bytes;
};

struct subsystem_sample {
  uint64_t charged_ns; /* by the CPU that spent most */
  uint64_t events;
  uint64_t cells;
};

/* For so many columns of sums. NULL: there is no memory for it, or no thread. */
struct idle_reader* sesame_probes_idle_open(unsigned cpus, unsigned columns, unsigned subsystems);
void sesame_probes_idle_close(struct idle_reader* reader);

/* Readable when a rest has ended: there is something to decide at the end of this interval, there
 * are as many samples as there may be and another interval is over, or it was woken. */
int sesame_probes_idle_descriptor(const struct idle_reader* reader);

/* From now on, until it ends, nobody else calls what is above here for these subsystems; what the
 * order points to stays. */
void sesame_probes_idle_start(struct idle_reader* reader, const struct idle_order* order);

/* Ends a rest that has not ended. Gives the samples since it began, once, how many and how long
 * they are, and in the order's sums those of the last one. They are there until the next rest. */
unsigned sesame_probes_idle_stop(struct idle_reader* reader, const void** samples, size_t* bytes);

/* A descriptor that is readable when the ring asks to be emptied; -1 when nothing is loaded. */
int sesame_probes_events_descriptor(void);

/* Takes what is in the ring, at most `room` events. Returns how many, or -1. */
long sesame_probes_events(struct event* events, size_t room);

/* Does one thing `count` times: ask (a call of the system that does nothing), read (4 KiB of memory
 * as a file), touch (a new page), packet (64 bytes to itself), process (made and ended), turn (two
 * threads wake each other). Returns the processor time that it took, all who took part together, in
 * ns; -1 when there is no such load. */
int64_t sesame_probes_run_load(const char* name, long count);

/* Reads blocks of 4 KiB of a file that was opened with O_DIRECT, so many at once, `count` or a few
 * more in all. -1: errno. */
int sesame_probes_read_device(int file, unsigned blocks, unsigned at_once, long count);

/* A program that does nothing, to tell what others do from what the way into them takes; and its
 * place at a tracepoint. Both give descriptors, to be closed; negative: errno. */
int sesame_probes_load_nothing(void);
int sesame_probes_attach(int program, const char* tracepoint);
