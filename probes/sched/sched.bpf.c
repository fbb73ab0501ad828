#include "probes/sched/sched.h"

#include "probes/probe.bpf.h"

/* When a task became ready, or got its processor. */
static struct slot slots[SLOTS];

static __always_inline struct slot* slot_of(__u32 thread) { return &slots[thread % SLOTS]; }

static __always_inline void ready(__u32 thread, __u64 now_ns) {
  struct slot* slot = slot_of(thread);
  slot->pid = thread;
  slot->begin_ns = now_ns;
}

/* Whether it is running or ready already: a task can be woken on its way to sleep, before it has left
 * its processor, or after it was preempted there. Nothing begins then, as in the kernel's account. */
static __always_inline bool wants_processor(__u32 thread) {
  const struct slot* slot = slot_of(thread);
  return slot->pid == thread && slot->begin_ns > settings.since_ns;
}

static __always_inline int woken(const struct task_struct* task) {
  const __u32 thread = (__u32)task->pid;
  if (begin_run() && !wants_processor(thread)) ready(thread, bpf_ktime_get_ns());
  return 0;
}

SEC("tp_btf/sched_wakeup")
int wakeup(__u64* ctx) { return woken((const void*)ctx[0]); }

SEC("tp_btf/sched_wakeup_new")
int wakeup_new(__u64* ctx) { return woken((const void*)ctx[0]); }

/* Makes a record of this task, not of the running one: with its numbers and name. So the reader's
 * own events are left out by its number, and a task that follows the reader has its record. */
static __always_inline void record(__u32 point, __u32 class_, const struct task_struct* task,
                                   __u64 now_ns, __u64 duration_ns) {
  if ((__u32)task->tgid == settings.reader) return;
  struct event* event = begin_record_anywhere(point, class_);
  if (!event) return;
  event->pid = (__u32)task->pid;
  event->process = (__u32)task->tgid;
  bpf_probe_read_kernel(event->command, sizeof event->command, task->comm);
  end_record(event, now_ns, duration_ns, 0, 0, (__u32)task->__state);
}

static __always_inline void ended(struct cells* mine, __u32 point, __u32 class_,
                                  const struct task_struct* task, __u64 now_ns) {
  const __u32 thread = (__u32)task->pid;
  struct slot* slot = slot_of(thread);
  const __u64 duration_ns = slot->pid == thread ? time_since(slot->begin_ns, now_ns) : 0;
  note_in(mine, point, class_, 0, duration_ns);
  record(point, class_, task, now_ns, duration_ns);
}

/* The idle task, number 0, is not counted. A task that is still in state 0 could continue to run:
 * either the kernel preempted it (ctx[0]), or it yielded itself, at the end of a system call or
 * while polling. */
SEC("tp_btf/sched_switch")
int switch_(__u64* ctx) {
  struct cells* mine = begin_run();
  if (!mine) return 0;
  const struct task_struct* before = (const void*)ctx[1];
  const struct task_struct* after = (const void*)ctx[2];
  const bool wants_on = ctx[0] || before->__state == 0;
  const __u32 class_ = wants_on ? SCHED_PREEMPTED : SCHED_GAVE_UP;
  const __u64 now_ns = settings.finest > DETAIL_COUNT ? bpf_ktime_get_ns() : 0;
  if (before->pid) {
    ended(mine, SCHED_RUN, class_, before, now_ns);
    slot_of((__u32)before->pid)->begin_ns = 0;
    if (wants_on) ready((__u32)before->pid, now_ns);
  }
  if (after->pid) {
    ended(mine, SCHED_WAIT, class_, after, now_ns);
    ready((__u32)after->pid, now_ns);
  }
  return 0;
}
