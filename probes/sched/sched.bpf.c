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

SEC("tp_btf/sched_wakeup")
int wakeup(__u64* ctx) {
  ready((__u32)((const struct task_struct*)ctx[0])->pid, bpf_ktime_get_ns());
  return 0;
}

SEC("tp_btf/sched_wakeup_new")
int wakeup_new(__u64* ctx) {
  ready((__u32)((const struct task_struct*)ctx[0])->pid, bpf_ktime_get_ns());
  return 0;
}

static __always_inline void ended(__u32 point, __u32 class_, __u32 thread, __u64 now_ns) {
  struct slot* slot = slot_of(thread);
  __u64 duration_ns = 0;
  if (slot->pid == thread && slot->begin_ns && slot->begin_ns < now_ns) {
    duration_ns = now_ns - slot->begin_ns;
  }
  note(point, class_, 0, duration_ns);
  trace(point, class_, now_ns, duration_ns, 0, 0, thread);
}

/* The idle task, number 0, neither waits nor runs. */
SEC("tp_btf/sched_switch")
int switch_(__u64* ctx) {
  const struct task_struct* before = (const void*)ctx[1];
  const struct task_struct* after = (const void*)ctx[2];
  const __u64 now_ns = bpf_ktime_get_ns();
  const __u32 class_ = ctx[0] ? SCHED_PREEMPTED : SCHED_GAVE_UP;
  if (before->pid) {
    ended(SCHED_RUN, class_, (__u32)before->pid, now_ns);
    slot_of((__u32)before->pid)->begin_ns = 0;
    if (ctx[0]) ready((__u32)before->pid, now_ns);
  }
  if (after->pid) {
    ended(SCHED_WAIT, class_, (__u32)after->pid, now_ns);
    ready((__u32)after->pid, now_ns);
  }
  return 0;
}
