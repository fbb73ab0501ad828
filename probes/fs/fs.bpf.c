#include "probes/fs/fs.h"

#include <asm/unistd.h>

#include "probes/call.bpf.h"

/* Which point a call belongs to, plus one; by its number. */
#define CALLS 512
static const __u8 points[CALLS] = {
    [__NR_read] = FS_READ + 1,      [__NR_pread64] = FS_READ + 1, [__NR_readv] = FS_READ + 1,
    [__NR_preadv] = FS_READ + 1,    [__NR_preadv2] = FS_READ + 1, [__NR_write] = FS_WRITE + 1,
    [__NR_pwrite64] = FS_WRITE + 1, [__NR_writev] = FS_WRITE + 1, [__NR_pwritev] = FS_WRITE + 1,
    [__NR_pwritev2] = FS_WRITE + 1, [__NR_fsync] = FS_SYNC + 1,   [__NR_fdatasync] = FS_SYNC + 1,
    [__NR_openat] = FS_OPEN + 1,    [__NR_openat2] = FS_OPEN + 1,
#ifdef __NR_open
    [__NR_open] = FS_OPEN + 1,      [__NR_creat] = FS_OPEN + 1,
#endif
};

static struct slot slots[SLOTS];

static __always_inline __u32 class_of(__u32 descriptor) {
  const struct file* file = file_of(descriptor);
  if (!file) return FS_OTHER;
  const struct inode* inode = BPF_CORE_READ(file, f_inode);
  switch (BPF_CORE_READ(inode, i_sb, s_magic)) {
#define FS_CLASS(name, magic) \
  case magic:                 \
    return FS_CLASS_##name;
    FS_CLASS_LIST(FS_CLASS)
#undef FS_CLASS
  }
  return FS_OTHER;
}

static __always_inline __u32 point_of(__u64 call) { return call < CALLS ? points[call] : 0; }

SEC("tp_btf/sys_enter")
int enter(__u64* ctx) {
  const __u32 point = point_of(ctx[1]);
  if (!point) return 0;
  if (!is_timed(settings.detail[(point - 1) & (SESAME_MAX_POINTS - 1)])) return 0;
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  slot->pid = thread;
  slot->begin_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/sys_exit")
int leave(__u64* ctx) {
  struct cells* mine = begin_run();
  const struct pt_regs* registers = (const void*)ctx[0];
  const __s64 result = (__s64)ctx[1];
  const __u32 point_and_one = point_of(CALL_NUMBER(registers));
  if (!mine || !point_and_one || has_other_number()) return 0;
  const __u32 point = (point_and_one - 1) & (SESAME_MAX_POINTS - 1);
  const __u32 detail = settings.detail[point];
  if (detail == DETAIL_OFF) return 0;
  const __u64 bytes = point <= FS_WRITE && result > 0 ? (__u64)result : 0;
  if (detail == DETAIL_COUNT && !settings.tracing[point]) {
    note_in(mine, point, FS_UNKNOWN, bytes, 0);
    return 0;
  }
  const __u32 descriptor = point == FS_OPEN ? (__u32)result : (__u32)FIRST_ARGUMENT(registers);
  const __u32 class_ = result < 0 && point == FS_OPEN ? FS_OTHER : class_of(descriptor);
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  __u64 now_ns = 0, duration_ns = 0;
  if (slot->pid == thread && slot->begin_ns) {
    now_ns = bpf_ktime_get_ns();
    duration_ns = time_since(slot->begin_ns, now_ns);
    slot->begin_ns = 0;
  }
  note_in(mine, point, class_, bytes, duration_ns);
  trace(point, class_, now_ns, duration_ns, descriptor, bytes, (__u32)CALL_NUMBER(registers));
  return 0;
}
