#include "probes/signal/signal.h"

#include "probes/probe.bpf.h"

/* Arguments: signal, information, task, whether it is for the whole process, what came of it. */
SEC("tp_btf/signal_generate")
int generate(__u64* ctx) {
  const struct task_struct* task = (const void*)ctx[2];
  const __u32 class_ = ctx[3] ? SIGNAL_TO_PROCESS : SIGNAL_TO_THREAD;
  note_anywhere(SIGNAL_SEND, class_, 0, 0);
  trace(SIGNAL_SEND, class_, 0, 0, (__u32)task->pid, 0, (__u32)ctx[0]);
  return 0;
}
