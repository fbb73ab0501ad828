#include "probes/task/task.h"

#include "probes/probe.bpf.h"

static __always_inline void seen(__u32 point, const struct task_struct* task, __u64 where) {
  const __u32 class_ = task->pid == task->tgid ? TASK_PROCESS : TASK_THREAD;
  note(point, class_, 0, 0);
  trace(point, class_, 0, 0, where, 0, (__u32)task->pid);
}

SEC("tp_btf/sched_process_fork")
int create(__u64* ctx) {
  const struct task_struct* parent = (const void*)ctx[0];
  const struct task_struct* child = (const void*)ctx[1];
  seen(TASK_CREATE, child, (__u32)parent->pid);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int exec(__u64* ctx) {
  const struct task_struct* task = (const void*)ctx[0];
  seen(TASK_EXEC, task, (__u32)ctx[1]); /* the thread's number before */
  return 0;
}

SEC("tp_btf/sched_process_exit")
int exit_(__u64* ctx) {
  const struct task_struct* task = (const void*)ctx[0];
  seen(TASK_EXIT, task, 0);
  return 0;
}
