/* libsesame-probes: loads eBPF probes into the running kernel, switches them, and reads their
 * counters. Not thread-safe: one thread calls it at a time (but see the idle reader below). A
 * function that fails returns NULL or -1; sesame_probes_error then has the reason. Durations are in
 * ns, sizes in bytes. Returned pointers belong to the library unless said otherwise.
 *
 * To use it: load a subsystem, fill in its settings, sesame_probes_set its points, and call
 * sesame_probes_read at the end of each interval.
 *
 * Settings (sesame_probes_settings, cell.h) that the caller fills in before it sets a point, and
 * may change at any time: `limits`, rising, one less than the subsystem has size groups, else all
 * sizes are in the last group; `run_ns` and `cost_ns`, else nothing is charged and no quota is
 * reached. `paused` is the caller's too; before resuming, set `since_ns` to the time of
 * CLOCK_MONOTONIC, since ends are not seen while it is set. The library sets all others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/cell.h"

struct loaded;

/* All subsystems, their points, classes and size groups, as JSON. Valid forever. */
const char* sesame_probes_describe(void);
const char* sesame_probes_error(void);

/* Loads the programs of a subsystem, attached to nothing. Needs CAP_BPF and CAP_PERFMON. The result
 * is freed by sesame_probes_unload, which detaches everything. */
struct loaded* sesame_probes_load(const char* subsystem);
void sesame_probes_unload(struct loaded* loaded);

/* Whether this process has these capabilities or CAP_SYS_ADMIN. If loading fails all the same, a
 * container or a security policy of the kernel forbids it. */
int sesame_probes_has_rights(void);

/* Why this kernel does not support a point; NULL if it does. */
const char* sesame_probes_missing(struct loaded* loaded, unsigned point);

/* What the program that serves a point here counts otherwise than the kernel's tracepoint would,
 * and why that does not serve it; NULL if nothing. Valid until the next call. */
const char* sesame_probes_substituted(struct loaded* loaded, unsigned point);

/* Sets the level of detail of a point, and whether it writes a trace; attaches and detaches
 * programs as needed. */
int sesame_probes_set(struct loaded* loaded, unsigned point, enum detail detail, int tracing);

/* Waits until all programs that run at the call have ended; takes some 10 ms. */
void sesame_probes_wait(void);

/* The names of the classes, a line for each; empty if a class has no name yet. They apply to the
 * last reading: a class never has events of two names in one. Valid until the next call. */
const char* sesame_probes_classes(struct loaded* loaded);

/* To be called before a reading: frees classes that cannot have had events since the last but one
 * reading, such as those of unmounted file systems, for new names. Returns whether any was freed.
 * Without calls of this a class keeps its name until it is unloaded. */
int sesame_probes_free_classes(struct loaded* loaded);

/* The account of each CPU, followed by its cells [point][class][group], where CPUs are `stride`
 * bytes apart; and the settings. Both are shared memory, mapped until the subsystem is unloaded. */
struct account* sesame_probes_cells(struct loaded* loaded, unsigned* cpus, size_t* stride);
struct settings* sesame_probes_settings(struct loaded* loaded);

/* The counts of a cell since the last reading, summed over CPUs. */
struct cell_reading {
  uint64_t index; /* of the cell in [point][class][group] */
  uint64_t count;
  uint64_t bytes;
  uint64_t timed;
  uint64_t total_ns;
  uint64_t max_ns;
};

/* Stores the cells with events since the last call in `changed`, which has space for all cells, and
 * returns their number. Each event is in exactly one reading. */
unsigned sesame_probes_read(struct loaded* loaded, struct cell_reading* changed);

/* Stores for each CPU, since loading: ns charged, runs, and the events of each point. The rows of
 * CPUs are `stride` numbers apart. */
void sesame_probes_sums(struct loaded* loaded, uint64_t* row, unsigned stride);

/* The difference of two such tables of several subsystems. In a row, subsystem i has the columns
 * from begins[i] to begins[i + 1]. Stores in `found` for each subsystem the ns of the CPU charged
 * most, and the events of all CPUs; then the ns of the CPU charged most for all subsystems. */
void sesame_probes_compare(const uint64_t* before, const uint64_t* now, unsigned cpus,
                           const unsigned* begins, unsigned subsystems, uint64_t* found);

/* Sets the quota of each CPU from now on. A CPU that reaches it sends SESAME_QUOTA_REACHED. */
void sesame_probes_set_quota(struct loaded* loaded, uint64_t ns);

/* ---- The idle reader ----
 *
 * A thread that closes intervals while the process that measures is idle, so that it need not wake.
 * At the end of each interval it compares the costs with the limits of the order. Within them it
 * stores a sample and renews the quotas. Otherwise, after `most_samples` samples, or on
 * sesame_probes_idle_stop, the idle period ends and the open interval is left to the caller. */

struct idle_reader;

struct idle_order {
  uint64_t due_ns; /* monotonic: when the first interval is over */
  uint64_t interval_ns;
  uint64_t own_ns;              /* processor time of this process at the begin of the interval */
  uint64_t share_ns;            /* limit of each subsystem in an interval */
  uint64_t whole_ns;            /* limit of all of them and this process */
  uint64_t renewal_ns;          /* quota of each for the next interval; 0: none */
  uint64_t changed_ns;          /* when `directory` changed last */
  uint64_t* sums;               /* as sesame_probes_sums gives them, at the begin of the interval */
  const unsigned* begins;       /* of the subsystems' columns in it, and the end */
  struct loaded* const* loaded; /* NULL: of another provider, see `directory` */
  unsigned subsystems, cpus, most_samples;
  int directory;  /* changes when a subsystem of another provider counts; -1: none */
  int processors; /* /proc/stat */
};

/* The sample of an interval: this, a struct subsystem_sample for each subsystem, `text_bytes` of
 * /proc/stat and zeroes up to the next word, and the subsystems' cells, each a struct cell_reading.
 */
struct interval_sample {
  uint64_t time_ns; /* monotonic: its end */
  uint64_t own_ns;  /* processor time of this process until then */
  uint64_t text_bytes;
};

struct subsystem_sample {
  uint64_t charged_ns; /* of the CPU charged most */
  uint64_t events;
  uint64_t cells;
};

/* Starts the thread, for tables of this size. NULL: out of memory, or no thread. */
struct idle_reader* sesame_probes_idle_open(unsigned cpus, unsigned columns, unsigned subsystems);
void sesame_probes_idle_close(struct idle_reader* reader);

/* A descriptor that is readable when an idle period has ended. */
int sesame_probes_idle_descriptor(const struct idle_reader* reader);

/* Starts an idle period. Until it is stopped the functions above must not be called for these
 * subsystems, and the memory that the order points to must stay. */
void sesame_probes_idle_start(struct idle_reader* reader, const struct idle_order* order);

/* Ends the idle period if it has not ended. Returns the number of samples since its start (0 at a
 * second call) and their memory, which is valid until the next start. The order's `sums` are then
 * those of the last sample. */
unsigned sesame_probes_idle_stop(struct idle_reader* reader, const void** samples, size_t* bytes);

/* ---- Events ---- */

/* A descriptor that is readable when the ring buffer should be read; -1 if nothing is loaded. */
int sesame_probes_events_descriptor(void);

/* Moves up to `capacity` events from the ring buffer to `events`. Returns their number, or -1. */
long sesame_probes_events(struct event* events, size_t capacity);

/* ---- Loads to calibrate with ---- */

/* Runs a load `count` times: ask (a trivial system call), read (4 KiB of a memory file), touch (a
 * new page), packet (64 bytes to itself), process (create and exit), turn (two threads wake each
 * other). Returns the processor time of all its threads and processes in ns; -1: unknown load. */
int64_t sesame_probes_run_load(const char* name, long count);

/* Reads at least `count` blocks of 4 KiB of a file opened with O_DIRECT, `at_once` at a time. -1:
 * errno. */
int sesame_probes_read_device(int file, unsigned blocks, unsigned at_once, long count);

/* Loads an empty program, to measure the cost of entering a program; attaches it to a tracepoint.
 * Both give descriptors, which the caller closes; negative: errno. */
int sesame_probes_load_nothing(void);
int sesame_probes_attach(int program, const char* tracepoint);
