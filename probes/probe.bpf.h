/* What the programs of all subsystems do: find their cell, add to it, time what begins and ends on
 * one thread, write trace records. A subsystem defines POINTS, CLASSES and GROUPS, includes this,
 * and defines its programs. They run with preemption off, so a CPU's cells have one writer. Only
 * points that interrupts reach have several, and add atomically (note_anywhere). */
#pragma once

#include <linux/bpf.h>

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "probes/cell.h"
#include "probes/kernel.bpf.h"

const char kLicense[] SEC("license") = "GPL";

struct cells {
  struct account account;
  struct cell cell[POINTS][CLASSES][GROUPS];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1); /* the CPUs; set when it is loaded */
  __type(key, __u32);
  __type(value, struct cells);
} cells SEC(".maps");

/* The loader replaces both by the rings of all subsystems. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, SESAME_RING);
} events SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, SESAME_MESSAGES);
} messages SEC(".maps");

volatile struct settings settings SEC(".data.settings") = {};

/* What began on a thread and has not ended. Threads whose numbers select the same slot overwrite
 * it; an event that has lost its slot is counted and not timed. One for each thread where
 * kernel.pid_max is 32768, the default up to 32 CPUs; threads of larger machines still share slots.
 */
#define SLOTS 32768
struct slot {
  __u64 begin_ns;
  __u64 where;
  __u32 pid;
  __u32 what;
};

static __always_inline __u32 this_thread(void) { return (__u32)bpf_get_current_pid_tgid(); }

static __always_inline __u32 group_of(__u64 bytes) {
#pragma unroll
  for (__u32 i = 0; i + 1 < GROUPS; ++i) {
    if (bytes < settings.limits[i]) return i;
  }
  return GROUPS - 1;
}

/* Whether the event that begins now is to be timed. */
static __always_inline bool is_timed(__u32 detail) {
  return detail == DETAIL_DURATION ||
         (detail == DETAIL_SAMPLED && bpf_get_prandom_u32() % SESAME_SAMPLING == 0);
}

/* The duration of something that ends now; 0 when that is not known. If it began before points were
 * last set, its end may have been missed, and the slot may be that of another event. */
static __always_inline __u64 time_since(__u64 begin_ns, __u64 now_ns) {
  return begin_ns > settings.since_ns && begin_ns < now_ns ? now_ns - begin_ns : 0;
}

static __always_inline struct cells* cells_here(void) {
  const __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&cells, &cpu);
}

static __always_inline void fill(struct event* event) {
  const __u64 who = bpf_get_current_pid_tgid();
  event->pid = (__u32)who;
  event->process = (__u32)(who >> 32);
  bpf_get_current_comm(event->command, sizeof event->command);
  event->cpu = bpf_get_smp_processor_id();
  event->subsystem = settings.subsystem;
}

/* Sends a message to the user side and wakes it. */
static __always_inline void say(__u16 message) {
  struct event* event = bpf_ringbuf_reserve(&messages, sizeof *event, 0);
  if (!event) return;
  __builtin_memset(event, 0, sizeof *event);
  fill(event);
  event->point = message;
  bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void charge(struct cells* mine, __u32 ns) {
  const __u64 before = mine->account.charged_ns, quota = mine->account.quota_ns;
  mine->account.charged_ns = before + ns;
  if (before < quota && before + ns >= quota) say(SESAME_QUOTA_REACHED);
}

/* A program that has run has cost something, whether it counts anything or not. NULL while the
 * subsystem is paused: tested once, so that points that are switched together count the same
 * events. */
static __always_inline struct cells* begin_run(void) {
  struct cells* mine = cells_here();
  if (!mine || settings.paused) return 0;
  ++mine->account.runs;
  charge(mine, settings.run_ns);
  return mine;
}

static __always_inline struct cell* cell_of(struct cells* mine, __u32 point, __u32 class_,
                                            __u64 bytes) {
  barrier_var(class_); /* the verifier needs checks that the compiler would leave out */
  if (point >= POINTS || class_ >= CLASSES || !settings.detail[point]) return 0;
  const __u32 cost_ns = settings.cost_ns[point];
  if (cost_ns) charge(mine, cost_ns);
  return &mine->cell[point][class_][GROUPS > 1 ? group_of(bytes) : 0];
}

static __always_inline void add_time(struct cell* cell, __u64 duration_ns) {
  ++cell->timed;
  cell->total_ns += duration_ns;
  volatile __u64* most = &cell->max_ns[settings.epoch & 1];
  if (duration_ns > *most) *most = duration_ns;
}

/* For runs that count several events, or none: `mine` is what begin_run returned. */
static __always_inline void note_in(struct cells* mine, __u32 point, __u32 class_, __u64 bytes,
                                    __u64 duration_ns) {
  struct cell* cell = cell_of(mine, point, class_, bytes);
  if (!cell) return;
  ++cell->count;
  cell->bytes += bytes;
  if (duration_ns) add_time(cell, duration_ns);
}

/* A run that counts one event. */
static __always_inline void note(__u32 point, __u32 class_, __u64 bytes, __u64 duration_ns) {
  struct cells* mine = begin_run();
  if (mine) note_in(mine, point, class_, bytes, duration_ns);
}

/* The same where an interrupt may come between reading and writing. */
static __always_inline void note_anywhere(__u32 point, __u32 class_, __u64 bytes,
                                          __u64 duration_ns) {
  struct cells* mine = begin_run();
  struct cell* cell = mine ? cell_of(mine, point, class_, bytes) : 0;
  if (!cell) return;
  __sync_fetch_and_add(&cell->count, 1);
  __sync_fetch_and_add(&cell->bytes, bytes);
  if (!duration_ns) return;
  __sync_fetch_and_add(&cell->timed, 1);
  __sync_fetch_and_add(&cell->total_ns, duration_ns);
  volatile __u64* most = &cell->max_ns[settings.epoch & 1];
  if (duration_ns > *most) *most = duration_ns;
}

/* Reserves a record of an event of this point and fills in what all events have. NULL if none is to
 * be written or the ring is full. For points that interrupts reach: there the running process has
 * nothing to do with the event, even if it is the reader. */
static __always_inline struct event* begin_record_anywhere(__u32 point, __u32 class_) {
  if (point >= SESAME_MAX_POINTS || !settings.tracing[point] || settings.paused) return 0;
  __sync_fetch_and_add(&settings.presented, 1);
  struct event* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (!event) {
    __sync_fetch_and_add(&settings.lost, 1);
    return 0;
  }
  fill(event);
  event->point = point;
  event->class_ = class_;
  event->unused = 0;
  return event;
}

/* The same without the reader's own events. */
static __always_inline struct event* begin_record(__u32 point, __u32 class_) {
  if (point >= SESAME_MAX_POINTS || !settings.tracing[point]) return 0;
  if (bpf_get_current_pid_tgid() >> 32 == settings.reader) return 0;
  return begin_record_anywhere(point, class_);
}

/* Waking the reader costs more than the record (5.6 us against 0.2 us were measured). So it is
 * woken when SESAME_RING_WAKE bytes wait, and not again while it reads them. */
static __always_inline void end_record(struct event* event, __u64 end_ns, __u64 duration_ns,
                                       __u64 where, __u64 bytes, __u32 what) {
  event->time_ns = end_ns ? end_ns : bpf_ktime_get_ns();
  event->duration_ns = duration_ns;
  event->where = where;
  event->bytes = bytes;
  event->what = what;
  const __u64 waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
  const bool is_time = waiting - SESAME_RING_WAKE < SESAME_RING_STEP;
  bpf_ringbuf_submit(event, is_time ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

static __always_inline void trace(__u32 point, __u32 class_, __u64 end_ns, __u64 duration_ns,
                                  __u64 where, __u64 bytes, __u32 what) {
  struct event* event = begin_record(point, class_);
  if (event) end_record(event, end_ns, duration_ns, where, bytes, what);
}

static __always_inline void trace_anywhere(__u32 point, __u32 class_, __u64 end_ns,
                                           __u64 duration_ns, __u64 where, __u64 bytes,
                                           __u32 what) {
  struct event* event = begin_record_anywhere(point, class_);
  if (event) end_record(event, end_ns, duration_ns, where, bytes, what);
}
