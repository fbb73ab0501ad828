/* For programs that run at the end of system calls: finds the file of a descriptor. */
#pragma once

#include "probes/probe.bpf.h"

#if defined(__x86_64__)
/* arch/x86/include/asm/thread_info.h: the call is that of a 32-bit program, whose calls have other
 * numbers. */
#define TS_COMPAT 0x2
struct thread_info {
  __u32 status;
} __attribute__((preserve_access_index));
struct task_struct___x86 {
  struct thread_info thread_info;
} __attribute__((preserve_access_index));

static __always_inline bool has_other_number(void) {
  const struct task_struct___x86* task = (const void*)bpf_get_current_task_btf();
  return task->thread_info.status & TS_COMPAT;
}
#else
static __always_inline bool has_other_number(void) { return false; }
#endif

/* NULL when this process has no such descriptor. */
static __always_inline struct file* file_of(__u32 descriptor) {
  const struct task_struct* task = (const void*)bpf_get_current_task_btf();
  const struct fdtable* table = task->files->fdt;
  if (descriptor >= table->max_fds) return 0;
  struct file* file = 0;
  bpf_probe_read_kernel(&file, sizeof file, table->fd + descriptor);
  return file;
}
